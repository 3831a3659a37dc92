"""The session around one marked test: a replay of its trace, or a recording of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeAlias

from autochron._runtime.unpatched import os
from autochron.config import find_rule_file
from autochron.errors import AutochronError, DivergenceError, StoreError, UsageError
from autochron.instrument.activation import activate
from autochron.instrument.swap import swaps_for, with_swaps
from autochron.model import Divergence, Rules, Trace
from autochron.pytest_plugin.marks import TRACE_FILE, MarkerOptions
from autochron.replaying.plan import plan_for
from autochron.reproduction.baseline import has_baseline
from autochron.session.record_context import refuse_unwoven, rules_for
from autochron.session.recorded_view import Recorded
from autochron.session.replay_context import replay
from autochron.store.tracefile import write_trace
from autochron.store.whole import WholeRecord

if TYPE_CHECKING:
    import pytest

    from autochron.replaying.plan import Reach

Handle: TypeAlias = replay | Recorded
"""What the fixture `replay` returns: the test asks it for the crossings."""


def weave(file: str) -> None:
    """Activate a rule file. Code that it has woven already stays as it is.

    Raises:
        RuleError: the rule file is invalid.
    """
    activate(rules_for(file))


def prepare_session(options: MarkerOptions, mode: str, item: pytest.Item) -> TestSession:
    """Make the session of a marked test and activate its rules. The session does not begin yet.

    Args:
        options: the options of the test's marker.
        mode: `replay`, `record` (record only where the trace file is missing) or `rewrite` (record in any case).
        item: the test.

    Raises:
        StoreError: the trace file is missing and the mode is `replay`.
        UsageError: the mode records, and the marker's trace is no file.
        RuleError: the rules are invalid.
    """
    rules = rules_for(_rules_of(options, item))
    if mode != "replay" and not options.is_file:
        raise UsageError(
            f"--autochron={mode} records into trace files, and {options.shown} is none; name a file (*.jsonl), or record it"
            " with `autochron run --name` and replay"
        )
    exists = options.is_file and os.path.exists(str(options.trace))
    if mode == "replay" and options.is_file and not exists:
        raise StoreError(
            f"there is no trace file {options.shown}; record it with `pytest --autochron=record {item.nodeid}`, or export a"
            " recorded run with `autochron traces export TRACE FILE`"
        )
    if mode == "rewrite" or (mode == "record" and not exists):
        activate(rules)
        return RecordedTest(options, rules)
    # The swapped functions are woven here too, so that the replay need not weave again: that takes longer than most tests.
    activate(with_swaps(rules, swaps_for(options.swap, rules)) if options.swap else rules)
    return ReplayedTest(options, rules)


def _rules_of(options: MarkerOptions, item: pytest.Item) -> Rules | str | os.PathLike[str] | None:
    """Return the rules for a test: the marker's, else the rule file nearest to the trace, else that nearest to the test."""
    if options.rules is not None:
        return options.rules
    nearest_to_trace = find_rule_file(str(options.trace)) if options.is_file else None
    return nearest_to_trace or find_rule_file(item.path)


class TestSession(ABC):
    """The replay or the recording around one marked test.

    Attributes:
        options: the options of the test's marker.
        handle: what the fixture `replay` returns.
        raised: the exception with which autochron failed the test; None if it did not.
        lines: lines for the terminal summary, each as severity and text.
        restores_globals: whether changes that live crossings make to module globals are undone when the test ends. False in
            a forked process, which ends after the test anyway.
    """

    def __init__(self, options: MarkerOptions, handle: Handle) -> None:
        self.options = options
        self.handle: Handle = handle
        self.restores_globals = True
        self.raised: BaseException | None = None
        self.lines: list[tuple[str, str]] = []

    def begin(self) -> None:
        """Begin the session, unless a fixture has begun it."""
        if self.handle.has_begun:
            return
        try:
            self.handle.__enter__()
        except AutochronError as error:
            self.raised = error
            raise

    def end(self, error: BaseException | None) -> None:
        """End the session.

        Args:
            error: the exception that the test raised; None if it passed.

        Raises:
            AutochronError: replay and record disagree, or the recording can't be kept.
        """
        try:
            if error is None:
                self._end_passed()
            else:
                self._end_failed(error)
        except AutochronError as session_error:
            self.raised = session_error
            raise

    @abstractmethod
    def _end_passed(self) -> None:
        """End the session of a test that passed."""

    @abstractmethod
    def _end_failed(self, error: BaseException) -> None:
        """End the session of a test that raised an error."""


class ReplayedTest(TestSession):
    """A test that runs in a replay of its trace."""

    handle: replay

    def __init__(self, options: MarkerOptions, rules: Rules) -> None:
        reaches: tuple[Any, ...] = options.deny
        deny: tuple[Reach, ...] = reaches
        handle = replay(
            options.trace,
            live=options.live,
            swap=options.swap,
            store=options.store,
            rules=rules,
            inputs=options.inputs,
            deny=deny,
            check=False,
            allow_unwoven=options.allow_unwoven,
            watch=options.watch,
            volatile=options.volatile,
            predicate=options.predicate,
        )
        if options.is_file and has_baseline(options.trace):
            handle.observe()  # the verdict of an incident's test may depend on it
        super().__init__(options, handle)
        self.root = rules.root or os.getcwd()
        """The folder that file names in the marker are relative to."""

    def begin(self) -> None:
        """Begin the replay.

        Raises:
            UsageError: the trace has no crossing.
        """
        if self.restores_globals and not self.handle.has_begun:
            self.handle.put_globals_back()
        super().begin()
        if not self.handle.record.size:
            self.handle.__exit__(None, None, None)
            self.raised = UsageError(
                f"trace {self.options.shown} has no crossing, so a replay of it can show nothing; record one in which"
                " the agent is called"
            )
            raise self.raised

    def _end_passed(self) -> None:
        self.handle.__exit__(None, None, None)
        divergences = self.handle.divergences
        errors = self.handle.unexplained()
        is_judged = self.options.check is False and self.handle.world is not None
        if errors and (self.options.check or not (self.handle.crossings or is_judged)):
            raise DivergenceError(errors[0].message, errors)
        self._note_summary(divergences)

    def _end_failed(self, error: BaseException) -> None:
        self.handle.__exit__(type(error), error, error.__traceback__)

    def _note_summary(self, divergences: tuple[Divergence, ...]) -> None:
        crossings = self.handle.crossings
        live = sum(crossing.live for crossing in crossings)
        self.lines.append(
            ("notice", f"{len(crossings)} crossings of {self.options.shown}, {live or 'none'} live")
        )
        self.lines += [("info", text) for text in self.handle.still_did()]
        unexplained = self.handle.unexplained()
        for divergence in divergences:
            if divergence.severity != "consequence" and (
                divergence.severity != "error" or divergence in unexplained
            ):
                severity = divergence.severity if self.options.check else "notice"
                self.lines.append((severity, divergence.message))


class RecordedTest(TestSession):
    """A test that is recorded. Its trace file is written only after it has passed."""

    handle: Recorded

    def __init__(self, options: MarkerOptions, rules: Rules) -> None:
        self._path = str(options.trace)
        super().__init__(options, Recorded(os.path.basename(self._path).removesuffix(TRACE_FILE), rules))

    def _end_passed(self) -> None:
        try:
            self.handle.__exit__(None, None, None)
            trace = self._trace()
            self._check(trace)
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            write_trace(trace, self._path)
        except AutochronError:
            self._not_written("it could not be kept")
            raise
        self.lines.append(("info", f"recorded {len(trace.envelopes)} crossings into {self.options.shown}"))
        self._note_warnings(trace)

    def _end_failed(self, error: BaseException) -> None:
        self._not_written("the test did not pass")
        self.handle.__exit__(type(error), error, error.__traceback__)

    def _not_written(self, reason: str) -> None:
        left = ", and the old one stays as it was" if os.path.exists(self._path) else ""
        self.lines.append(("warning", f"{self.options.shown} was not recorded, because {reason}{left}"))

    def _trace(self) -> Trace:
        """Return the trace to keep: the test's own, or that of a call to which a [[trace]] rule gave a trace of its own."""
        trace, call_traces = self.handle.trace(), self.handle.of_calls
        if trace.envelopes or not call_traces:
            return trace
        if len(call_traces) > 1:
            raise UsageError(
                f"{len(call_traces)} calls have a trace of their own by [[trace]] rules, and a trace file holds one; make"
                " one such call in the test"
            )
        return call_traces[0]

    def _check(self, trace: Trace) -> None:
        """Raise where a replay of this test would refuse the trace."""
        if not trace.envelopes:
            raise UsageError(
                "nothing crossed a boundary, so there is nothing to record; call the agent in the test, and see that the"
                " rules weave what is called (`autochron rules`)"
            )
        record = WholeRecord(trace)
        plan_for(record, self.options.live, inputs=self.options.inputs, deny=self.options.deny)
        if not self.options.allow_unwoven:
            refuse_unwoven(record)

    def _note_warnings(self, trace: Trace) -> None:
        self.lines += [("warning", problem) for problem in self.handle.problems]
        for connection in trace.footer.connections if trace.footer is not None else ():
            text = (
                f"{connection.site} connected to {connection.address} outside every crossing, which a replay refuses; let a"
                " rule make the call a boundary"
            )
            self.lines.append(("warning", text))
