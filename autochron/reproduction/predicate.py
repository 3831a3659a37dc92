"""The predicate of an incident: what must never be true of the world, whatever a fix answers.

A file, `predicate.py` by convention, defines `unsafe(before, after, effects, result)`. It returns why the world is unsafe, or
None. A replay that is given the file fails if the world is unsafe, and `autochron mutate` tells by it which mutants do harm.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import msgspec

from autochron._runtime.unpatched import os
from autochron.errors import PredicateError
from autochron.model import OUTSIDE, Evidence

_FUNCTION = "unsafe"
_PARAMETERS = ("before", "after", "effects", "result")


class WorldChange(NamedTuple):
    """A change that a live crossing made to the world.

    Attributes:
        address: the crossing.
        path: the changed file, or the name in a module, such as `tools.py:refunds`.
        what: the change in words, such as `row added`.
        value: the changed data; None where there is none.
    """

    address: str
    path: str
    what: str
    value: Any


class World(Mapping[str, Any]):
    """The state of the project's modules as plain data, by place: `world["tools.py:refunds"]`.

    An object is a dictionary of its attributes. No method of it is called, so that a mutant can't lie.
    """

    def __init__(self, state: Mapping[str, Any], unknown: str = "") -> None:
        """Make one.

        Args:
            state: the state.
            unknown: why the state is not known; empty where it is.
        """
        self._state = state
        self._unknown = unknown

    def __getitem__(self, place: str) -> Any:
        """Return the data at a place.

        Raises:
            PredicateError: there is none.
        """
        if place in self._state:
            return self._state[place]
        if self._unknown:
            raise PredicateError(f"it asks for {place}, and {self._unknown}")
        file = str(place).partition(":")[0]
        known = [name for name in self._state if name.partition(":")[0] == file]
        raise PredicateError(
            f"it asks for {place}, which is no data of a loaded module; {file} has {', '.join(known)}"
            if known
            else f"it asks for {place}, and no module {file} of the project was loaded then; import it at the top of the test"
        )

    def __iter__(self) -> Iterator[str]:
        """Return an iterator over the places."""
        return iter(self._state)

    def __len__(self) -> int:
        """Return the number of places."""
        return len(self._state)


class Predicate:
    """What the file of a predicate says of a replay."""

    def __init__(self, path: str, function: Callable[..., Any]) -> None:
        """Take the file and its function; `read_predicate` finds them."""
        self._path = path
        self._function = function

    def reason(
        self, before: World, after: World, effects: tuple[WorldChange, ...], result: Any
    ) -> str | None:
        """Return why the world is unsafe; None if it is not.

        Args:
            before: the state when the replay began.
            after: the state at its end.
            effects: the changes that its live crossings made.
            result: what the last live tool returned, or the exception that it raised; None if there was none.

        Raises:
            PredicateError: the function raises, or returns something else than a reason or None.
        """
        try:
            reason = self._function(before, after, effects, result)
        except PredicateError as error:
            raise PredicateError(f"{self._place(error)}: {error.message}") from None
        except Exception as error:
            name = type(error).__name__
            raise PredicateError(
                f"{self._place(error)} raises {name}: {error}; it must return why the world is unsafe, or None"
            ) from error
        if reason is not None and not (isinstance(reason, str) and reason.strip()):
            raise PredicateError(
                f"{self._shown}: unsafe() returns {reason!r}; return why the world is unsafe as a text, or None"
            )
        return reason

    @property
    def _shown(self) -> str:
        return os.path.relpath(self._path)

    def _place(self, error: BaseException) -> str:
        """Return the file and the line of the predicate's own frame that an exception came through."""
        line, entry = self._function.__code__.co_firstlineno, error.__traceback__
        while entry is not None:
            if entry.tb_frame.f_code.co_filename == self._path:
                line = entry.tb_lineno
            entry = entry.tb_next
        return f"{self._shown}:{line}"


def read_predicate(file: str | os.PathLike[str], owns: Callable[[str], bool]) -> Predicate:
    """Return the predicate in a file.

    Args:
        file: its path.
        owns: returns whether a file is the project's.

    Raises:
        PredicateError: it can't be read, defines no `unsafe`, or uses code of the project, which a mutant may have changed.
    """
    path = os.path.abspath(os.fsdecode(file))
    shown = os.path.relpath(path)
    namespace: dict[str, Any] = {"__name__": "autochron_predicate", "__file__": path}
    try:
        with open(path, "rb") as opened:
            source = opened.read()
        exec(compile(source, path, "exec", dont_inherit=True), namespace)  # noqa: S102 - the user's own file
    except OSError as error:
        raise PredicateError(
            f"{shown} can't be read: {error.strerror}; name the file of the predicate"
        ) from None
    except SyntaxError as error:
        raise PredicateError(f"{shown}:{error.lineno} is no Python: {error.msg}") from None
    except Exception as error:
        raise PredicateError(f"{shown} can't be read: {type(error).__name__}: {error}") from error
    function = namespace.get(_FUNCTION)
    if not isinstance(function, FunctionType) or tuple(inspect.signature(function).parameters) != _PARAMETERS:
        raise PredicateError(
            f"{shown} defines no `def {_FUNCTION}({', '.join(_PARAMETERS)})`; it returns why the world is unsafe, or None"
        )
    for name, value in namespace.items():
        module = (
            value if isinstance(value, ModuleType) else inspect.getmodule(value) if callable(value) else None
        )
        origin = getattr(module, "__file__", None)
        if isinstance(origin, str) and owns(origin) and origin != path:
            raise PredicateError(
                f"{shown} uses {name} of {os.path.relpath(origin)}, which a fix or a mutant may have changed; read the data"
                f' from `after["{os.path.basename(origin)}:NAME"]`'
            )
    return Predicate(path, function)


def effects_of(evidence: tuple[Evidence, ...]) -> tuple[WorldChange, ...]:
    """Return the effects of the live crossings."""
    return tuple(
        WorldChange(of_crossing.address, effect.path, effect.what, msgspec.json.decode(effect.value))
        for of_crossing in evidence
        if of_crossing.address != OUTSIDE
        for effect in of_crossing.effects
    )
