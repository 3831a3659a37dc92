"""`with autochron.replay(...)`: serve a recorded trace to a block of a program, with parts of it live."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from autochron._runtime.unpatched import os
from autochron.diagnostics.woven_tools import refuse_uncovered
from autochron.errors import DivergenceError, UsageError
from autochron.finding.rules import with_found
from autochron.instrument.activation import activate
from autochron.instrument.swap import swaps_for, with_swaps
from autochron.isolation.environment import set_environment
from autochron.isolation.live_observation import StateScope
from autochron.model import Divergence, Finding, Rules, Trace
from autochron.ports import Record, Store
from autochron.redaction.redactor import Redactor
from autochron.replaying.plan import plan_for
from autochron.reproduction.snapshot_places import snapshot_places
from autochron.session.incident_judge import IncidentJudge, ReplayedBlock, volatile_fields
from autochron.session.record_context import refuse_second, refuse_unwoven, rules_for, store_for
from autochron.session.replayed_view import Called, Crossings, ReplayedCrossing, crossing_at, gathered
from autochron.session.replaying import Replaying
from autochron.store import open_store
from autochron.store.whole import WholeRecord
from autochron.weaving import gate

if TYPE_CHECKING:
    from autochron.effects.module_backup import ModuleBackup
    from autochron.effects.snapshots import SnapshotFolder
    from autochron.instrument.swap import Swap
    from autochron.replaying.plan import Inputs, Reach, ReplayPlan, Selector
    from autochron.reproduction.observation import Observation
    from autochron.reproduction.verdict import Verdict
    from autochron.reproduction.world_judge import WorldJudge
    from autochron.session.subprocess_replay import Rerun


class replay:  # noqa: N801 - reads as a verb: `with autochron.replay(...)`
    """Serve a recorded trace to the boundaries that are crossed while a block runs, except those that are live.

    Use it as `with autochron.replay("incidents/refund/trace.jsonl", live="issue_refund[1]") as replay:`. In the block call
    the agent, or `replay.run()` to run the recorded command in a process of its own, or `replay.call()` for the trace of one
    call. `replay["issue_refund[1]"].result` is the result of a crossing, and `replay.divergences` lists where replay and
    record disagree. Both are there after the block, too.

    Args:
        trace: a name, an id or its prefix, `last`, the path of a trace file (`.jsonl`), or a loaded trace.
        live: the crossings that run for real: `NAME`, `NAME[K]`, `kind:KIND`, `after:NAME[K]` (all that started later), a
            function that takes a recorded envelope and returns whether it is live, or several of these. Crossings that
            enclose a live one run, too. Default none.
        swap: functions that others replace: `{"shop.tools:refund": "shop.fixed:refund"}`. A value may be a callable.
        store: the store that the trace is in; as for `record`.
        rules: the rules; as for `record`.
        inputs: what a changed input counts as: an error (`strict`), a warning (`warn`) or nothing (`ignore`). By default it
            is an error; if anything is live, it is a warning for model calls and for live crossings. A consequence of
            something live is never an error.
        deny: what live crossings must not use: `network`, `subprocess` or `files` (changes of the file system), or several.
        check: whether a divergence raises an error when the block is left.
        allow_unwoven: whether to go on if the model asked for a tool without a known boundary, which may run for real.
        watch: whether to look for non-deterministic calls outside every boundary, for `findings`. It takes milliseconds.
        volatile: fields of outcomes that differ in each run, such as `issue_refund[1].outcome.id`. A verdict ignores them.
        predicate: a file with `unsafe(before, after, effects, result)`, which says what must never be true of the world.

    Raises:
        TraceNotFoundError, TraceFormatError, StoreError: on entering the block, if the trace is missing or can't be read.
        RuleError: on entering the block, if the rules are invalid.
        PlanError: on entering the block, if the trace has no such crossing, or something can't be swapped or denied.
        UnwovenToolError: on entering the block, if the model asked for a tool that no boundary is known to cover.
        UsageError: an argument is invalid, or on entering the block another recording or replay is under way in this process.
        DivergenceError: on leaving the block, if replay and record disagree.
        UnsafeWorldError: on leaving the block, if the world is unsafe.
    """

    def __init__(
        self,
        trace: Trace | str | os.PathLike[str],
        *,
        live: Selector | Iterable[Selector] = (),
        swap: Mapping[str, str | Callable[..., Any]] | None = None,
        store: Store | str | None = None,
        rules: Rules | str | os.PathLike[str] | None = None,
        inputs: Inputs | None = None,
        deny: Reach | Iterable[Reach] = (),
        check: bool = True,
        allow_unwoven: bool = False,
        watch: bool = False,
        volatile: Iterable[str] = (),
        predicate: str | os.PathLike[str] | None = None,
    ) -> None:
        self._reference = trace
        self._live = live
        self._swap = swap or {}
        self._store = store
        self._rules = rules
        self._inputs = inputs
        self._deny = deny
        self._check = check
        self._allow_unwoven = allow_unwoven
        self._watch = watch
        self._prepared: tuple[Rules, Record, ReplayPlan, tuple[Swap, ...]] | None = None
        self._session: Replaying | None = None
        self._rerun: Rerun | None = None
        self._crossings: tuple[int, Crossings] | None = None
        self.is_over = False
        """Whether the replay has begun and ended."""
        self._judge = IncidentJudge(
            None if isinstance(trace, Trace) else trace, volatile_fields(volatile), swaps=bool(self._swap)
        )
        self.world: WorldJudge | None = None
        """What judges the world by the predicate, if there is one."""
        if predicate is not None:
            from autochron.reproduction.world_judge import WorldJudge  # lazy: few replays have a predicate

            self.world = WorldJudge(predicate)
        self._restores_globals = False
        self._backup: ModuleBackup | None = None
        self._observes = predicate is not None
        """Whether to note what live crossings do to the state of the project's modules."""
        self._ran = False
        """Whether `run` was called, so that the replay took place in another process."""

    def __repr__(self) -> str:
        trace = self._reference
        return f"<replay of {trace.header.id if isinstance(trace, Trace) else trace}>"

    def __enter__(self) -> Self:
        refuse_second()
        if self._prepared is None:
            self.prepare()
        assert self._prepared is not None  # noqa: S101 - it has just been made
        (rules, record, plan, swaps), self._prepared = self._prepared, None
        activation = activate(with_swaps(rules, swaps) if swaps else rules)
        if not self._allow_unwoven:
            refuse_unwoven(record, rules)
            refuse_uncovered(record, rules, activation)
        elif not plan.is_full:
            refuse_uncovered(record, rules, activation, live=plan)
        if self.world is not None:  # before anything is changed, since it may raise
            self.world.begin(activation.project)
        # A replay may begin again. With the values of its first time, `__exit__` would not end it.
        self.is_over, self._ran, self._rerun, self._crossings = False, False, None, None
        self._judge.forget()
        scope = StateScope(self._places(rules, record), observes=self._observes)
        self._session = Replaying(
            activation, record, Redactor.of(activation.rules), plan, swaps=swaps, scope=scope
        )
        self._restore_environment = set_environment(record, plan)
        if self._restores_globals and not plan.is_full:
            from autochron.effects.module_backup import ModuleBackup  # lazy: only tests need it

            self._backup = ModuleBackup(activation.project)
        self._session.begin()
        if self._watch:
            self._session.watch()
        return self

    def prepare(self) -> None:
        """Read the trace and weave, so that beginning takes less time. A parent does this once for all of its forks."""
        rules = rules_for(self._rules)
        record = self._open(rules)
        rules = with_found(rules, record.footer)
        plan = plan_for(record, self._live, inputs=self._inputs, deny=self._deny)
        swaps = swaps_for(self._swap, rules) if self._swap else ()
        activate(with_swaps(rules, swaps) if swaps else rules)
        self._prepared = (rules, record, plan, swaps)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        session = self._session
        if session is None or self.is_over:
            return
        self.is_over = True
        self._restore_environment()
        if session.watching is not None:
            session.watching.end()
        if self._ran:
            gate.switch_off()
        came_to_end = kind is None or self._is_end(kind, session)
        if self._rerun is None:
            session.finish(whole=came_to_end)
        if self.world is not None:
            self.world.end(self._replayed().evidence, self.crossings, is_elsewhere=self._ran)
        if self._backup is not None and not self._ran:
            self._backup.put_back()
        self._backup = None
        if self.world is not None:  # also where a divergence is not checked, and whatever ended the block
            self.world.refuse_unsafe(error)
        if self._check and came_to_end:
            self.verify()
        elif self._check and error is not None:
            self._note_in(error)

    @staticmethod
    def _is_end(kind: type[BaseException], session: Replaying) -> bool:
        """Return whether a program ends like this: by SystemExit, or by the exception that ended the recorded run."""
        footer = session.record.footer
        return issubclass(kind, SystemExit) or (footer is not None and footer.error == kind.__qualname__)

    def _note_in(self, error: BaseException) -> None:
        """Add a note to the block's exception that replay and record disagree, which may be the reason for it."""
        errors = [divergence for divergence in self.divergences if divergence.severity == "error"]
        if errors and not isinstance(error, DivergenceError):
            others = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
            with suppress(Exception):  # an exception class of the program may break `add_note`
                error.add_note(f"autochron: replay and record disagree: {errors[0].message}{others}")

    def _places(self, rules: Rules, record: Record) -> tuple[SnapshotFolder, ...]:
        """Return the folders that may have the contents of the trace's snapshots; none if it has no snapshots."""
        if isinstance(self._reference, Trace) or record.footer is None or not record.footer.snapshots:
            return ()
        store = self._store if isinstance(self._store, str) else getattr(self._store, "url", None)
        return snapshot_places(os.fsdecode(self._reference), store, rules)

    def _open(self, rules: Rules) -> Record:
        if isinstance(self._reference, Trace):
            return WholeRecord(self._reference)
        try:
            reference = os.fsdecode(self._reference)
        except TypeError:
            raise UsageError(
                f"replay({self._reference!r}): give a trace, its name or id, `last`, or the path of a trace file"
            ) from None
        if reference.endswith(".jsonl"):
            return open_store(reference).record("last")
        return store_for(self._store, rules).record(reference)

    def verify(self) -> None:
        """Check that replay and record agree so far.

        Raises:
            DivergenceError: they disagree.
            UsageError: the replay has not begun.
        """
        _ = self.session  # raises if the replay has not begun
        errors = self.unexplained()
        if errors:
            raise DivergenceError(errors[0].message, errors, self.tree())

    def tree(self, limit: int = 40) -> list[str]:
        """Draw the crossings of this replay so far: what was live, what differed, and what did not happen.

        Args:
            limit: greatest number of lines; the most important ones are kept.
        """
        from autochron.report.tree import DRAWN_WHOLE, draw_replay  # lazy: few replays are drawn

        replayed = [crossing.replayed for crossing in self.crossings]
        recorded = self.record if self.record.size <= DRAWN_WHOLE else ()
        return draw_replay(replayed, self.divergences, recorded).lines(limit)

    def run(self, *command: str, timeout: float | None = None) -> Rerun:
        """Replay the recorded command in a process of its own, or another command: `replay.run("agent.py", "--fast")`.

        From then on, `crossings`, `divergences` and verdicts are those of that process.

        Args:
            command: a program and its arguments, as after `autochron replay TRACE --`; default the recorded command.
            timeout: limit in seconds.

        Raises:
            UsageError: something crossed in this process already, or the replay could not begin.
            InconclusiveError: the program was killed, so nothing is known of what it did.
            subprocess.TimeoutExpired: it took longer than `timeout`.
        """
        from autochron.session.subprocess_replay import Refusing, run_again  # lazy: most tests run in process

        session = self.session
        if len(session.director.state.log):
            raise UsageError("replay.run() after the agent was called in this process; do one or the other")
        if not self._ran:
            session.stop()
        session.put_away()
        gate.switch_off()
        self._ran = True
        try:
            self._rerun = run_again(
                session.record,
                session.activation.rules.file,
                session.plan,
                session.swaps,
                command,
                allow_unwoven=self._allow_unwoven,
                timeout=timeout,
                places=self._places(session.activation.rules, session.record),
            )
        finally:
            gate.switch_on(Refusing())
        return self._rerun

    def call(self) -> Any:
        """Make the recorded call again, in this process. The trace must be of a call, as a [[trace]] rule makes it.

        The function is imported and called with the recorded arguments. A request is sent through the test client to
        the application that took it. Any exception of the call is raised.

        Returns:
            The result of the function; of an awaitable its result, of a generator the list of its items, of a request
            the response.

        Raises:
            UsageError: the trace is of no call, or the call can't be made again: an argument was recorded without its
                value, or something that it needs no longer exists.
        """
        from autochron.session.calling import call_again  # lazy: for traces of calls

        session = self.session
        if self._ran or self.is_over:
            after = "replay.run()" if self._ran else "the replay has ended"
            raise UsageError(
                f"replay.call() after {after} would run for real; call it inside a replay of its own"
            )
        return call_again(session.record, session.activation.rules.root)

    def verdict(
        self, *addresses: str, raises: type[BaseException] | tuple[type[BaseException], ...] = ()
    ) -> Verdict:
        """Return whether the incident is reproduced or prevented, or whether neither is known.

        Args:
            addresses: crossings of the record, such as `issue_refund[1]`; by default each live one.
            raises: exceptions that are a right answer here, although their type looks like that of a crash.

        Raises:
            NotCrossedError: the record has no such crossing.
        """
        return self._judge.verdict(self._replayed(), addresses, raises)

    def assert_not_reproduced(
        self, *addresses: str, raises: type[BaseException] | tuple[type[BaseException], ...] = ()
    ) -> None:
        """Raise unless the incident is prevented.

        In a trace of a program that failed, it is prevented if `run()` ends well now. Otherwise it is prevented if
        each of the crossings got the recorded input and did something else, or is no longer reached. The test of an
        incident begins with this check. Later it is replaced by one of what should happen instead.

        Args:
            addresses: as for `verdict`.
            raises: as for `verdict`.

        Raises:
            ReproducedError: an AssertionError that says what was reproduced, and the file and line where the fix goes.
            InconclusiveError: an AssertionError that says why neither is known, and what to do.
            NotCrossedError: the record has no such crossing.
        """
        __tracebackhide__ = True
        from autochron.diagnostics.incident_check import line_of_caller  # lazy: compiles source to find lines

        replayed = self._replayed()
        self._judge.refuse_unless_prevented(replayed, addresses, raises, line_of_caller(2))

    def _replayed(self) -> ReplayedBlock:
        """Return the results of this replay so far, for the judge."""
        return ReplayedBlock(self.session, self._rerun, self.crossings, self.divergences)

    def observation(self) -> Observation | None:
        """Return what was observed of live crossings; None if the replay has not begun."""
        return None if self._session is None else self._replayed().observation()

    def put_globals_back(self) -> None:
        """Restore the globals of the project's modules that live crossings changed, when the replay ends."""
        self._restores_globals = True

    def observe(self) -> None:
        """Note what live crossings do to the state of the project's modules: a test's verdict needs it."""
        self._observes = True

    def still_did(self) -> list[str]:
        """Return messages of what live crossings still did, if the verdict is that the incident is prevented."""
        return self._judge.still_did()

    def unexplained(self) -> list[Divergence]:
        """Return the divergences that are errors and no consequence of the incident's being prevented."""
        block = self._session and ReplayedBlock(self._session, self._rerun, Crossings(), self.divergences)
        return self._judge.unexplained(block) if block else []

    # --- asking ------------------------------------------------------------------------------------------------------

    def __getitem__(self, address: str) -> ReplayedCrossing:
        """Return a crossing by its address, or by its name if only one has that name.

        Raises:
            NotCrossedError: it did not happen in this replay, or several crossings have that name.
        """
        return crossing_at(self.crossings, address, self.session.record.find)

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
        """Return the crossings that fit each of the criteria.

        Args:
            kind: kind of the boundary.
            name: name of the boundary.
            live: whether it was live.

        Raises:
            UsageError: there is no such kind.
        """
        return self.crossings.only(kind=kind, name=name, live=live)

    @property
    def crossings(self) -> Crossings:
        """The crossings of this replay so far, in order of start."""
        if self._rerun is not None:
            return self._rerun.crossings
        director = self.session.director
        state = len(director.state.log) + director.state.schedule.progress + len(director.divergences)
        if self._crossings is None or self._crossings[0] != state:
            self._crossings = (state, gathered(director.replayed(), director.divergences))
        return self._crossings[1]

    @property
    def divergences(self) -> tuple[Divergence, ...]:
        """Where replay and record disagree, in the order of notice."""
        if self._session is None:
            return ()
        if self._rerun is not None:
            return self._rerun.summary.divergences
        return tuple(self._session.director.divergences)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The non-deterministic calls so far, including those that a boundary or an ignore covers.

        Raises:
            UsageError: the replay began without `watch=True`.
        """
        watching = self.session.watching
        if watching is None:
            raise UsageError("this replay does not look for findings; begin it with watch=True")
        return watching.findings()

    def planned(self) -> tuple[Record, ReplayPlan]:
        """Return the record and the plan, also before the replay has begun."""
        if self._session is not None:
            return self._session.record, self._session.plan
        record = self._open(rules_for(self._rules))
        return record, plan_for(record, self._live, inputs=self._inputs, deny=self._deny)

    @property
    def swaps(self) -> tuple[Swap, ...]:
        """The swaps, each with the number of its calls."""
        return () if self._session is None else self._session.swaps

    @property
    def is_swapping(self) -> bool:
        """Whether the replay swaps functions."""
        return bool(self._swap)

    @property
    def session(self) -> Replaying:
        """The session that serves.

        Raises:
            UsageError: the replay has not begun.
        """
        if self._session is None:
            raise UsageError(
                "the replay has not begun; ask inside or after `with autochron.replay(...) as replay:`"
            )
        return self._session

    @property
    def reran(self) -> bool:
        """Whether the replay took place in a process of its own, by `run()`."""
        return self._ran

    @property
    def why_whole(self) -> str:
        """Why the process of `run()` did not go on from the cut; empty where it did, or was not to."""
        return self._rerun.why_whole if self._rerun is not None else ""

    @property
    def has_begun(self) -> bool:
        """Whether the block was entered."""
        return self._session is not None

    @property
    def record(self) -> Record:
        """The record that is served."""
        return self.session.record
