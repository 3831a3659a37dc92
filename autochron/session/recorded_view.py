"""A recording as a test sees it: the interface of a replay, over what has crossed so far."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, Self, cast

from autochron._runtime.unpatched import os
from autochron.errors import UsageError
from autochron.model import Divergence, Envelope, Replayed, Returned, Rules, Trace
from autochron.session.record_context import record
from autochron.session.replayed_view import Called, Crossings, ReplayedCrossing, crossing_at
from autochron.store import open_store

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.replaying.log import LogEntry


class _KeptOutcome(NamedTuple):
    """The outcome of a crossing as the original object."""

    value: Any
    error: BaseException | None = None


class Recorded:
    """A recording around a block of a test. It answers like a replay in which everything was live."""

    def __init__(self, name: str, rules: Rules) -> None:
        self._name = name
        self._rules = rules
        self._block: record | None = None
        self._trace: Trace | None = None
        self._values: dict[int, Any] = {}
        self._crossings: tuple[int, Crossings] | None = None
        self.of_calls: tuple[Trace, ...] = ()
        """The traces of calls that [[trace]] rules made, once the block is over."""

    def __repr__(self) -> str:
        return "<replay that is recorded>"

    @property
    def has_begun(self) -> bool:
        """Whether the block was entered."""
        return self._block is not None

    @property
    def is_over(self) -> bool:
        """Whether the block has begun and ended."""
        return self._trace is not None

    def __enter__(self) -> Self:
        # Not a store in memory: processes that the agent starts must record into it, too.
        folder = tempfile.mkdtemp(prefix="autochron-")
        try:
            block = record(self._name, store=open_store(os.path.join(folder, "traces.db")), rules=self._rules)
            block.__enter__()
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self._folder, self._block = folder, block
        self._keep_values(block.recorder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        block = self._block
        if block is None or self.is_over:
            return
        try:
            block.__exit__(kind, error, tb)
            self._problems = block.problems
            summaries = block.store.summaries()
            ids = [summary.header.id for summary in summaries if summary.header.id != block.id]
            self.of_calls = tuple(map(block.store.load, ids))
            self._trace = block.trace()
        finally:
            block.store.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _keep_values(self, recorder: Any) -> None:
        """Keep the results of model calls.

        A trace keeps what the provider answered, and a test asks for the SDK's object.
        """
        note: Callable[[Crossing[Any], Any], Any] = recorder.returned

        def returned(crossing: Crossing[Any], value: Any) -> Any:
            if crossing.rule.kind == "model":
                self._values[crossing.seq] = value
            return note(crossing, value)

        recorder.returned = returned

    def trace(self) -> Trace:
        """Return what is recorded so far."""
        return self._begun.trace() if self._trace is None else self._trace

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong on our side, one line each."""
        return self._problems if self.is_over else self._begun.problems

    # --- asking ------------------------------------------------------------------------------------------------------

    def __getitem__(self, address: str) -> ReplayedCrossing:
        """Return a crossing by its address, or by its name if only one has that name.

        Raises:
            NotCrossedError: there is none, or there are several.
        """
        return crossing_at(self.crossings, address, lambda _name, _nth: None)

    def called(self, name: str, /, **arguments: Any) -> Called:
        """Return the crossings of a name whose inputs include these arguments. The result is true if there is one."""
        return self.crossings.called(name, **arguments)

    def sequence(self) -> list[str]:
        """Return the addresses of all crossings, in order of start."""
        return self.crossings.sequence()

    def only(
        self,
        *,
        kind: Literal["model", "tool", "router", "ambient"] | None = None,
        name: str | None = None,
        live: bool | None = None,
    ) -> Crossings:
        """Return the crossings of a kind or a name. All of them were live."""
        return self.crossings.only(kind=kind, name=name, live=live)

    @property
    def crossings(self) -> Crossings:
        """The crossings so far, in order of start."""
        trace = self.trace()
        count = len(trace.envelopes)
        if self._crossings is None or self._crossings[0] != count:
            self._crossings = (count, Crossings(map(self._live, trace.envelopes)))
        return self._crossings[1]

    def _live(self, envelope: Envelope) -> ReplayedCrossing:
        outcome = None
        if isinstance(envelope.outcome, Returned) and envelope.seq in self._values:
            outcome = cast("LogEntry", _KeptOutcome(self._values[envelope.seq]))
        return ReplayedCrossing(Replayed(mode="live", envelope=envelope, recorded=envelope), outcome, ())

    @property
    def divergences(self) -> tuple[Divergence, ...]:
        """Always empty: there is no record to disagree with."""
        return ()

    def run(self, *_command: str, timeout: float | None = None) -> NoReturn:
        """Refuse: a command is recorded by `autochron run`.

        Raises:
            UsageError: always.
        """
        raise UsageError(
            "replay.run() can't be recorded from a test; record the command with `autochron run`, and its trace with"
            " `autochron traces export`"
        )

    def call(self) -> NoReturn:
        """Refuse: there is a recorded call only after the recording.

        Raises:
            UsageError: always.
        """
        raise UsageError(
            "replay.call() makes the call of a recorded trace again, and this one is being recorded; call the function itself"
        )

    @property
    def _begun(self) -> record:
        if self._block is None:
            raise UsageError("the recording has not begun; ask while the test runs")
        return self._block
