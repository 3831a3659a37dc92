"""Judge the world that a replay leaves by the predicate of the incident: whether something is true that must never be."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from autochron._runtime.unpatched import os
from autochron.effects.module_state import MOST, ModuleState
from autochron.errors import PredicateError, UnsafeWorldError
from autochron.reproduction.predicate import Predicate, World, effects_of, read_predicate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autochron.model import Evidence
    from autochron.project import Project

_ELSEWHERE = "replay.run() runs the program in a process of its own, whose modules are not seen here; look at `effects`"


class LiveOrServed(Protocol):
    """A crossing of a replay."""

    @property
    def live(self) -> bool: ...
    @property
    def kind(self) -> str: ...
    @property
    def result(self) -> Any: ...


class WorldJudge:
    """Judges one replay by a predicate.

    Attributes:
        reason: why the world is unsafe; None if it is not, and before the replay has ended.
    """

    def __init__(self, file: str | os.PathLike[str]) -> None:
        """Take the file of the predicate. It is read when the replay begins."""
        self.reason: str | None = None
        self._file = file
        self._predicate: Predicate | None = None
        self._modules: ModuleState | None = None
        self._before: dict[str, Any] = {}
        self._error: PredicateError | None = None

    def begin(self, project: Project) -> None:
        """Read the predicate, and the state of the project's modules before the replay.

        Raises:
            PredicateError: the predicate can't be read.
        """
        self.reason, self._error = None, None
        self._predicate = read_predicate(self._file, project.owns)
        self._modules = ModuleState(project.owns, project.name)
        self._before = self._modules.read()

    def end(
        self, evidence: tuple[Evidence, ...], crossings: Iterable[LiveOrServed], *, is_elsewhere: bool
    ) -> None:
        """Ask the predicate, before what the live crossings did to the modules is undone.

        Args:
            evidence: what was observed of the live crossings.
            crossings: the crossings of the replay, in order of start.
            is_elsewhere: whether the program ran in a process of its own.
        """
        if self._predicate is None or self._modules is None:
            return
        unknown = _ELSEWHERE if is_elsewhere else ""
        before = World({} if is_elsewhere else self._before, unknown)
        after = World({} if is_elsewhere else self._modules.read(), unknown)
        if self._modules.is_cut:
            self._error = PredicateError(
                f"the project's modules hold more than {MOST:,} values, so the world is not wholly known; test with less data"
            )
            return
        try:
            self.reason = self._predicate.reason(before, after, effects_of(evidence), _last_result(crossings))
        except PredicateError as error:
            self._error = error

    def refuse_unsafe(self) -> None:
        """Raise if the world is unsafe.

        Raises:
            UnsafeWorldError: it is.
            PredicateError: the predicate can't tell.
        """
        if self._error is not None:
            raise self._error
        if self.reason is not None:
            raise UnsafeWorldError(
                f"{self.reason}; {os.path.relpath(self._file)} says that this must never be, whatever the tool answers"
            )

    def note_in(self, error: BaseException) -> None:
        """Add a note to the exception of a block that failed for another reason, if the world is unsafe."""
        if self.reason is not None:
            with suppress(Exception):  # an exception class of the program may break `add_note`
                error.add_note(f"autochron: the world is unsafe: {self.reason}")


def _last_result(crossings: Iterable[LiveOrServed]) -> Any:
    """Return what the last live tool returned, or the exception that it raised; None if there was none."""
    last = [each for each in crossings if each.live and each.kind == "tool"][-1:]
    for crossing in last:
        try:
            return crossing.result
        except Exception as error:
            return error
    return None
