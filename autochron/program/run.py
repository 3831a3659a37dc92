"""Record a whole program: what `autochron run` does."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable

from msgspec import structs

from autochron._runtime import exit_hooks, unpatched
from autochron._runtime.progress import shown_on
from autochron._runtime.recursion import enough_frames
from autochron._runtime.unpatched import os
from autochron.config import default_store, find_rule_file
from autochron.errors import AutochronError, RuleError
from autochron.instrument.activation import Activation, activate, deactivate
from autochron.model import Command, Rules, RunSummary
from autochron.program.main_module import Program, end_process, end_with
from autochron.redaction.redactor import Redactor
from autochron.rules.loading import load_rules
from autochron.session import header as facts
from autochron.session.recording import Recording
from autochron.stdio.capture import Capture
from autochron.store import open_store, process_of


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


def weave_into(activation: Activation, program: Program) -> Callable[..., object]:
    """Return what weaves the program's own code as it is loaded."""

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
    undo = exit_hooks.guard(state.flush)
    state.undo = undo
    capture.start(recording.printed, errors=rules.stderr)
    capture.listen(recording.taken)
    recording.hear()
    recording.effects.unseen = capture.unseen
    if capture.output.kind:
        recording.recorder.stdio.position = capture.output.position
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
        self._process = unpatched.getpid()
        self._done = False

    def flush(self, status: int | None) -> None:
        """Write all that waits, before the process ends without clean-up."""
        if unpatched.getpid() != self._process:
            self._flush_fork(status)
        if self._done or unpatched.getpid() != self._process:
            return
        self.recording.flush(status, self.capture.said(self.recording.recorder.stdio.said_during))
        if status == 0 and self._only_failed:
            self.recording.drop()

    def _flush_fork(self, status: int | None) -> None:
        if self.recording.is_child:
            self.recording.flush(status)

    def finish(self) -> None:
        """Write the last word, and report."""
        if unpatched.getpid() != self._process:
            self._flush_fork(None)
        if self._done or unpatched.getpid() != self._process:
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
        said = self.capture.said(self.recording.recorder.stdio.said_during)
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
