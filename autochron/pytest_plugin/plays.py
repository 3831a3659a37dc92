"""A test's play: the replay or the recording around it."""

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

Face: TypeAlias = replay | Recorded
"""What the fixture gives."""


def weave(file: str) -> None:
    """Weave by a rule file; what is woven by it already stays as it is.

    Raises:
        RuleError: it means nothing.
    """
    activate(rules_for(file))


def play_of(asked: MarkerOptions, mode: str, item: pytest.Item) -> Play:
    """Make ready what a marked test runs in, and weave by its rules.

    Raises:
        AutochronError: there is no such trace, or the rules mean nothing.
    """
    rules = rules_for(_rules_of(asked, item))
    if mode != "replay" and not asked.is_file:
        raise UsageError(
            f"--autochron={mode} records into trace files, and {asked.shown} is none; name a file (*.jsonl), or record it"
            " with `autochron run --name` and replay"
        )
    exists = asked.is_file and os.path.exists(str(asked.trace))
    if mode == "replay" and asked.is_file and not exists:
        raise StoreError(
            f"there is no trace file {asked.shown}; record it with `pytest --autochron=record {item.nodeid}`, or export a"
            " recorded run with `autochron traces export TRACE FILE`"
        )
    if mode == "rewrite" or (mode == "record" and not exists):
        activate(rules)
        return RecordedTest(asked, rules)
    # With what is swapped, so that the block finds it woven: to weave anew takes longer than most tests.
    activate(with_swaps(rules, swaps_for(asked.swap, rules)) if asked.swap else rules)
    return ReplayedTest(asked, rules)


def _rules_of(asked: MarkerOptions, item: pytest.Item) -> Rules | str | os.PathLike[str] | None:
    """Return the rules that a test goes by: the marker's, else those nearest to the trace, else those nearest to the test."""
    if asked.rules is not None:
        return asked.rules
    beside = find_rule_file(str(asked.trace)) if asked.is_file else None
    return beside or find_rule_file(item.path)


class Play(ABC):
    """What a marked test runs in.

    Attributes:
        asked: what its marker asks for.
        face: what the test asks what crossed.
        raised: what we made the test fail with.
        lines: what there is to say when it has passed, by severity.
        puts_back: whether what live tools change in the globals of modules is put back after it: not in a fork, which ends.
    """

    def __init__(self, asked: MarkerOptions, face: Face) -> None:
        self.asked = asked
        self.face: Face = face
        self.puts_back = True
        self.raised: BaseException | None = None
        self.lines: list[tuple[str, str]] = []

    def begin(self) -> None:
        """Begin, unless a fixture has."""
        if self.face.has_begun:
            return
        try:
            self.face.__enter__()
        except AutochronError as error:
            self.raised = error
            raise

    def end(self, error: BaseException | None) -> None:
        """End after a test that passed, or raised an error."""
        try:
            if error is None:
                self._passed()
            else:
                self._failed(error)
        except AutochronError as own:
            self.raised = own
            raise

    @abstractmethod
    def _passed(self) -> None:
        """End after a test that passed."""

    @abstractmethod
    def _failed(self, error: BaseException) -> None:
        """End after a test that raised an error."""


class ReplayedTest(Play):
    """A test that a trace is served to."""

    face: replay

    def __init__(self, asked: MarkerOptions, rules: Rules) -> None:
        reaches: tuple[Any, ...] = asked.deny
        deny: tuple[Reach, ...] = reaches
        face = replay(
            asked.trace,
            live=asked.live,
            swap=asked.swap,
            store=asked.store,
            rules=rules,
            inputs=asked.inputs,
            deny=deny,
            check=False,
            allow_unwoven=asked.allow_unwoven,
            watch=asked.watch,
            volatile=asked.volatile,
        )
        if asked.is_file and has_baseline(asked.trace):
            face.observe()  # its verdict may rest on it
        super().__init__(asked, face)
        self.root = rules.root or os.getcwd()
        """What the names of files in its marker start from."""

    def begin(self) -> None:
        """Begin, unless the trace is empty."""
        if self.puts_back and not self.face.has_begun:
            self.face.put_globals_back()
        super().begin()
        if not self.face.record.size:
            self.face.__exit__(None, None, None)
            self.raised = UsageError(
                f"trace {self.asked.shown} has no crossing, so a replay of it can show nothing; record one in which the agent"
                " is called"
            )
            raise self.raised

    def _passed(self) -> None:
        self.face.__exit__(None, None, None)
        divergences = self.face.divergences
        errors = self.face.unexplained()
        if errors and (self.asked.check or not self.face.crossings):
            raise DivergenceError(errors[0].message, errors)
        self._tell(divergences)

    def _failed(self, error: BaseException) -> None:
        self.face.__exit__(type(error), error, error.__traceback__)

    def _tell(self, divergences: tuple[Divergence, ...]) -> None:
        crossings = self.face.crossings
        live = sum(each.live for each in crossings)
        self.lines.append(
            ("notice", f"{len(crossings)} crossings of {self.asked.shown}, {live or 'none'} live")
        )
        self.lines += [("said", text) for text in self.face.still_did()]
        told = self.face.unexplained()
        for each in divergences:
            if each.severity != "consequence" and (each.severity != "error" or each in told):
                self.lines.append((each.severity, each.message))


class RecordedTest(Play):
    """A test that is recorded, into a store of its own until it has passed."""

    face: Recorded

    def __init__(self, asked: MarkerOptions, rules: Rules) -> None:
        self._path = str(asked.trace)
        super().__init__(asked, Recorded(os.path.basename(self._path).removesuffix(TRACE_FILE), rules))

    def _passed(self) -> None:
        try:
            self.face.__exit__(None, None, None)
            trace = self._trace()
            self._check(trace)
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            write_trace(trace, self._path)
        except AutochronError:
            self._not_written("it could not be kept")
            raise
        self.lines.append(("said", f"recorded {len(trace.envelopes)} crossings into {self.asked.shown}"))
        self._warn(trace)

    def _failed(self, error: BaseException) -> None:
        self._not_written("the test did not pass")
        self.face.__exit__(type(error), error, error.__traceback__)

    def _not_written(self, reason: str) -> None:
        left = ", and the old one stays as it was" if os.path.exists(self._path) else ""
        self.lines.append(("warning", f"{self.asked.shown} was not recorded, because {reason}{left}"))

    def _trace(self) -> Trace:
        """Return what was recorded: that of the call, where a [[trace]] rule made it one of its own."""
        own, others = self.face.trace(), self.face.of_calls
        if own.envelopes or not others:
            return own
        if len(others) > 1:
            raise UsageError(
                f"{len(others)} calls have a trace of their own by [[trace]] rules, and a trace file holds one; make one such"
                " call in the test"
            )
        return others[0]

    def _check(self, trace: Trace) -> None:
        """Refuse to write what a replay of this test would refuse."""
        if not trace.envelopes:
            raise UsageError(
                "nothing crossed a boundary, so there is nothing to record; call the agent in the test, and see that the"
                " rules weave what is called (`autochron rules`)"
            )
        whole = WholeRecord(trace)
        plan_for(whole, self.asked.live, inputs=self.asked.inputs, deny=self.asked.deny)
        if not self.asked.allow_unwoven:
            refuse_unwoven(whole)

    def _warn(self, trace: Trace) -> None:
        self.lines += [("warning", problem) for problem in self.face.problems]
        for each in trace.footer.connections if trace.footer is not None else ():
            text = f"{each.site} reached for {each.address} outside every crossing, which a replay refuses; let a rule make"
            self.lines.append(("warning", f"{text} the call a boundary"))
