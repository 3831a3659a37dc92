"""Replay a whole program: what `autochron replay` does. Apart from `running`, for a run needs nothing of it."""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from autochron._runtime import exit_hooks, hashseed, unpatched
from autochron._runtime.finalization import keep_modules_at_exit
from autochron._runtime.recursion import enough_frames
from autochron._runtime.unpatched import os
from autochron.ambient.synthesis import variation_of
from autochron.config import default_store, find_rule_file
from autochron.diagnostics.woven_tools import refuse_uncovered
from autochron.effects.snapshots import SnapshotFolder
from autochron.errors import UsageError
from autochron.instrument.activation import Activation, activate
from autochron.instrument.swap import swaps_for, with_swaps
from autochron.isolation.environment import set_environment
from autochron.isolation.live_observation import StateScope
from autochron.model import Command, ReplaySummary, Rules, Severity
from autochron.program.main_module import Program, end_process, say_exit
from autochron.program.run import Options, weave_into
from autochron.program.standstill import Standstill
from autochron.redaction.redactor import Redactor
from autochron.replaying.command_trust import refuse_foreign
from autochron.replaying.environment import PLACES, PLAN, REPORT, SCRATCH
from autochron.replaying.plan import plan_for, read_plan
from autochron.reproduction.snapshot_places import snapshot_places
from autochron.rules.loading import load_rules
from autochron.session.record_context import refuse_unwoven
from autochron.session.replaying import Replaying
from autochron.stdio.capture import Capture
from autochron.store import open_store

if TYPE_CHECKING:
    from autochron.ports import Record, Replayer
    from autochron.program.replayed_output import Writers
    from autochron.replaying.plan import ReplayPlan, Selector
    from autochron.stdio.transcript import Said


class ReplayRequest(NamedTuple):
    """What a replay is to do otherwise than serve everything; see `autochron.replay`."""

    live: tuple[Selector, ...] = ()
    swap: tuple[tuple[str, str], ...] = ()
    deny: tuple[str, ...] = ()
    inputs: str | None = None
    allow_effects: bool = False
    strict: bool = False
    """Whether a replay fails in which something could not be compared."""


NOTHING_LIVE = ReplayRequest()

ReportReplay: TypeAlias = "Callable[[ReplaySummary, Replayer], None]"


def load_record(options: Options, reference: str) -> tuple[Record, Rules]:
    """Open a trace, and read the rules that go with it."""
    file = reference.endswith(".jsonl")
    beside = find_rule_file(os.path.abspath(reference)) if file and options.rules is None else None
    rules = load_rules(beside) if beside else options.load_rules(os.getcwd())
    if file:
        return open_store(reference).record("last"), rules
    return open_store(options.store or default_store(rules.file)).record(reference), rules


def places_of(options: Options, reference: str, rules: Rules) -> tuple[SnapshotFolder, ...]:
    """Return the folders in which the contents of a trace's snapshots may be: beside its file, and beside the store."""
    given = os.environ.pop(PLACES, None)
    if given is not None:
        return tuple(SnapshotFolder(each) for each in given.split(os.pathsep) if each)
    return snapshot_places(reference, options.store, rules)


def run_replayed(
    options: Options,
    reference: str,
    command: Command | None,
    report: ReportReplay,
    *,
    wanted: ReplayRequest = NOTHING_LIVE,
    allow_unwoven: bool,
    words: Sequence[str] = (),
    trusted: str | None = None,
) -> int:
    """Replay a recorded program with nothing live but what is wanted so; return 0 where all was the same, else 1.

    `words` are those of the command line, and `trusted` the digest of the recorded command that may be run.

    Raises:
        UsageError, RuleError, StoreError, TraceFormatError, UnwovenToolError, UntrustedTraceError: before the program starts.
    """
    record, rules = load_record(options, reference)
    seed = _seed_for(record.header.hash_seed)
    if seed not in {"", hashseed.current()}:
        hashseed.start_again(seed)
    if command is None:
        refuse_foreign(record.header, reference, rules, words, trusted)
    plan = _plan_of(record, wanted)
    _refuse_unwoven_tools(record, rules, plan, allow_unwoven=allow_unwoven)
    told = os.environ.pop(REPORT, None)
    scope = StateScope(
        places_of(options, reference, rules),
        everywhere=True,
        observes=told is not None,
        folder=os.environ.pop(SCRATCH, None),
        allows_effects=wanted.allow_effects,
    )
    swaps = swaps_for(wanted.swap, rules)
    rules = with_swaps(rules, swaps)
    given = _command_of(record, command)
    enter_folder(rules, record.header.command)
    program = Program(given)
    redactor = Redactor.of(rules)
    set_environment(record, plan)
    activation = activate(rules, program.own, aliases={"__main__": program.aliases})
    capture = Capture()
    capture.hold()
    replaying = Replaying(activation, record, redactor, plan, swaps=swaps, scope=scope)
    ending = _ReplayEnding(replaying, capture, report, told, strict=wanted.strict)
    undo = exit_hooks.guard(ending.cut_short)
    replaying.before_exec = lambda: ending.cut_short(None)
    capture.serve_recorded(record.footer)
    writers = ending.writers = _writers_of(replaying)
    capture.start(None if writers is None else writers.note, errors=rules.stderr)
    _begin(replaying, ending, watches=options.watch)
    process = unpatched.getpid()
    status = program.run(weave_into(activation, program))  # type: ignore[arg-type]
    if unpatched.getpid() != process:
        return _end_forked(replaying, program, status)
    _exit_as_python(program)
    undo()
    if told is not None:
        ending.broke = _crash_of(program, activation)
    program.let_go()
    return ending.finish(status, program.uncaught)


def _begin(replaying: Replaying, ending: _ReplayEnding, *, watches: bool) -> None:
    """Begin to serve; `watches` says whether calls outside every boundary are looked for."""
    replaying.begin()
    if watches:
        replaying.watch()
    ending.watch_standstill()


def _refuse_unwoven_tools(record: Record, rules: Rules, plan: ReplayPlan, *, allow_unwoven: bool) -> None:
    """Raise UnwovenToolError where the replay would run a tool for real that no rule covers, and that is not allowed."""
    if not allow_unwoven:
        refuse_unwoven(record)
        refuse_uncovered(record, rules)
    elif not plan.is_full:
        refuse_uncovered(record, rules, live=plan)


def _end_forked(replaying: Replaying, program: Program, status: int) -> int:
    """End a process that the program has forked as it would end; the report is its parent's."""
    atexit.register(replaying.leave)
    if (left := program.let_go()) is not None:
        raise left
    end_process(status)
    return status


def _exit_as_python(program: Program) -> None:
    """Do what Python does at exit: the program's threads and exit functions are part of what is compared."""
    say_exit(program.exit)
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
    atexit._run_exitfuncs()  # noqa: SLF001
    keep_modules_at_exit()  # for what the report imports


def _plan_of(record: Record, wanted: ReplayRequest) -> ReplayPlan:
    """Return what is live: as another process settled it, where one has started this replay."""
    settled = os.environ.pop(PLAN, None)
    if settled is not None:
        return read_plan(settled)
    return plan_for(record, wanted.live, inputs=wanted.inputs, deny=wanted.deny)


def _writers_of(replaying: Replaying) -> Writers | None:
    """Return what notes who prints what; None where the output follows from what is live."""
    if not replaying.plan.is_full:
        return None
    from autochron.program.replayed_output import Writers  # lazy: as above

    return Writers(replaying.activation.project)


def _seed_for(recorded: str) -> str:
    """Return the seed of hashes: the recorded one, or in a variation another one."""
    variation = variation_of(os.environ)
    return str(int(recorded or "1") % 1_000_000 + 7_919 * variation) if variation else recorded


def _crash_of(program: Program, activation: Activation) -> str | None:
    """Say how a program crashed; None where it ended well, or by a refusal."""
    from autochron.reproduction.crashes import describe, is_crash  # lazy: for tests

    project, error = activation.project, program.error
    is_broken = error is not None and is_crash(error, project.owns)
    return describe(error, project.name, project.owns) if error is not None and is_broken else None


def _command_of(record: Record, command: Command | None) -> Command:
    """Return the program to run: the one that is given, or the recorded one."""
    given = command if command is not None else record.header.command
    if given.mode == "block":
        what = (
            f"is of a call of {given.target}"
            if given.target
            else "was recorded by autochron.record in a program"
        )
        raise UsageError(
            f"trace {record.header.id} {what}, and names no program; "
            "give the program after --, or replay it in Python with autochron.replay"
        )
    return given


class _ReplayEnding:
    """The end of a replayed program: what it came to is compared, told, and made the exit status."""

    def __init__(
        self,
        replaying: Replaying,
        capture: Capture,
        report: ReportReplay,
        told: str | None,
        *,
        strict: bool = False,
    ) -> None:
        self._replaying = replaying
        self._strict = strict
        self._told = told
        """The file into which the process that started this one is told."""
        if told is not None:
            open(told, "wb").close()  # by which that process knows that the program began
        self._capture = capture
        self._report = report
        self._process = unpatched.getpid()
        self.writers: Writers | None = None
        """Who printed what, where the output is compared."""
        self.broke: str | None = None
        """How the program crashed, where no refusal ended it."""
        self._standstill: Standstill | None = None
        self._has_ended = True
        """Whether the program ends by itself, and not because it stands still."""

    def watch_standstill(self) -> None:
        """End the program where it stands still."""
        self._standstill = Standstill(self._replaying.director, self._stand_still)
        self._standstill.begin()

    def _stand_still(self) -> None:
        """End a program that waits for ever: it has no status of its own to be compared."""
        self._has_ended = False
        self.cut_short(1)

    def finish(self, status: int | None, uncaught: str | None = None, *, flushes: bool = True) -> int:
        """Compare and tell; return 0 where all was the same, else 1. None is the status of what exec replaced.

        `uncaught` is the type of the exception that ended the program, if one did; `flushes` tells whether what waits in
        standard output is written at that end.
        """
        with enough_frames():
            return self._finish(status, uncaught, flushes=flushes)

    def _finish(self, status: int | None, uncaught: str | None, *, flushes: bool) -> int:
        replaying = self._replaying
        if self._standstill is not None:
            self._standstill.over()
        self._capture.stop(flushes=flushes)
        if replaying.watching is not None:
            replaying.watching.end()
        replaying.finish()
        replaying.uncaught = uncaught
        replaying.broke = self.broke
        said = self._capture.said()
        self._capture.let_go()
        if self._has_ended:
            compare_ending(replaying, status, self._capture, said, uncaught, self.writers)
        replaying.excuse_refusals()
        summary = replaying.summary(status or 0)
        if self._told is not None:
            from autochron.session.subprocess_replay import write_report  # lazy: only for who asks

            write_report(self._told, summary, [each for each, _ in replaying.director.replayed()])
        self._report(summary, replaying)
        if self._strict and summary.not_compared:
            return 1
        return 0 if summary.same else 1

    def cut_short(self, status: int | None) -> None:
        """Do so before the process ends without clean-up, and end it with our own status."""
        if unpatched.getpid() != self._process:
            self._replaying.leave()
            return
        result = self.finish(status, flushes=False)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                pass
        unpatched.immediate_exit(result)


def compare_ending(
    replaying: Replaying,
    status: int | None,
    capture: Capture,
    said: Said,
    uncaught: str | None,
    writers: Writers | None,
) -> None:
    """Note where exit status or output are not as they were."""
    footer = replaying.record.footer
    if footer is None:
        return
    director = replaying.director
    # What a program says in the end follows from what was live in it; but that it breaks now is no fix.
    severity: Severity = "error" if replaying.plan.is_full else "consequence"
    breaks = uncaught is not None and not footer.status
    failed: Severity = "error" if replaying.plan.is_full or breaks else "warning"
    by = f"; it broke on an uncaught {uncaught}" if uncaught else ""
    if footer.status is not None and footer.status != status:
        director.note(
            "status",
            "exit status",
            f"the program ended with status {status}; when it was recorded, with {footer.status}{by}",
            severity=failed,
            recorded=str(footer.status),
            replayed=str(status),
        )
    from autochron.program.replayed_output import compare_said  # lazy: with the end of a program

    compare_said(replaying, footer, capture, said, severity, writers)


def enter_folder(rules: Rules, command: Command) -> None:
    """Go to the folder that a program was recorded in."""
    folder = (
        command.folder
        if os.path.isabs(command.folder)
        else os.path.join(rules.root or os.getcwd(), command.folder)
    )
    if command.mode != "block" and os.path.isdir(folder):
        os.chdir(folder)
