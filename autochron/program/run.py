"""Record a whole program, for `autochron run`."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable, Sequence

from msgspec import structs

from autochron._runtime import exit_hooks, unpatched
from autochron._runtime.progress import progress_line
from autochron._runtime.recursion import enough_frames
from autochron._runtime.unpatched import os
from autochron.config import default_store, find_rule_file
from autochron.errors import AutochronError, RuleError
from autochron.instrument.activation import Activation, activate, deactivate
from autochron.model import Command, Define, Rules, RunSummary
from autochron.program.main_module import Program, end_process, end_with
from autochron.redaction.redactor import Redactor
from autochron.rules.loading import load_rules
from autochron.session import header as facts
from autochron.session.recording import Recording
from autochron.stdio.capture import Capture
from autochron.store import open_store, process_of


class Options:
    """The options that `run` and `replay` share.

    Attributes:
        rules: path of a rule file, or None to look for one.
        store: URL or path of a store, or None for the default one.
        children: whether the processes that the program starts take part, unless the rules say no.
        quiet: whether to hide progress.
        watch: whether to look for calls that escape the record.
        probes: whether to look at the values of the project's own expressions as well.
    """

    def __init__(
        self,
        rules: str | None,
        store: str | None,
        *,
        children: bool = True,
        quiet: bool = False,
        watch: bool = True,
        probes: bool = False,
    ) -> None:
        self.rules = rules
        self.store = store
        self.children = children
        self.quiet = quiet
        self.watch = watch
        self.probes = probes

    def load_rules(self, beside: str | None) -> Rules:
        """Read the rules of the options' file, or of the nearest file in the folder of `beside` or above it."""
        file = self.rules if self.rules is not None else find_rule_file(beside)
        rules = load_rules(file, root=None if file else os.getcwd())
        return rules if self.children else structs.replace(rules, children=False)


def with_own_code(rules: Rules, command: Command) -> Rules:
    """Return rules whose project includes the package that `-m` or a console script runs."""
    if command.mode == "script":
        return rules
    from autochron.program.own_package import with_own_package  # lazy: scripts don't need it

    return with_own_package(rules, command)


def weave_into(activation: Activation, program: Program) -> Callable[..., object]:
    """Return a function that weaves the program's own code as it is loaded."""

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
    """Record a program.

    Args:
        options: the rule file, the store, and what is watched.
        command: the program to run.
        name: name of the trace.
        report: called with the summary at the very end, after threads and exit functions. It may return a status that
            replaces a program's status 0.
        only_failed: whether to drop the trace if the program ends with status 0.

    Returns:
        The program's exit status.

    Raises:
        UsageError, RuleError, StoreError: before the program starts.
    """
    program = Program(command)
    ending = _set_up(options, program, name, report, only_failed=only_failed)
    recording = ending.recording
    recording.begin()
    if options.watch:
        recording.watch(probes=options.probes)
    try:
        status = program.run(weave_into(recording.activation, program))  # type: ignore[arg-type]
    except RuleError:
        ending.report = _no_report
        raise
    ending.status = status
    if (system_exit := program.let_go()) is not None:
        raise system_exit  # Python prints its code, and exits
    return status


def _set_up(
    options: Options,
    program: Program,
    name: str | None,
    report: Callable[[RunSummary], int | None],
    *,
    only_failed: bool,
) -> _Ending:
    """Open the store, weave, capture the standard streams, and guard every end of the process.

    Args:
        options: the rule file and the store.
        program: the program to record.
        name: name of the trace.
        report: see `run_recorded`.
        only_failed: whether to drop the trace if the program ends with status 0.

    Returns:
        What ends the recording.
    """
    rules = with_own_code(options.load_rules(program.own), program.command)
    url = options.store or default_store(rules.file)
    shown = _place(url)  # before the program changes the working folder
    impacts = os.path.join(os.path.dirname(os.path.abspath(url.removeprefix("sqlite:///"))), "impact.json")
    store = open_store(url, look=False)
    capture = Capture()
    # Before anything is woven, for these processes are no part of the program. They start while we go on.
    capture.hold(*process_of(store))
    redactor = Redactor.of(rules)
    arguments = redactor.mask_arguments(program.command.arguments)
    masked = _changed_places(program.command.arguments, arguments)
    command = Command(program.command.mode, program.command.target, arguments, facts.folder_of(rules))
    try:
        activation = activate(rules, program.own, aliases={"__main__": program.aliases})
        activation.hook.progress = None if options.quiet else progress_line(sys.stderr)
        header = facts.header(rules, command, name, children=rules.children and store.url is not None)
        recording = Recording(activation, store, header, redactor)
    except AutochronError:
        capture.let_go()
        deactivate()
        raise
    recording.is_guarded = True
    _note_masked(recording, masked)
    ending = _Ending(recording, capture, shown, report, impacts, only_failed=only_failed)
    if only_failed:
        recording.keep_failed()
    ending.guard()
    _connect(capture, recording, errors=rules.stderr)
    return ending


def _note_masked(recording: Recording, places: Sequence[str]) -> None:
    """Note a problem if arguments of the command line are masked."""
    if places:
        recording.problem(
            f"masked in the command line, so a replay gives the program the mask: argument {', '.join(places)}; give them "
            "again with `replay TRACE -- PROGRAM ARG …` (masked)"
        )


def _changed_places(words: Sequence[str], masked: Sequence[str]) -> list[str]:
    """Return the places of the words that masking has changed, counted from 1."""
    return [str(place) for place, pair in enumerate(zip(words, masked, strict=True), 1) if pair[0] != pair[1]]


def _connect(capture: Capture, recording: Recording, *, errors: bool) -> None:
    """Capture the standard streams, with `errors` also standard error, and have the recording note what passes."""
    capture.start(recording.printed, errors=errors)
    capture.listen(recording.taken)
    recording.hear()
    recording.effects.unseen = capture.unseen
    if capture.output.kind:
        recording.recorder.stdio.position = capture.output.position


def _place(store: str) -> str:
    """Return the path of a store as users read it: relative, if it is in the working folder."""
    path = store.removeprefix("sqlite:///")
    if ":" in path:
        return path
    near = os.path.relpath(path)
    return os.path.abspath(path) if near.startswith(os.pardir) else near


def _no_report(_summary: RunSummary) -> None:
    """Report nothing: the error of the rules is shown already."""


class _Ending:
    """The end of a recorded program. It comes after the program's threads and exit functions.

    Attributes:
        recording: the session.
        capture: the captured standard streams.
        report: shows the summary; may return a status that replaces a program's status 0.
        status: exit status of the program.
        undo: removes the hooks that guard the ends of the process.
    """

    def __init__(
        self,
        recording: Recording,
        capture: Capture,
        shown: str,
        report: Callable[[RunSummary], int | None],
        impacts: str,
        *,
        only_failed: bool,
    ) -> None:
        """Make one.

        Args:
            recording: the session.
            capture: the captured standard streams.
            shown: path of the store, as users read it.
            report: see `run_recorded`.
            impacts: path of the file that `impact` writes its result to.
            only_failed: whether to drop the trace if the program ends with status 0.
        """
        self.recording = recording
        self.capture = capture
        self.report = report
        self.status = 0
        self._shown = shown
        self._impacts = impacts
        self._only_failed = only_failed
        self.undo: Callable[[], None] | None = None
        self._process = unpatched.getpid()
        self._done = False

    def guard(self) -> None:
        """Have every end of the process lead here: exit functions, an end without clean-up, and exec."""
        self.recording.before_exec = lambda: self.flush(None)
        atexit.register(self.finish)
        self.undo = exit_hooks.guard(self.flush)

    def flush(self, status: int | None) -> None:
        """Write everything that waits, before the process ends without clean-up."""
        if unpatched.getpid() != self._process:
            self._flush_fork(status)
        if self._done or unpatched.getpid() != self._process:
            return
        self.recording.flush(status, self.capture.transcript(self.recording.recorder.stdio.tool_ranges))
        if status == 0 and self._only_failed:
            self.recording.drop()

    def _flush_fork(self, status: int | None) -> None:
        if self.recording.is_child:
            self.recording.flush(status)

    def finish(self) -> None:
        """Write the footer, and report."""
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
        transcript = self.capture.transcript(self.recording.recorder.stdio.tool_ranges)
        self.capture.let_go()
        refusal = self.recording.activation.cache_refusal
        if refusal:
            self.recording.problem(refusal)
        self.recording.finish(self.status, None, transcript)
        summary = self.recording.summary(self._shown)
        if self.status == 0 and self._only_failed:
            summary = structs.replace(
                summary, kept=not self.recording.drop(), problems=tuple(self.recording.problems)
            )
        if summary.footer.findings and os.path.isfile(self._impacts):
            from autochron.report.impact import with_impact  # lazy: most projects have none

            findings = with_impact(summary.footer.findings, os.path.dirname(self._impacts))
            summary = structs.replace(summary, footer=structs.replace(summary.footer, findings=findings))
        return self.report(self._with_methods_left_out(summary))

    def _with_methods_left_out(self, summary: RunSummary) -> RunSummary:
        """Return the summary with a problem for each method that was called and that a `define` leaves out."""
        footer, activation = summary.footer, self.recording.activation
        is_likely = footer.unwoven_tools or any("." in finding.site.qualname for finding in footer.findings)
        if not is_likely or not any(
            isinstance(rule.selector, Define) for rule in activation.rules.boundaries
        ):
            return summary
        from autochron.diagnostics.left_out import methods_left_out  # lazy: few runs come here

        messages = methods_left_out(activation.rules, activation.project, footer)
        return structs.replace(summary, problems=(*summary.problems, *messages))
