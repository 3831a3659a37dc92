"""Record a whole program: what `autochron run` does."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable, Sequence

from msgspec import structs

from autochron import _originals
from autochron._originals import os
from autochron._runtime.recursion import enough_frames
from autochron.config import default_store, find_rule_file
from autochron.envelope.redaction import Redactor
from autochron.errors import AutochronError, RuleError
from autochron.model import Command, Footer, Rules, RunSummary
from autochron.rules.loading import load_rules
from autochron.session import exits, facts, streams
from autochron.session.activation import Activation, activate, deactivate
from autochron.session.descriptors import (
    INPUT,
    OUTPUT,
    InputDescriptor,
    OutputDescriptor,
    flush_c,
    note_reads,
    note_writes,
    paths_of,
    serve_input,
    unprinted,
)
from autochron.session.ending import Said
from autochron.session.program import Program, end_process, end_with
from autochron.session.progress import shown_on
from autochron.session.recording import Recording
from autochron.store import open_store, process_of
from autochron.store.detached import Work


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


class Capture:
    """What a program reads and prints, while it is recorded or replayed."""

    def __init__(self) -> None:
        self.output = OutputDescriptor()
        self.stdout = streams.Kept()
        """What Python's streams and `os.write` wrote, in the order of the calls."""
        self._printed = streams.Kept()
        """What Python's streams wrote."""
        self._input = InputDescriptor()
        self._stdin = streams.Kept()
        self._stderr: streams.Kept | None = None
        self._undo: list[Callable[[], None]] = []

    def hold(self, *beside: Work) -> None:
        """Begin with what needs a process of its own, before any thread is started; and start others beside it."""
        self.output.start(*beside)

    def start(self, printed: Callable[..., None] | None = None, *, errors: bool = False) -> None:
        """Listen to the streams. `printed` is told of each print, and with `is_written` of what `os.write` writes.

        With `errors` also to standard error.
        """
        if errors:
            self._stderr = streams.Kept()
            self._undo.append(streams.listen_to_output(self._stderr, errors=True))
        if printed is not None:
            self._undo.append(streams.listen_to_prints(printed))
        self._undo.append(streams.listen_to_output(self._note))

        def written(data: bytes) -> None:
            self.stdout(data)
            if printed is not None:
                printed(data.decode("latin-1"), is_written=True)  # byte by byte: it may be no text

        self._undo.append(note_writes(written))

    def listen(self, taken: streams.Taken) -> None:
        """Note what the program reads, and tell how much it takes."""
        self._input.start()
        self._undo.append(streams.listen_to_stdin(self._stdin, taken))
        self._undo.append(streams.listen_to_input(self._stdin, self.stdout, taken))

        def read(data: bytes) -> None:
            self._stdin(data)
            taken("descriptor", len(data))

        self._undo.append(note_reads(read))

    def serve_recorded(self, footer: Footer | None) -> None:
        """Let the program read what the recorded one read."""
        from autochron.envelope import bodies  # lazy: on a replay

        data, kind = (b"", "") if footer is None else (bodies.restore_body(footer.stdin), footer.stdin_kind)
        self._undo.append(serve_input(data, kind) or streams.serve_stdin(data))

    def _note(self, data: bytes) -> None:
        self.stdout(data)
        self._printed(data)

    @property
    def printed(self) -> bytes:
        """What Python's streams wrote."""
        return self._printed.data

    @property
    def unseen(self) -> dict[str | int, str]:
        """From the paths of streams that are not known at their descriptors to what they are."""
        found: dict[str | int, str] = {}
        if not self.output.kind:
            found |= dict.fromkeys(paths_of(OUTPUT), "standard output") | {"/dev/tty": "the terminal"}
        if self._input.kind != "file":
            found |= dict.fromkeys(paths_of(INPUT), "standard input")
        else:  # by its path it is another file, from its start; by its number it is the same
            found |= dict.fromkeys(paths_of(INPUT)[1:], "standard input")
        return found

    def said(self, during: Sequence[tuple[int, int, int]] = ()) -> Said:
        """Return what the program wrote and read so far; `during` is as in `unprinted`."""
        kind = self._input.kind
        stdin = self._input.read(self._stdin.data)
        whole = self.output.said()
        stderr = None if self._stderr is None else self._stderr.data_and_rest
        cut = self._stdin.is_cut
        found = Said(self.stdout.data_and_rest, stdin, stdin_kind=kind, is_stdin_cut=cut, stderr=stderr)
        if whole is None:
            return found
        foreign = unprinted(whole, self.printed, during)
        return structs.replace(found, stdout=whole, is_whole=True, unprinted=foreign)

    def stop(self, *, flushes: bool = True) -> None:
        """Have noted what waits, unless the process ends without; what can't be written stays, for Python to say so."""
        try:
            if flushes:
                sys.stdout.flush()
                if self._stderr is not None:
                    sys.stderr.flush()
                if "_ctypes" in sys.modules:
                    flush_c()
        except Exception:  # noqa: S110 - see above
            pass
        while self._undo:
            self._undo.pop()()

    def let_go(self) -> None:
        """Leave the descriptors as they were."""
        self.output.stop()


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
    impacts = os.path.join(os.path.dirname(os.path.abspath(url.removeprefix("sqlite:///"))), "impact.json")
    store = open_store(url, look=False)
    capture = Capture()
    # Before anything is woven: what these processes do then is nobody's business, and the program's goes on meanwhile.
    capture.hold(*process_of(store))
    redactor = Redactor.of(rules)
    arguments = redactor.mask_arguments(command.arguments)
    masked = [
        str(at)
        for at, pair in enumerate(zip(command.arguments, arguments, strict=True), 1)
        if pair[0] != pair[1]
    ]
    command = Command(command.mode, command.target, arguments, facts.folder_of(rules))
    try:
        activation = activate(rules, program.own, aliases={"__main__": program.aliases})
        activation.hook.progress = None if options.quiet else shown_on(sys.stderr)
        header = facts.header(rules, command, name, children=rules.children and store.url is not None)
        recording = Recording(activation, store, header, redactor)
    except AutochronError:
        capture.let_go()
        deactivate()
        raise
    recording.is_guarded = True
    if masked:
        recording.problem(
            f"masked in the command line, so a replay gives the program the mask: argument {', '.join(masked)}; give them "
            "again with `replay TRACE -- PROGRAM ARG …` (masked)"
        )
    state = _Ending(recording, capture, shown, report, only_failed=only_failed)
    state.impacts = impacts
    if only_failed:
        recording.keep_failed()
    recording.before_exec = lambda: state.flush(None)
    atexit.register(state.finish)
    undo = exits.guard(state.flush)
    state.undo = undo
    capture.start(recording.printed, errors=rules.stderr)
    capture.listen(recording.taken)
    recording.hear()
    recording.unseen = capture.unseen
    if capture.output.kind:
        recording.recorder.position = capture.output.position
    recording.begin()
    if options.watch:
        recording.watch()
    try:
        status = program.run(weave_into(activation, program))  # type: ignore[arg-type]
    except RuleError:
        state.report = _no_report
        raise
    state.status = status
    if (left := program.let_go()) is not None:
        raise left  # Python prints what it was given, and exits
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
        self.impacts = ""
        """The file in which it is kept which calls matter."""
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
        self.recording.flush(status, self.capture.said(self.recording.recorder.said_during))
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
        with enough_frames():
            status = self._finish()
        end_process(self.status)
        if status and not self.status:
            end_with(status)

    def _finish(self) -> int | None:
        if self.undo is not None:
            self.undo()
        self.capture.stop()
        if self.recording.watching is not None:
            self.recording.watching.end()
        said = self.capture.said(self.recording.recorder.said_during)
        self.capture.let_go()
        refusal = self.recording.activation.cache_refusal
        if refusal:
            self.recording.problem(refusal)
        self.recording.finish(self.status, None, said)
        summary = self.recording.summary(self._shown)
        if self.status == 0 and self._only_failed:
            summary = structs.replace(
                summary, kept=not self.recording.drop(), problems=tuple(self.recording.problems)
            )
        if summary.footer.findings and os.path.isfile(self.impacts):
            from autochron.report.impact import with_impact  # lazy: most projects have none

            findings = with_impact(summary.footer.findings, os.path.dirname(self.impacts))
            summary = structs.replace(summary, footer=structs.replace(summary.footer, findings=findings))
        return self.report(summary)
