"""The predicate of an incident: what must never be true of the world, whatever a fix answers.

A file, `predicate.py` by convention, defines `unsafe(before, after, effects, result)`. It returns why the world is unsafe, or
None. A replay that is given the file fails if the world is unsafe, and `autochron mutate` tells by it which mutants do harm.
"""

from __future__ import annotations

import builtins
import inspect
import json
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from autochron._runtime.unpatched import os
from autochron.errors import PredicateError
from autochron.model import OUTSIDE, Evidence
from autochron.reproduction.world import World, WorldChange, WorldChanges

_FUNCTION = "unsafe"
_PARAMETERS = ("before", "after", "effects", "result")


class Predicate:
    """What the file of a predicate says of a replay."""

    def __init__(self, path: str, function: Callable[..., Any]) -> None:
        """Take the file and its function; `read_predicate` finds them."""
        self._path = path
        self._function = function

    def reason(self, before: World, after: World, effects: WorldChanges, result: Any) -> str | None:
        """Return why the world is unsafe; None if it is not.

        Args:
            before: the state when the replay began.
            after: the state at its end.
            effects: the changes that the program made.
            result: what the last live tool returned, or the exception that it raised; None if there was none.

        Raises:
            PredicateError: the function raises, or returns something else than a reason or None.
        """
        try:
            reason = self._function(before, after, effects, result)
        except PredicateError as error:
            raise PredicateError(f"{self._place(error)}: {error.message}") from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a SystemExit, or pytest's skip, must not pass for an answer
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
    namespace: dict[str, Any] = {
        "__name__": "autochron_predicate",
        "__file__": path,
        "__builtins__": {**vars(builtins), "__import__": _import_of_others(shown, owns)},
    }
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
    except PredicateError:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # as in `Predicate.reason`
        raise PredicateError(f"{shown} can't be read: {type(error).__name__}: {error}") from error
    function = namespace.get(_FUNCTION)
    if not isinstance(function, FunctionType) or tuple(inspect.signature(function).parameters) != _PARAMETERS:
        raise PredicateError(
            f"{shown} defines no `def {_FUNCTION}({', '.join(_PARAMETERS)})`; it returns why the world is unsafe, or None"
        )
    return Predicate(path, function)


def _import_of_others(shown: str, owns: Callable[[str], bool]) -> Callable[..., Any]:
    """Return an `__import__` that refuses modules of the project, at the top of the file and in its function."""

    def import_(name: str, *arguments: Any, **named: Any) -> Any:
        module = builtins.__import__(name, *arguments, **named)
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and owns(file):
            raise PredicateError(
                f"{shown} imports {name}, which a fix or a mutant may have changed; read the data from"
                f' `after["{os.path.basename(file)}:NAME"]`'
            )
        return module

    return import_


_MOST_OF_CROSSING = 500
"""Most effects that are kept of one crossing."""


def effects_of(evidence: Sequence[Evidence]) -> WorldChanges:
    """Return what was seen of the program's changes of the world."""
    changes = [
        WorldChange(of_crossing.address, effect.path, effect.what, _decoded(effect.value))
        for of_crossing in evidence
        for effect in of_crossing.effects
        if of_crossing.address != OUTSIDE or effect.path != "os.environ"
    ]
    cut = next((change for change in changes if change.what.endswith(" more changes")), None)
    full = next((each for each in evidence if len(each.effects) >= _MOST_OF_CROSSING), None)
    unknown = f"{cut.path} has {cut.what}" if cut is not None else ""
    if full is not None:
        unknown = f"{full.address} made more than {_MOST_OF_CROSSING} changes"
    return WorldChanges(changes, unknown)


def _decoded(value: bytes) -> Any:
    return json.loads(value.decode("utf-8", "surrogatepass"))
