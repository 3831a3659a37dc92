"""Replay a whole program, for `autochron replay`. Apart from `program.run`, because recording needs nothing of it."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from autochron._runtime import exit_hooks, hashseed
from autochron._runtime.finalization import keep_modules_at_exit
from autochron._runtime.unpatched import os
from autochron.ambient.synthesis import variation_of
from autochron.config import default_store, find_rule_file
from autochron.diagnostics.woven_tools import refuse_uncovered
from autochron.effects import redirect
from autochron.effects.snapshots import SnapshotFolder
from autochron.errors import UsageError
from autochron.finding.rules import with_found
from autochron.instrument.activation import Activation, activate
from autochron.instrument.swap import swaps_for, with_swaps
from autochron.isolation.environment import set_environment
from autochron.isolation.live_observation import StateScope
from autochron.model import Command, Rules
from autochron.program.main_module import Program, end_process, say_exit
from autochron.program.run import Options, weave_into, with_own_code
from autochron.program.running_replay import ReportReplay, RunningReplay
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
    from autochron.ports import Record
    from autochron.program.replayed_output import Writers
    from autochron.replaying.plan import ReplayPlan, Selector


class ReplayRequest(NamedTuple):
    """How a replay differs from one that serves everything; see `autochron.replay`.

    Attributes:
        live: what runs for real.
        swap: functions to replace, each with its replacement.
        deny: what is denied to live crossings.
        inputs: how severe a changed input of a stubbed crossing is.
        allow_effects: whether programs, connections and signals outside every boundary are allowed.
        strict: whether a replay fails if something could not be compared.
    """

    live: tuple[Selector, ...] = ()
    swap: tuple[tuple[str, str], ...] = ()
    deny: tuple[str, ...] = ()
    inputs: str | None = None
    allow_effects: bool = False
    strict: bool = False


NOTHING_LIVE = ReplayRequest()


def load_record(options: Options, reference: str) -> tuple[Record, Rules]:
    """Open a trace, and read its rules. Tools that were found in the recorded run are added to them.

    Args:
        options: the rule file and the store.
        reference: a name, an id or its prefix, `last`, or the path of a trace file.
    """
    is_file = reference.endswith(".jsonl")
    rule_file = find_rule_file(os.path.abspath(reference)) if is_file and options.rules is None else None
    rules = load_rules(rule_file) if rule_file else options.load_rules(os.getcwd())
    if is_file:
        record = open_store(reference).record("last")
    else:
        record = open_store(options.store or default_store(rules.file)).record(reference)
    return record, with_found(rules, record.footer)


def places_of(options: Options, reference: str, rules: Rules) -> tuple[SnapshotFolder, ...]:
    """Return the folders that may have the contents of a trace's snapshots: beside its file, and beside the store."""
    folders = os.environ.pop(PLACES, None)
    if folders is not None:
        return tuple(SnapshotFolder(folder) for folder in folders.split(os.pathsep) if folder)
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
    before_run: Callable[[RunningReplay], None] | None = None,
) -> int:
    """Replay a recorded program.

    Args:
        options: the rule file, the store, and what is watched.
        reference: a name, an id or its prefix, `last`, or the path of a trace file.
        command: the program to run; None for the recorded one.
        report: shows the summary.
        wanted: what is live, and other differences from a full replay.
        allow_unwoven: whether to replay although the model asked for a tool that no rule wove.
        words: the command line, for messages.
        trusted: digest of a recorded command that may be run.
        before_run: called when everything is ready, right before the program runs.

    Returns:
        0 if replay and record agree, else 1.

    Raises:
        UsageError, RuleError, StoreError, TraceFormatError, UnwovenToolError, UntrustedTraceError: before the program
            starts.
    """
    record, rules = load_record(options, reference)
    seed = seed_for(record.header.hash_seed)
    if seed not in {"", hashseed.current()}:
        hashseed.start_again(seed)
    if command is None:
        refuse_foreign(record.header, reference, rules, words, trusted)
    plan = _plan_of(record, wanted)
    _refuse_unwoven_tools(record, rules, plan, allow_unwoven=allow_unwoven)
    places = places_of(options, reference, rules)
    program, running = _set_up(record, rules, plan, command, wanted, places, report)
    replaying = running.replaying
    undo = exit_hooks.guard(running.cut_short)
    replaying.before_exec = lambda: running.cut_short(None)
    running.capture.serve_recorded(record.footer)
    writers = running.writers = _writers_of(replaying)
    running.capture.start(None if writers is None else writers.note, errors=rules.stderr)
    _begin(replaying, running, watches=options.watch)
    if before_run is not None:
        before_run(running)
    status = program.run(weave_into(replaying.activation, program))  # type: ignore[arg-type]
    if running.is_forked:
        return _end_forked(replaying, program, status)
    _exit_as_python(program)
    undo()
    if running.report_file is not None:
        running.broke = _crash_of(program, replaying.activation)
        running.stopped = _is_stopped(program)
    program.let_go()
    return running.finish(status, program.uncaught)


def prepare_replay(options: Options, reference: str, wanted: ReplayRequest) -> None:
    """Weave in this process what `run_replayed` would weave for the recorded program, and run nothing.

    A later `run_replayed` with the same arguments, in this process or in a fork of it, finds it in place. The libraries
    that are imported meanwhile are woven, too.

    Args:
        options: the rule file and the store.
        reference: a name, an id or its prefix, `last`, or the path of a trace file.
        wanted: what is swapped.
    """
    record, rules = load_record(options, reference)
    _weave(record, with_swaps(rules, swaps_for(wanted.swap, rules)), None)
    redirect.prepare()


def _weave(record: Record, rules: Rules, command: Command | None) -> tuple[Program, Activation]:
    """Enter the recorded folder and weave; return the program, and the weaving."""
    command_to_run = _command_of(record, command)
    enter_folder(rules, record.header.command)
    program = Program(command_to_run)
    rules = with_own_code(rules, command_to_run)
    return program, activate(rules, program.own, aliases={"__main__": program.aliases})


def _set_up(
    record: Record,
    rules: Rules,
    plan: ReplayPlan,
    command: Command | None,
    wanted: ReplayRequest,
    places: tuple[SnapshotFolder, ...],
    report: ReportReplay,
) -> tuple[Program, RunningReplay]:
    """Enter the recorded folder and weave; return the program, and its replay.

    Args:
        record: the record that is served.
        rules: its rules.
        plan: what is live, and what is denied to it.
        command: the program to run; None for the recorded one.
        wanted: differences from a full replay.
        places: folders with the contents of the trace's snapshots.
        report: shows the summary.
    """
    report_file = os.environ.pop(REPORT, None)
    scope = StateScope(
        places,
        everywhere=True,
        observes=report_file is not None,
        folder=os.environ.pop(SCRATCH, None),
        allows_effects=wanted.allow_effects,
    )
    swaps = swaps_for(wanted.swap, rules)
    set_environment(record, plan)
    program, activation = _weave(record, with_swaps(rules, swaps), command)
    capture = Capture()
    capture.hold()
    replaying = Replaying(activation, record, Redactor.of(rules), plan, swaps=swaps, scope=scope)
    return program, RunningReplay(replaying, capture, report, report_file, strict=wanted.strict)


def _begin(replaying: Replaying, running: RunningReplay, *, watches: bool) -> None:
    """Begin to serve; `watches` says whether to look for calls that escape the record."""
    replaying.begin()
    if watches:
        replaying.watch()
    running.watch_standstill()


def _refuse_unwoven_tools(record: Record, rules: Rules, plan: ReplayPlan, *, allow_unwoven: bool) -> None:
    """Refuse a replay that would run a tool for real because no rule weaves it.

    Args:
        record: the record.
        rules: the rules in force.
        plan: what is live.
        allow_unwoven: whether that is allowed. Then only a replay is refused in which a live tool is not woven any
            more.

    Raises:
        UnwovenToolError: there is such a tool.
    """
    if not allow_unwoven:
        refuse_unwoven(record, rules)
        refuse_uncovered(record, rules)
    elif not plan.is_full:
        refuse_uncovered(record, rules, live=plan)


def _end_forked(replaying: Replaying, program: Program, status: int) -> int:
    """End a process that the program has forked as it would end. Its parent writes the report."""
    atexit.register(replaying.leave)
    if (system_exit := program.let_go()) is not None:
        raise system_exit
    end_process(status)
    return status


def _exit_as_python(program: Program) -> None:
    """Do what Python does at exit: threads and exit functions belong to what is compared."""
    say_exit(program.exit)
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
    atexit._run_exitfuncs()  # noqa: SLF001
    keep_modules_at_exit()  # the report still imports modules


def _plan_of(record: Record, wanted: ReplayRequest) -> ReplayPlan:
    """Return the plan: that of the process which has started this replay, or one of the request."""
    path = os.environ.pop(PLAN, None)
    if path is not None:
        return read_plan(path)
    return plan_for(record, wanted.live, inputs=wanted.inputs, deny=wanted.deny)


def _writers_of(replaying: Replaying) -> Writers | None:
    """Return what notes who prints what; None if something is live, since the output is a consequence then."""
    if not replaying.plan.is_full:
        return None
    from autochron.program.replayed_output import Writers  # lazy: only a full replay needs it

    return Writers(replaying.activation.project)


def seed_for(recorded: str) -> str:
    """Return the seed of hashes: the recorded one, or in a variation of the replay another one."""
    variation = variation_of(os.environ)
    return str(int(recorded or "1") % 1_000_000 + 7_919 * variation) if variation else recorded


def _crash_of(program: Program, activation: Activation) -> str | None:
    """Describe how a program crashed; None if it ended well, or by a refusal."""
    from autochron.reproduction.crashes import describe, is_crash  # lazy: only tests need it

    project, error = activation.project, program.error
    is_broken = error is not None and is_crash(error, project.owns)
    return describe(error, project.name, project.owns) if error is not None and is_broken else None


def _is_stopped(program: Program) -> bool:
    """Return whether an error of autochron ended a program, so that it is not known how it would end."""
    from autochron.reproduction.crashes import is_of_autochron  # lazy: only tests need it

    return program.error is not None and is_of_autochron(program.error)


def _command_of(record: Record, command: Command | None) -> Command:
    """Return the program to run: the one that was passed, or the recorded one.

    Raises:
        UsageError: the trace names no program.
    """
    chosen = command if command is not None else record.header.command
    if chosen.mode == "block":
        origin = (
            f"is of a call of {chosen.target}"
            if chosen.target
            else "was recorded by autochron.record in a program"
        )
        raise UsageError(
            f"trace {record.header.id} {origin}, and names no program; "
            "give the program after --, or replay it in Python with autochron.replay"
        )
    return chosen


def enter_folder(rules: Rules, command: Command) -> None:
    """Change to the folder in which a program was recorded, if it exists."""
    folder = (
        command.folder
        if os.path.isabs(command.folder)
        else os.path.join(rules.root or os.getcwd(), command.folder)
    )
    if command.mode != "block" and os.path.isdir(folder):
        os.chdir(folder)
