"""Judge the world that a replay leaves by the predicate of the incident: whether something is true that must never be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from autochron._runtime.unpatched import os, perf_counter_ns, sleep
from autochron.effects.running import at_work
from autochron.errors import PredicateError, UnsafeWorldError, UsageError
from autochron.reproduction.predicate import Predicate, effects_of, read_predicate
from autochron.reproduction.world import World, WorldState, read_world

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autochron.model import Evidence
    from autochron.project import Project

_PATIENCE = 2_000_000_000
"""Nanoseconds that a thread of a live crossing is given to end: on a busy machine one that is done may still run."""
_PAUSE = 0.01
"""Seconds between two looks at them."""

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
        if not isinstance(file, str | os.PathLike):
            raise UsageError(f'predicate={file!r}: it is the path of a file, such as "predicate.py"')
        self.reason: str | None = None
        self._file = file
        self._predicate: Predicate | None = None
        self._project: Project | None = None
        self._before = WorldState({}, {})
        self._error: PredicateError | None = None

    def begin(self, project: Project) -> None:
        """Read the predicate, and the state of the project's modules before the replay.

        Raises:
            PredicateError: the predicate can't be read.
        """
        self.reason, self._error = None, None
        self._predicate = read_predicate(self._file, project.owns)
        self._project = project
        self._before = read_world(project)

    def end(
        self, evidence: tuple[Evidence, ...], crossings: Iterable[LiveOrServed], *, is_elsewhere: bool
    ) -> None:
        """Ask the predicate, before what the live crossings did to the modules is undone. It raises nothing.

        Args:
            evidence: what was observed of the live crossings.
            crossings: the crossings of the replay, in order of start.
            is_elsewhere: whether the program ran in a process of its own.
        """
        try:
            self._ask(evidence, crossings, is_elsewhere=is_elsewhere)
        except PredicateError as error:
            self._error = error
        except Exception as error:  # what it looks at can't be read
            self._error = PredicateError(
                f"{os.path.relpath(self._file)} can't be asked: {type(error).__name__}: {error}"
            )

    def _ask(
        self, evidence: tuple[Evidence, ...], crossings: Iterable[LiveOrServed], *, is_elsewhere: bool
    ) -> None:
        if self._predicate is None or self._project is None:
            return
        left = [] if is_elsewhere else _still_running(evidence)
        nothing = WorldState({}, {})
        elsewhere = _ELSEWHERE if is_elsewhere else ""
        before = World(nothing if is_elsewhere else self._before, elsewhere)
        now = nothing if is_elsewhere else read_world(self._project)
        after = World(now, elsewhere)
        self.reason = self._predicate.reason(before, after, effects_of(evidence), _last_result(crossings))
        if self.reason is None and left:
            address, name = left[0]
            raise PredicateError(
                f"{name}, which {address} has started, still runs, so what it does is not known; wait for it in the test"
            )

    def refuse_unsafe(self, block_error: BaseException | None = None) -> None:
        """Raise if the world is unsafe, or if that is not known.

        Args:
            block_error: the exception that ended the block; None if there was none.

        Raises:
            UnsafeWorldError: it is.
            PredicateError: the predicate can't tell.
        """
        if self.reason is not None:
            raise UnsafeWorldError(
                f"{self.reason}; {os.path.relpath(self._file)} says that this must never be, whatever the tool answers"
            ) from block_error
        if self._error is not None:
            raise self._error from block_error


def _still_running(evidence: tuple[Evidence, ...]) -> list[tuple[str, str]]:
    """Return the addresses and names of what live crossings have started and still runs, after a while for it to end."""
    started = [(each.address, name) for each in evidence for name in each.left_running]
    deadline = perf_counter_ns() + _PATIENCE
    while True:
        running = {*at_work().values()}
        left = [(address, name) for address, name in started if name in running]
        if not left or perf_counter_ns() > deadline:
            return left
        sleep(_PAUSE)


def _last_result(crossings: Iterable[LiveOrServed]) -> Any:
    """Return what the last live tool returned, or the exception that it raised; None if there was none."""
    last = [each for each in crossings if each.live and each.kind == "tool"][-1:]
    for crossing in last:
        try:
            return crossing.result
        except BaseException as error:  # the one that the tool raised; a refusal may be of any kind
            return error
    return None
