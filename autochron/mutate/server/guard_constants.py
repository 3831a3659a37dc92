"""The numbers and texts that edge inputs are made of: a guard's and its helpers', in their code and while they run.

A limit may stand in the guard, in a helper that it calls, in the object that a method belongs to, or in a file that is read
during the call. The last is found by a call with the recorded input: what the functions hold in local variables and return.
"""

from __future__ import annotations

import ast
import inspect
import sys
import tokenize
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from msgspec import json

from autochron.effects.held import cells_of
from autochron.mutate.boundary_values import (
    Constant,
    Constants,
    constants_of,
    joined,
    references_of,
    values_at,
    with_receiver,
    with_values,
)
from autochron.mutate.server.shown_secrets import shows_secret

if TYPE_CHECKING:
    from types import FrameType

    from autochron.mutate.protocol import Knows

_MOST_HELD: Final = 24
"""How many values are taken that the functions hold while they run."""

_MOST_CHARACTERS: Final = 40
"""The longest text that is taken so: a longer one is for people."""

_TYPES: Final[dict[str, Callable[[str], Any]]] = {"int": int, "float": float, "Decimal": Decimal, "str": str}

_NONE: Final = Constants((), ())

Triple = tuple[str, str, str]
"""The type of a constant, its text, and where it comes from."""

Places = Mapping[tuple[str, str], Sequence[ast.expr]]
"""By file and qualified name of each function that is mutated, the expressions in it that read an attribute or an item."""


def triples_of(constants: Constants) -> list[Triple]:
    """Return constants in the form in which a reply carries them."""
    return [
        (type(constant.value).__name__, str(constant.value), constant.source)
        for constant in (*constants.numbers, *constants.texts)
    ]


def of_triples(triples: Iterable[Triple]) -> Constants:
    """Return the constants that a reply carries."""
    found = [Constant(_TYPES[kind](text), source) for kind, text, source in triples]
    return Constants(
        tuple(each for each in found if not isinstance(each.value, str)),
        tuple(each for each in found if isinstance(each.value, str)),
    )


def held_while(work: Callable[[], object], places: Places) -> bytes:
    """Return what functions hold while some work runs: their local variables when they return, and what they return.

    It is for a fork, which ends then: a profiler of this thread is replaced.

    Args:
        work: calls the functions.
        places: the functions.

    Returns:
        Triples, as JSON.
    """
    found = _NONE

    def watch(frame: FrameType, event: str, argument: object) -> None:
        nonlocal found
        code = frame.f_code
        if event == "return" and (code.co_filename, code.co_qualname) in places:
            found = with_values(found, _held_in(frame, argument, places[code.co_filename, code.co_qualname]))

    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
    texts = tuple(each for each in found.texts if len(each.value) <= _MOST_CHARACTERS)
    return json.encode(triples_of(Constants(found.numbers, texts))[:_MOST_HELD])


def _held_in(
    frame: FrameType, returned: object, references: Sequence[ast.expr]
) -> Iterator[tuple[str, object]]:
    """Yield what a frame holds, each with its path.

    These are the local variables that are none of its arguments, what it returns, and what it refers to with a local name
    (`PAID[order]`).
    """
    code = frame.f_code
    flags = (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS)
    count = code.co_argcount + code.co_kwonlyargcount + sum(bool(code.co_flags & flag) for flag in flags)
    names = set(code.co_varnames[count:])
    values = frame.f_locals
    yield from ((f"{name} of {code.co_name}", values[name]) for name in sorted(names.intersection(values)))
    yield f"what {code.co_name} returns", returned
    known = ChainMap(values, frame.f_globals)
    for reference in references:
        yield from values_at(reference, known)


class GuardConstants:
    """The constants of each function that is mutated.

    Attributes:
        places: by the file and qualified name of each function, the expressions in it that read an attribute or an item.
    """

    def __init__(self, functions: Sequence[FunctionType]) -> None:
        """Read the constants in the code of functions, which are those that are mutated."""
        codes = [function.__code__ for function in functions]
        texts: dict[str, str] = {}
        for path in dict.fromkeys(code.co_filename for code in codes):
            with tokenize.open(path) as file:
                texts[path] = file.read()
        self.places = {
            (code.co_filename, code.co_qualname): references_of(texts[code.co_filename], code.co_qualname)
            for code in codes
        }
        self._in_code = {
            code.co_qualname: constants_of(
                texts[code.co_filename],
                code.co_filename.rpartition("/")[2],
                code.co_qualname,
                ChainMap(
                    {name: cell.cell_contents for name, cell in cells_of(function).items()},
                    function.__globals__,
                ),
            )
            for code, function in zip(codes, functions, strict=True)
        }
        self._at_calls: dict[str, Constants] = {}
        """By the name of a function, the constants that its inputs are made of; the same ones in all trials."""
        self._is_learned = False

    def learn_from(self, knows: Knows) -> None:
        """Take over the constants that the inputs of the fix were made of, so that mutants get the same inputs."""
        self._is_learned = True
        self._at_calls |= {name: of_triples(triples) for name, triples in knows.items()}

    def known(self) -> Knows:
        """Return the constants of each function that was called, in the form in which a reply carries them."""
        return {name: triples_of(constants) for name, constants in self._at_calls.items()}

    def at_call(
        self, function: FunctionType, name: str, receiver: object, held: Callable[[], list[Triple]]
    ) -> Constants:
        """Return what the inputs of a function are made of. The fix's first call decides.

        Args:
            function: the function.
            name: its qualified name.
            receiver: what its argument `self` or `cls` is; None without one.
            held: calls the function in a fork with the recorded input, and returns what it and its helpers hold.
        """
        known = self._at_calls.get(name)
        if known is None:
            own = with_receiver(self._in_code.get(name, _NONE), function, receiver)
            helpers = [constants for other, constants in self._in_code.items() if other != name]
            running = of_triples(() if self._is_learned else held())
            found = joined((own, *helpers, running))
            texts = tuple(each for each in found.texts if not shows_secret(each.value))
            known = self._at_calls[name] = Constants(found.numbers, texts)
        return known
