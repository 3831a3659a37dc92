"""Record or replay a whole program: what `autochron run` and `autochron replay` do."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec import structs

from autochron import _originals, _seed
from autochron.config import default_store, find_rule_file
from autochron.envelope import bodies
from autochron.envelope.redaction import Redactor
from autochron.errors import RuleError, UsageError
from autochron.model import Command, ReplaySummary, Rules, RunSummary, Severity
from autochron.replaying.plan import plan_for, read_plan
from autochron.rules import load_rules
from autochron.session import exits, facts, streams
from autochron.session.activation import Activation, activate
from autochron.session.block import refuse_unwoven
from autochron.session.coverage import refuse_uncovered
from autochron.session.program import Program, end_process, end_with, say_exit
from autochron.session.progress import shown_on
from autochron.session.recording import Recording
from autochron.session.replaying import Replaying
from autochron.session.surroundings import set_environment
from autochron.session.swapping import swaps_for, with_swaps
from autochron.store import open_store

if TYPE_CHECKING:
    from autochron.ports import Record
    from autochron.replaying.plan import Selector

REPORT = "AUTOCHRON_REPLAY_REPORT"
"""Names the file into which a replay that another process has started writes what became of it."""

PLAN = "AUTOCHRON_REPLAY_PLAN"
"""Names the file with the plan of such a replay."""


class Options:
    """What both commands take.

    Attributes:
        rules: a rule file, or None to look for one.
        store: a store, or None for the default one.
        children: whether the processes that the program starts take part, where the rules don't say no.
        quiet: whether progress is not shown.
        watch: whether calls are looked for that escape the record.
    """

    def __init__(
        self,
        rules: str | None,
        store: str | None,
        *,
        children: bool = True,
        quiet: bool = False,
        watch: bool = True,
    ) -> None:
        self.rules = rules
        self.store = store
        self.children = children
        self.quiet = quiet
        self.watch = watch

    def load_rules(self, beside: str | None) -> Rules:
        """Read the rules: the given ones, or those found upward from the program."""
        file = self.rules if self.rules is not None else find_rule_file(beside)
        rules = load_rules(file, root=None if file else os.getcwd())
        return rules if self.children else structs.replace(rules, children=False)


class Wanted(NamedTuple):
    """What a replay is to do otherwise than serve everything; see `autochron.replay`."""

    live: tuple[Selector, ...] = ()
    swap: tuple[tuple[str, str], ...] = ()
    deny: tuple[str, ...] = ()
    inputs: str | None = None


NOTHING_LIVE = Wanted()

ReportReplay: TypeAlias = Callable[[ReplaySummary, Replaying], None]


class Capture:
    """What a program reads and prints, while it is recorded or replayed."""

    def __init__(self) -> None:
        self.stdout = streams.Kept()
        self.stdin = streams.Kept()
        self._undo: list[Callable[[], None]] = []

    def start(self, served: bytes | None = None, printed: Callable[[str], None] | None = None) -> None:
        """Listen to the streams; with `served`, that is what the program reads. `printed` is told of each print."""
        if printed is not None:
            self._undo.append(streams.listen_to_prints(printed))
        self._undo.append(streams.listen_to_output(self.stdout))
        if served is None:
            self._undo.append(streams.listen_to_stdin(self.stdin))
            self._undo.append(streams.listen_to_input(self.stdin, self.stdout))
        else:
            self._undo.append(streams.serve_stdin(served))

    def stop(self) -> None:
        """Have noted what waits. What can't be written stays, for Python to say so when it ends."""
        try:
            sys.stdout.flush()
        except Exception:  # noqa: S110 - see above
            pass
        while self._undo:
            self._undo.pop()()


def weave_into(activation: Activation, program: Program) -> Callable[..., object]:
    """Give what weaves the program's own code as it is loaded."""

    def weave(name: str, file: str | None, code: object) -> object:
        activation.planner.aliases[name] = program.aliases
        return activation.hook.weave(name, file, code)  # type: ignore[arg-type]

    return weave


def run_recorded(
    options: Options,
    command: Command,
    name: str | None,
    report: Callable[[RunSummary], int | None],
    *,
    only_failed: bool = False,
) -> int:
    """Record a program; gives its exit status. `report` is told at the very end, after threads and exit functions.

    It may give a status in the place of a program's 0. With `only_failed` the trace is dropped again where the program ended
    with status 0.

    Raises:
        UsageError, RuleError, StoreError: before the program starts.
    """
    program = Program(command)
    rules = options.load_rules(program.own)
    url = options.store or default_store(rules.file)
    shown = _place(url)  # before the program goes to another folder
    store = open_store(url)
    redactor = Redactor()
    arguments = redactor.mask_arguments(command.arguments)
    masked = [
        str(at)
        for at, pair in enumerate(zip(command.arguments, arguments, strict=True), 1)
        if pair[0] != pair[1]
    ]
    command = Command(command.mode, command.target, arguments, facts.folder_of(rules))
    activation = activate(rules, program.own, aliases={"__main__": program.aliases})
    activation.hook.progress = None if options.quiet else shown_on(sys.stderr)
    header = facts.header(rules, command, name, children=rules.children and store.url is not None)
    recording = Recording(activation, store, header, redactor)
    recording.is_guarded = True
    if masked:
        recording.problem(
            f"masked in the command line, so a replay gives the program the mask: argument {', '.join(masked)}; give them "
            "again with `replay TRACE -- PROGRAM ARG …` (masked)"
        )
    capture = Capture()
    state = _Ending(recording, capture, shown, report, only_failed=only_failed)
    if only_failed:
        recording.keep_failed()
    recording.before_exec = lambda: state.flush(None)
    atexit.register(state.finish)
    undo = exits.guard(state.flush)
    state.undo = undo
    capture.start(printed=recording.printed)
    recording.begin()
    if options.watch:
        recording.watch()
    try:
        status = program.run(weave_into(activation, program))  # type: ignore[arg-type]
    except RuleError:
        state.report = _no_report
        raise
    state.status = status
    if program.exit is not None:
        raise program.exit  # Python prints what it was given, and exits
    return status


def _place(store: str) -> str:
    """Say where a store is, as seen from here."""
    path = store.removeprefix("sqlite:///")
    if ":" in path:
        return path
    near = os.path.relpath(path)
    return os.path.abspath(path) if near.startswith(os.pardir) else near


def _no_report(_summary: RunSummary) -> None:
    """Say nothing: what is wrong with the rules is said already."""


class _Ending:
    """The end of a recorded program, which comes after its threads and its exit functions."""

    def __init__(
        self,
        recording: Recording,
        capture: Capture,
        shown: str,
        report: Callable[[RunSummary], int | None],
        *,
        only_failed: bool,
    ) -> None:
        self.recording = recording
        self.capture = capture
        self.report = report
        self.status = 0
        self._shown = shown
        self._only_failed = only_failed
        self.undo: Callable[[], None] | None = None
        self._process = _originals.getpid()
        self._done = False

    def flush(self, status: int | None) -> None:
        """Write all that waits, before the process ends without clean-up."""
        if _originals.getpid() != self._process:
            self._flush_fork(status)
        if self._done or _originals.getpid() != self._process:
            return
        self.recording.flush(status, self.capture.stdout.data, self.capture.stdin.data)
        if status == 0 and self._only_failed:
            self.recording.drop()

    def _flush_fork(self, status: int | None) -> None:
        if self.recording.is_child:
            self.recording.flush(status)

    def finish(self) -> None:
        """Write the last word, and report."""
        if _originals.getpid() != self._process:
            self._flush_fork(None)
        if self._done or _originals.getpid() != self._process:
            return
        self._done = True
        if self.undo is not None:
            self.undo()
        self.capture.stop()
        if self.recording.watching is not None:
            self.recording.watching.end()
        self.recording.finish(self.status, None, self.capture.stdout.data, self.capture.stdin.data)
        summary = self.recording.summary(self._shown)
        if self.status == 0 and self._only_failed:
            summary = structs.replace(
                summary, kept=not self.recording.drop(), problems=tuple(self.recording.problems)
            )
        status = self.report(summary)
        end_process(self.status)
        if status and not self.status:
            end_with(status)


def load_record(options: Options, reference: str) -> tuple[Record, Rules]:
    """Open a trace, and read the rules that go with it."""
    file = reference.endswith(".jsonl")
    beside = find_rule_file(os.path.abspath(reference)) if file and options.rules is None else None
    rules = load_rules(beside) if beside else options.load_rules(os.getcwd())
    if file:
        return open_store(reference).record("last"), rules
    return open_store(options.store or default_store(rules.file)).record(reference), rules


def run_replayed(
    options: Options,
    reference: str,
    command: Command | None,
    report: ReportReplay,
    *,
    wanted: Wanted = NOTHING_LIVE,
    allow_unwoven: bool,
) -> int:
    """Replay a recorded program with nothing live but what is wanted so; gives 0 where all was the same, else 1.

    Raises:
        UsageError, RuleError, StoreError, TraceFormatError, UnwovenToolError: before the program starts.
    """
    record, rules = load_record(options, reference)
    if record.header.hash_seed not in {"", _seed.current()}:
        _seed.start_again(record.header.hash_seed)
    settled = os.environ.pop(PLAN, None)
    if settled is not None:
        plan = read_plan(settled)
    else:
        plan = plan_for(record, wanted.live, inputs=wanted.inputs, deny=wanted.deny)
    if not allow_unwoven:
        refuse_unwoven(record)
        refuse_uncovered(record, rules)
    elif not plan.is_full:
        refuse_uncovered(record, rules, live=plan)
    told = os.environ.pop(REPORT, None)
    swaps = swaps_for(wanted.swap, rules)
    rules = with_swaps(rules, swaps)
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
    _enter_folder(rules, record.header.command)
    program = Program(given)
    redactor = Redactor()
    set_environment(record, plan)
    activation = activate(rules, program.own, aliases={"__main__": program.aliases})
    replaying = Replaying(activation, record, redactor, plan, swaps=swaps)
    capture = Capture()
    footer = record.footer
    served = b"" if footer is None else bodies.restore_body(footer.stdin)
    ending = _ReplayEnding(replaying, capture, report, told)
    undo = exits.guard(ending.cut_short)
    replaying.before_exec = lambda: ending.cut_short(None)
    capture.start(served)
    replaying.begin()
    if options.watch:
        replaying.watch()
    process = _originals.getpid()
    status = program.run(weave_into(activation, program))  # type: ignore[arg-type]
    if _originals.getpid() != process:  # a forked child: it ends as it would, and the report is its parent's
        atexit.register(replaying.leave)
        if program.exit is not None:
            raise program.exit
        end_process(status)
        return status
    say_exit(program.exit)
    # What Python does at exit is done here, because the program's threads and exit functions are part of what is compared.
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
    atexit._run_exitfuncs()  # noqa: SLF001
    undo()
    return ending.finish(status, program.uncaught)


class _ReplayEnding:
    """The end of a replayed program: what it came to is compared, told, and made the exit status."""

    def __init__(
        self,
        replaying: Replaying,
        capture: Capture,
        report: ReportReplay,
        told: str | None,
    ) -> None:
        self._replaying = replaying
        self._told = told
        """The file into which the process that started this one is told."""
        self._capture = capture
        self._report = report
        self._process = _originals.getpid()

    def finish(self, status: int | None, uncaught: str | None = None) -> int:
        """Compare and tell; gives 0 where all was the same, else 1. None is the status of what exec replaced.

        `uncaught` is the type of the exception that ended the program, if one did.
        """
        replaying = self._replaying
        self._capture.stop()
        if replaying.watching is not None:
            replaying.watching.end()
        replaying.finish()
        compare_ending(replaying, status, self._capture.stdout.data, uncaught)
        summary = replaying.summary(status or 0)
        if self._told is not None:
            from autochron.session.rerunning import write_report  # lazy: only for who asks

            write_report(self._told, summary, [each for each, _ in replaying.director.replayed()])
        self._report(summary, replaying)
        return 0 if summary.same else 1

    def cut_short(self, status: int | None) -> None:
        """Do so before the process ends without clean-up, and end it with our own status."""
        if _originals.getpid() != self._process:
            self._replaying.leave()
            return
        result = self.finish(status)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                pass
        _originals.immediate_exit(result)


def compare_ending(
    replaying: Replaying, status: int | None, stdout: bytes, uncaught: str | None = None
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
    masked = replaying.redactor.mask_outcome(bodies.store_body(stdout, "text/plain"))[0]
    if masked != footer.stdout:
        line, recorded, replayed = _first_line(
            bodies.restore_body(footer.stdout), bodies.restore_body(masked)
        )
        message = f"line {line} of the output was {recorded!r}, now it is {replayed!r}"
        director.note(
            "output", "standard output", message, severity=severity, recorded=recorded, replayed=replayed
        )


def _first_line(recorded: bytes, replayed: bytes) -> tuple[int, str, str]:
    before = recorded.decode("utf-8", "replace").splitlines()
    now = replayed.decode("utf-8", "replace").splitlines()
    for index in range(max(len(before), len(now))):
        one = before[index] if index < len(before) else "(nothing)"
        other = now[index] if index < len(now) else "(nothing)"
        if one != other:
            return index + 1, one, other
    return len(before), "(as it is)", "(another line ending)"


def _enter_folder(rules: Rules, command: Command) -> None:
    folder = (
        command.folder
        if os.path.isabs(command.folder)
        else os.path.join(rules.root or os.getcwd(), command.folder)
    )
    if command.mode != "block" and os.path.isdir(folder):
        os.chdir(folder)
