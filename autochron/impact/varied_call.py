"""One call of a source whose value `impact` varies."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

from autochron.detect.catalogue import Source

LEAST = 4
"""The number of variants that are chosen by kind; the ones after these are drawn."""
FIRST_SOUGHT = 6
"""The first variant that is sought: with it a condition of the program turns out otherwise."""


class VariedCall(NamedTuple):
    """One call of a source whose value is varied."""

    source: Source
    name: str
    """The function's own name, where a source has several: `get` of `os.environ`."""
    compared: tuple[Any, ...]
    """`Draw.compared` of the call: the values that a replay compares (see `detect.ambient_codec`)."""
    nth: int
    """How many values its site has given before."""
    place: str
    """Site and lane, which seed the drawn variants."""
    began: float = 0.0
    """When the trace began, in seconds since 1970. Times that are recorded as a text are varied from it."""
    words: tuple[str, ...] = ()
    """Words that the program looks for in a content or an answer."""

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments; empty if the source compares other values."""
        return self.compared[0] if self.compared and isinstance(self.compared[0], tuple) else ()

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments; empty if the source compares other values."""
        return (
            self.compared[1]
            if self.compared and len(self.compared) > 1 and isinstance(self.compared[1], dict)
            else {}
        )

    @property
    def size(self) -> int:
        """The number of elements that a choice is made from; 0 for other calls."""
        return self.compared[0] if self.compared and isinstance(self.compared[0], int) else 0


Vary = Callable[[VariedCall, Any, int], Any]
"""Takes a call, its value and a variant; returns another value, or the same one where the call has only one."""


class Unvaried(Exception):  # noqa: N818 - no error: there is no other value of this one
    """No alternative is known for this kind of value."""


def generator_for(call: VariedCall, variant: int) -> random.Random:
    """Return a generator that the site, the variant and the number of the value seed."""
    return random.Random(f"{call.place} {variant} {call.nth}")
