"""Keep our own imports as they are written where a program makes all imports lazy (Python 3.15, PEP 810).

Our modules import what they need at their top. Were that put off, it would happen inside of a hook of ours, where imports go
in a circle, or when the program's own filter listens. So a filter of ours stands before the program's. The program sets and
reads its own by the functions of `sys`, as before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

_Filter = Callable[[str, str, Any], bool]

_of_program: list[Any] = [None]
"""The filter that the program has set, or None."""


def keep_ours() -> None:
    """Stand before the program's filter, from now on."""
    system: Any = sys
    set_filter = system.set_lazy_imports_filter
    _of_program[0] = system.get_lazy_imports_filter()

    def set_lazy_imports_filter(wanted: Any, /) -> None:
        if wanted is not None and not callable(wanted):
            set_filter(wanted)  # which raises
        _of_program[0] = wanted

    def get_lazy_imports_filter() -> Any:
        return _of_program[0]

    set_filter(_is_lazy)
    system.set_lazy_imports_filter, system.get_lazy_imports_filter = (
        set_lazy_imports_filter,
        get_lazy_imports_filter,
    )


def _is_lazy(importing: str, imported: str, names: Any) -> bool:
    """Return whether an import may be put off that is lazy otherwise."""
    if importing == "autochron" or importing.startswith("autochron.") or _is_ours():
        return False
    of_program: _Filter | None = _of_program[0]
    return of_program is None or of_program(importing, imported, names)


def _is_ours() -> bool:
    """Return whether code of ours runs in this thread, for which a library imports something."""
    undisturbed = sys.modules.get("autochron.effects.undisturbed")
    is_busy = getattr(undisturbed, "is_busy", None)
    return is_busy is not None and bool(is_busy())
