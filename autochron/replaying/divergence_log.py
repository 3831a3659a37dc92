"""What is told of a replay: each disagreement in words, and how grave it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.json import decode

from autochron.crossing.lanes import DAEMON
from autochron.diff.json import first_difference
from autochron.envelope.type_trees import beyond_paths
from autochron.inputs import OUTCOME, comparable_pair
from autochron.model import Closed, Divergence, Raised, Returned, Severity, Streamed
from autochron.redaction.secret_patterns import MASK as _MASK
from autochron.replaying import compare
from autochron.replaying.child_reports import ChildEvent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autochron.crossing.crossing import Crossing
    from autochron.model import BoundaryRule, Envelope, Outcome
    from autochron.ports import Record
    from autochron.replaying.child_reports import ChildReport
    from autochron.replaying.consequences import Consequences
    from autochron.replaying.inputs import InputReader
    from autochron.replaying.plan import ReplayPlan

MASKED = b'"masked":'
"""Stands in the `meta` of an envelope whose input has digests of what is masked."""

MASK = _MASK.encode()

_NAMED = 4
"""Served tools that a hint names."""

_LISTED = 100
"""Missing crossings that are told of one by one."""


class DivergenceLog:
    """Notes divergences. What follows from something live is a consequence; all else is an error unless it says otherwise."""

    def __init__(self, plan: ReplayPlan, consequences: Consequences, lock: Any) -> None:
        """Take the lock under which divergences are added, one that may be taken again by who has it."""
        self.divergences: list[Divergence] = []
        self.report: ChildReport | None = None
        """Where a child process tells the first one."""
        self._plan = plan
        self._consequences = consequences
        self._served_tools: dict[str, list[str]] = {}
        """The first served tools of each recorded lane."""
        self._is_hinted = False
        self._invented: set[str] = set()
        self._lock = lock

    def begin_anew(self, report: ChildReport, lock: Any) -> None:
        """Report in a child process from now on."""
        self.report = report
        self.divergences = []
        self._lock = lock

    def note(
        self,
        kind: Any,
        address: str,
        message: str,
        *,
        envelope: Envelope | None = None,
        severity: Severity | None = None,
        **more: Any,
    ) -> None:
        """Add a divergence; without a severity it is an error unless its crossing follows from something live."""
        if severity is None:
            follows = envelope is not None and self._consequences.include(envelope)
            severity = "consequence" if follows else "error"
        divergence = Divergence(kind=kind, address=address, message=message, severity=severity, **more)
        with self._lock:
            self.divergences.append(divergence)
        if self.report is not None:
            self.report.tell(ChildEvent(kind="note", divergence=divergence))

    # --- inputs and outcomes -----------------------------------------------------------------------------------------

    def compare_input(self, envelope: Envelope, input_body: bytes, rule: BoundaryRule) -> bool:
        """Note where an input is another; return whether it is."""
        difference = compare.input_difference(envelope, input_body, rule)
        if difference is None:
            return False
        severity = self._severity_of_input(envelope)
        if severity is not None:
            path, was, now, label = difference
            message = f"{envelope.address} was given another {label}: {path} was {was}, now it is {now}"
            self.note(
                "input", envelope.address, message, severity=severity, path=path, recorded=was, replayed=now
            )
        return True

    def not_compared(self, envelope: Envelope, input_body: bytes) -> None:
        """Note what of an input is too large to be compared."""
        for path in beyond_paths(input_body):
            label = path or "its input"
            message = (
                f"{envelope.address}: {label} is too large to be compared; name what matters with `capture`"
            )
            self.note("not-compared", envelope.address, message, severity="notice", path=path)

    def compare_masked(
        self,
        envelope: Envelope,
        inputs: InputReader,
        pair: tuple[bytes, bytes],
        rule: BoundaryRule,
        *,
        from_wire: bool = False,
    ) -> None:
        """Compare what is masked in an input by its digests, where the user's key is the one that they were made with.

        `pair` is the input as it is now, and as it is masked.
        """
        masked = decode(envelope.meta).get("masked")
        if not isinstance(masked, dict):
            return
        severity = self._severity_of_input(envelope)
        key = inputs.mask_key(masked["key"])
        now = {} if key is None else key.digests(*comparable_pair(*pair, rule, from_wire=from_wire))
        for path, digest in masked["digests"].items():
            if key is None:
                self._masked_unknown(envelope, path, inputs.why_no_key or "")
            elif not (digest and now.get(path, MASK not in pair[0])):
                self._masked_unknown(
                    envelope,
                    path,
                    "a mask that was served stands there: make the crossing live that it is from",
                )
            elif path in now and now[path] != digest and severity is not None:
                message = (
                    f"{envelope.address} was given another input: {path}, which is masked, is another one now"
                )
                self.note(
                    "input",
                    envelope.address,
                    message,
                    severity=severity,
                    path=path,
                    recorded="[masked]",
                    replayed="[masked], another one",
                )

    def masked_outcome(self, envelope: Envelope) -> None:
        """Note what is masked in what a live crossing gave, and is the same where it is not."""
        for path in envelope.masked:
            self._masked_unknown(envelope, f"its outcome's {path}", "digests are kept of inputs only")

    def _masked_unknown(self, envelope: Envelope, path: str, why: str) -> None:
        message = f"{envelope.address}: {path} is masked and not compared: {why}"
        self.note("not-compared", envelope.address, message, severity="notice", path=path)

    def compare_sent(self, envelope: Envelope, items: int, recorded: bytes, replayed: bytes) -> None:
        """Note that something else is sent or thrown into a stream."""
        difference = None if recorded == replayed else first_difference(recorded, replayed)
        severity = self._severity_of_input(envelope)
        if difference is None or severity is None:
            return
        path, was, now = difference
        message = f"{envelope.address} was sent something else after item {items}: {path} was {was}, now it is {now}"
        self.note(
            "input", envelope.address, message, severity=severity, path=path, recorded=was, replayed=now
        )

    def compare_close(self, envelope: Envelope, outcome: Streamed, read: int) -> None:
        """Note that a stream was closed after another number of items than were recorded."""
        count, ended = len(outcome.items), isinstance(outcome.end, Returned | Raised)
        if read < count or ended:
            was = "read to its end" if ended else "closed" if isinstance(outcome.end, Closed) else "left open"
            message = f"was {was} after {count} items when it was recorded, and is now closed after {read}"
            self._note_items(envelope, message, count, read)

    def compare_left_open(self, envelope: Envelope, outcome: Streamed, read: int) -> None:
        """Note that a stream was not read as far as it was recorded; how far a daemon reads is up to timing."""
        count, ended = len(outcome.items), isinstance(outcome.end, Returned | Raised)
        if DAEMON in envelope.lane or (read == count and not ended):
            return
        was = "to its end" if ended else "and closed" if isinstance(outcome.end, Closed) else "and left open"
        message = (
            f"was read {was} after {count} items when it was recorded, and is now left open after {read}"
        )
        self._note_items(envelope, message, count, read)

    def _note_items(self, envelope: Envelope, message: str, count: int, read: int) -> None:
        # After as many items it may be a generator that ends by itself when it is closed.
        severity: Severity | None = None if read < count else "warning"
        field = (None, f"{count} items", f"{read} items")
        self._note_outcome(envelope, message, field, severity)

    def compare_call(self, call: Envelope, path: str, recorded: str, replayed: str) -> None:
        """Note that the function which the trace is of is called with another input than when it was recorded."""
        plan = self._plan
        if plan.inputs == "ignore":
            return
        lenient = plan.inputs == "warn" or (not plan.is_full and plan.inputs != "strict")
        message = (
            f"{call.name} was called with another input than when it was recorded: {path} was {recorded}, now it is"
            f" {replayed}; replay.call() calls it with the recorded one"
        )
        severity: Severity = "warning" if lenient else "error"
        self.note(
            "input", call.name, message, severity=severity, path=path, recorded=recorded, replayed=replayed
        )

    def _severity_of_input(self, envelope: Envelope) -> Severity | None:
        """Say what a changed input means; None where it means nothing."""
        plan = self._plan
        if plan.inputs == "ignore":
            return None
        if self._consequences.include(envelope):
            return "consequence"
        if plan.inputs == "warn":
            return "warning"
        lenient = not plan.is_full and plan.inputs != "strict"
        # Prompts get edited; and what is live takes what it is given.
        return "warning" if lenient and (envelope.kind == "model" or plan.is_live(envelope)) else "error"

    def compare_live(self, envelope: Envelope, outcome: Outcome, rule: BoundaryRule, *, live: bool) -> None:
        """Note how a crossing that ran ended otherwise than it was recorded: what is live may do so by intent."""
        if envelope.reenters or OUTCOME in rule.volatile:
            return
        difference = compare.outcome_difference(envelope.outcome, outcome, rule)
        if difference is not None:
            severity: Severity | None = None if self._plan.is_full else "consequence"
            self._note_outcome(
                envelope, f"{'ran live and ' if live else ''}{difference[0]}", difference[1:], severity
            )

    def compare_observed(self, envelope: Envelope, body: bytes, rule: BoundaryRule) -> None:
        """Compare what an observed crossing gave."""
        if OUTCOME in rule.volatile or not isinstance(envelope.outcome, Returned):
            return
        difference = compare.outcome_difference(envelope.outcome, Returned(body), rule)
        if difference is not None:
            self._note_outcome(envelope, difference[0], difference[1:], None)

    def _note_outcome(
        self,
        envelope: Envelope,
        message: str,
        field: tuple[str | None, str | None, str | None],
        severity: Severity | None,
    ) -> None:
        path, was, now = field
        address = envelope.address
        self.note(
            "outcome",
            address,
            f"{address} {message}",
            envelope=envelope,
            severity=severity,
            path=path,
            recorded=was,
            replayed=now,
        )

    # --- what happened, and what did not -----------------------------------------------------------------------------

    def unrecorded(
        self, address: str, name: str, kind: str, lane: str, nearest: Envelope | None, *, is_tail: bool
    ) -> str:
        """Note a crossing that has no record and can't be served; return the message.

        `is_tail`: whether it only goes on with what its lane did, which for a daemon depends on when the program ends.
        """
        near = "" if nearest is None else f"; the nearest record is {nearest.address} in lane {nearest.lane}"
        message = f"{address} in lane {lane} was not recorded{near}"
        if not self._plan.is_full:
            message += f"; it can't be served: make it live ({name}, or kind:{kind}), or record again"
        severity: Severity = "warning" if is_tail and DAEMON in lane else "error"
        named = None if nearest is None else nearest.address
        self.note("extra", address, message, nearest=named, severity=severity)
        return message

    def live_anew(self, address: str) -> None:
        """Note a live crossing that has no record."""
        self.note("extra", address, f"{address} ran live, and was not recorded", severity="consequence")

    def repeated(self, address: str, around: str, known: Envelope) -> None:
        """Note a crossing inside something live that was served what another one gave."""
        message = (
            f"{address} was not recorded inside {around}, and was served what {known.address} gave, which was given the same;"
            f" make it live, too, if it is to see what {around} did"
        )
        self.note("extra", address, message, severity="notice", nearest=known.address)

    def invented(self, crossing: Crossing[Any], address: str, *, ran_out: bool, is_foreign: bool) -> None:
        """Note, once for each name, a value that was not recorded and is made up."""
        if crossing.name in self._invented:
            return
        self._invented.add(crossing.name)
        line = crossing.rule.place
        message = (
            f"{address} ({line.file}:{line.line}) was not recorded, and its value is made up: the time of the trace, or"
            " chance that is the same in every replay"
        )
        if ran_out:
            message += "; more values are asked for than a recording keeps of one line"
        elif self._plan.is_full:
            message += "; record the program again, or [[ignore]] the call"
        severity: Severity = "error" if self._plan.is_full else "notice"
        # How far a daemon gets depends on when the program ends; and a test may take the time around what it calls.
        if ran_out or (severity == "error" and (is_foreign or DAEMON in crossing.root.lane)):
            severity = "warning"
        self.note("invented", address, message, severity=severity)

    def order(self, envelope: Envelope, earlier: Envelope) -> None:
        """Note that a crossing came before one that was recorded before it."""
        one, other = envelope.address, earlier.address
        message = f"{one} came before {other}; when it was recorded {other} came first"
        self.note("reordered", one, message, envelope=earlier, nearest=other)

    def served_tool(self, envelope: Envelope) -> None:
        """Note that what a tool did is not there."""
        served = self._served_tools.setdefault(envelope.lane, [])
        if len(served) < _NAMED:
            served.append(envelope.address)

    def hint_at_state(self, address: str, lane: str) -> None:
        """Say once that what served tools did is not there for a live one that came after them, and not beside them."""
        if self._is_hinted:
            return
        found = [
            each for other, tools in self._served_tools.items() if _related(other, lane) for each in tools
        ]
        if not found:
            return
        self._is_hinted = True
        served = ", ".join(found[:_NAMED]) + (", …" if len(found) >= _NAMED else "")
        message = (
            f"{address} runs live after tools that were served ({served}): what these did is not there; if it works on it,"
            " make them live, too (kind:tool), or give their rules the same `state`"
        )
        self.note("stale-state", address, message, severity="notice")

    def nothing(self, record: Record) -> None:
        """Note that nothing crossed at all."""
        first = next(iter(record))
        message = (
            f"nothing crossed a boundary: all {record.size} recorded crossings, from {first.address} ({first.site}) on, did"
            " not happen; call the agent inside the replay, and see that the rules weave what is called"
        )
        self.note("missing", first.address, message)

    def missing(self, envelopes: Iterable[Envelope]) -> None:
        """Note what did not happen again."""
        more, is_grave = 0, False
        for count, envelope in enumerate(envelopes, 1):
            if count <= _LISTED:
                self._note_missing(envelope)
            else:
                more += 1
                is_grave = is_grave or not self._consequences.include(envelope)
        if more:
            message = f"{more:,} more crossings were recorded and did not happen"
            self.note("missing", "…", message, severity="error" if is_grave else "consequence")

    def _note_missing(self, envelope: Envelope) -> None:
        address, plan = envelope.address, self._plan
        where = f"{address} ({envelope.site})"
        message = f"{where} was recorded and did not happen"
        severity: Severity | None = None
        is_named = envelope.seq in plan.seqs and not plan.chosen
        if plan.is_live(envelope) and (is_named or not self._consequences.include(envelope)):
            severity = "error"  # also behind something live: it was asked for by its address
            message = f"the program no longer reaches {where}, which was to be live"
            if self.divergences:
                message += f"; first, {self.divergences[0].message}"
        elif envelope.is_value and not plan.is_full and not self._consequences.include(envelope):
            severity = "warning"  # a fix may do without
        elif envelope.seq == plan.after:
            message = f"the program no longer reaches {where}, after which all was to be live"
        self.note("missing", address, message, envelope=envelope, severity=severity)


def _related(one: str, other: str) -> bool:
    """Return whether two lanes are one, or one was started in the other."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
