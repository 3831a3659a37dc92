"""The divergences of a replay: each with its message and its severity."""

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
"""In the `meta` of an envelope: it holds digests of the masked values of the input."""

MASK = _MASK.encode()

_NAMED = 4
"""The number of served tools that a hint names."""

_LISTED = 100
"""The number of missing crossings that are noted one by one. The others are counted in one divergence."""


class DivergenceLog:
    """Notes divergences.

    Without an explicit severity, a divergence that follows from something live is a consequence, and any other an error.

    Attributes:
        divergences: those of this process, and those that child processes reported.
    """

    def __init__(self, plan: ReplayPlan, consequences: Consequences, lock: Any) -> None:
        """Prepare an empty log.

        Args:
            plan: which crossings are live, and how strictly inputs are compared.
            consequences: decides what follows from something live.
            lock: the re-entrant lock under which divergences are added.
        """
        self.divergences: list[Divergence] = []
        self.report: ChildReport | None = None
        """Where a child process reports its divergences to the first process; None in the first process."""
        self._plan = plan
        self._consequences = consequences
        self._served_tools: dict[str, list[str]] = {}
        """The first served tools of each recorded lane."""
        self._is_hinted = False
        self._invented: set[str] = set()
        self._lock = lock

    def begin_anew(self, report: ChildReport, lock: Any) -> None:
        """Start empty in a child process, and write each divergence to its report."""
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
        """Add a divergence.

        Args:
            kind: the kind of the divergence.
            address: of the crossing.
            message: for people.
            envelope: the record of the crossing. If it follows from something live, the divergence is a consequence.
            severity: overrides that rule.
            more: other fields of the `Divergence`.
        """
        if severity is None:
            follows = envelope is not None and self._consequences.include(envelope)
            severity = "consequence" if follows else "error"
        divergence = Divergence(kind=kind, address=address, message=message, severity=severity, **more)
        with self._lock:
            self.divergences.append(divergence)
        if self.report is not None:
            self.report.write(ChildEvent(kind="note", divergence=divergence))

    # --- inputs and outcomes -----------------------------------------------------------------------------------------

    def compare_input(self, envelope: Envelope, input_body: bytes, rule: BoundaryRule) -> bool:
        """Note the first difference of an input from the recorded one. Return whether there is one."""
        difference = compare.input_difference(envelope, input_body, rule)
        if difference is None:
            return False
        severity = self._severity_of_input(envelope)
        if severity is not None:
            path, recorded, replayed, label = difference
            message = (
                f"{envelope.address} was given another {label}: {path} was {recorded}, now it is {replayed}"
            )
            self.note(
                "input",
                envelope.address,
                message,
                severity=severity,
                path=path,
                recorded=recorded,
                replayed=replayed,
            )
        return True

    def not_compared(self, envelope: Envelope, input_body: bytes) -> None:
        """Note the parts of an input that are too large to be compared."""
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
        """Compare the masked values of an input by their digests. Note those that can't be compared.

        They can be compared if the user's key is the one with which the digests were made.

        Args:
            envelope: the record, whose `meta` has the digests.
            inputs: has the user's key.
            pair: the replayed input before and after masking.
            rule: the crossing's rule.
            from_wire: whether the input was read from an HTTP request.
        """
        masked = decode(envelope.meta).get("masked")
        if not isinstance(masked, dict):
            return
        severity = self._severity_of_input(envelope)
        key = inputs.mask_key(masked["key"])
        digests = {} if key is None else key.digests(*comparable_pair(*pair, rule, from_wire=from_wire))
        for path, digest in masked["digests"].items():
            if key is None:
                self._masked_unknown(envelope, path, inputs.why_no_key or "")
            elif not (digest and digests.get(path, MASK not in pair[0])):
                self._masked_unknown(
                    envelope,
                    path,
                    "a mask that was served stands there: make the crossing live that it is from",
                )
            elif path in digests and digests[path] != digest and severity is not None:
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
        """Note the masked values of a live crossing's outcome, which is otherwise equal to the recorded one."""
        for path in envelope.masked:
            self._masked_unknown(envelope, f"its outcome's {path}", "digests are kept of inputs only")

    def _masked_unknown(self, envelope: Envelope, path: str, why: str) -> None:
        message = f"{envelope.address}: {path} is masked and not compared: {why}"
        self.note("not-compared", envelope.address, message, severity="notice", path=path)

    def compare_sent(self, envelope: Envelope, items: int, recorded: bytes, replayed: bytes) -> None:
        """Note that another value is sent into a stream, or another error thrown, than in the recording.

        Args:
            envelope: the record of the stream.
            items: how many items it had yielded before.
            recorded: what was sent, as JSON.
            replayed: what is sent now, as JSON.
        """
        difference = None if recorded == replayed else first_difference(recorded, replayed)
        severity = self._severity_of_input(envelope)
        if difference is None or severity is None:
            return
        path, before, after = difference
        message = f"{envelope.address} was sent something else after item {items}: {path} was {before}, now it is {after}"
        self.note(
            "input", envelope.address, message, severity=severity, path=path, recorded=before, replayed=after
        )

    def compare_close(self, envelope: Envelope, outcome: Streamed, read: int) -> None:
        """Note that a stream was closed after another number of items than in the recording.

        Args:
            envelope: the record of the stream.
            outcome: its recorded outcome.
            read: how many items were read in the replay.
        """
        count, ended = len(outcome.items), isinstance(outcome.end, Returned | Raised)
        if read < count or ended:
            was = "read to its end" if ended else "closed" if isinstance(outcome.end, Closed) else "left open"
            message = f"was {was} after {count} items when it was recorded, and is now closed after {read}"
            self._note_items(envelope, message, count, read)

    def compare_left_open(self, envelope: Envelope, outcome: Streamed, read: int) -> None:
        """Note that a stream was not read as far as in the recording. A daemon's is passed over: timing decides how far.

        Args:
            envelope: the record of the stream.
            outcome: its recorded outcome.
            read: how many items were read in the replay.
        """
        count, ended = len(outcome.items), isinstance(outcome.end, Returned | Raised)
        if DAEMON in envelope.lane or (read == count and not ended):
            return
        was = "to its end" if ended else "and closed" if isinstance(outcome.end, Closed) else "and left open"
        message = (
            f"was read {was} after {count} items when it was recorded, and is now left open after {read}"
        )
        self._note_items(envelope, message, count, read)

    def _note_items(self, envelope: Envelope, message: str, count: int, read: int) -> None:
        # After as many items as recorded, it may be a generator that ends by itself when it is closed.
        severity: Severity | None = None if read < count else "warning"
        field = (None, f"{count} items", f"{read} items")
        self._note_outcome(envelope, message, field, severity)

    def compare_call(self, call: Envelope, path: str, recorded: str, replayed: str) -> None:
        """Note that the traced function is called with another input than in the recording.

        Args:
            call: the recorded call.
            path: of the first field that differs.
            recorded: its recorded value, as text.
            replayed: its value now, as text.
        """
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
        """Return the severity of a changed input; None if changed inputs are ignored."""
        plan = self._plan
        if plan.inputs == "ignore":
            return None
        if self._consequences.include(envelope):
            return "consequence"
        if plan.inputs == "warn":
            return "warning"
        lenient = not plan.is_full and plan.inputs != "strict"
        # Prompts get edited, and a live crossing accepts any input.
        return "warning" if lenient and (envelope.kind == "model" or plan.is_live(envelope)) else "error"

    def compare_live(self, envelope: Envelope, outcome: Outcome, rule: BoundaryRule, *, live: bool) -> None:
        """Note that a crossing whose body ran ended differently than in the recording.

        With a partly live plan that is a consequence: a live crossing may do so by intent.
        """
        if envelope.reenters or OUTCOME in rule.volatile:
            return
        difference = compare.outcome_difference(envelope.outcome, outcome, rule)
        if difference is not None:
            severity: Severity | None = None if self._plan.is_full else "consequence"
            self._note_outcome(
                envelope, f"{'ran live and ' if live else ''}{difference[0]}", difference[1:], severity
            )

    def compare_observed(self, envelope: Envelope, body: bytes, rule: BoundaryRule) -> None:
        """Compare the result of an observed crossing with the recorded one.

        Args:
            envelope: the record.
            body: the result as JSON, masked.
            rule: the crossing's rule.
        """
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
        path, recorded, replayed = field
        address = envelope.address
        self.note(
            "outcome",
            address,
            f"{address} {message}",
            envelope=envelope,
            severity=severity,
            path=path,
            recorded=recorded,
            replayed=replayed,
        )

    # --- extra and missing crossings ---------------------------------------------------------------------------------

    def unrecorded(
        self, address: str, name: str, kind: str, lane: str, nearest: Envelope | None, *, is_tail: bool
    ) -> str:
        """Note a crossing that has no record and can't be served. Return the message.

        Args:
            address: of the crossing.
            name: its name.
            kind: its kind.
            lane: its lane.
            nearest: the record that the message names as near; None if there is none.
            is_tail: whether it comes after all recorded crossings of its lane, as one more of a name that they have. How
                often a daemon crosses depends on when the program ends, so that is a warning there.
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
        """Note a crossing inside a live one that was served the outcome of another record.

        Args:
            address: of the crossing.
            around: the address of the live crossing.
            known: the record whose outcome is served.
        """
        message = (
            f"{address} was not recorded inside {around}, and was served what {known.address} gave, which was given the same;"
            f" make it live, too, if it is to see what {around} did"
        )
        self.note("extra", address, message, severity="notice", nearest=known.address)

    def invented(self, crossing: Crossing[Any], address: str, *, ran_out: bool, is_foreign: bool) -> None:
        """Note an ambient value that was not recorded and is synthesised. It is noted once for each name.

        Args:
            crossing: the crossing of the source.
            address: its address.
            ran_out: whether more values were asked for than a recording keeps of one line.
            is_foreign: whether the calling file has no recorded crossing, as a test's own file.
        """
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
        # How far a daemon gets depends on when the program ends. A test may read the clock around the function that it calls.
        if ran_out or (severity == "error" and (is_foreign or DAEMON in crossing.root.lane)):
            severity = "warning"
        self.note("invented", address, message, severity=severity)

    def order(self, envelope: Envelope, earlier: Envelope) -> None:
        """Note that a crossing came before one that is earlier in the record."""
        address, overtaken = envelope.address, earlier.address
        message = f"{address} came before {overtaken}; when it was recorded {overtaken} came first"
        self.note("reordered", address, message, envelope=earlier, nearest=overtaken)

    def served_tool(self, envelope: Envelope) -> None:
        """Remember a served tool for `hint_at_state`: its side effects did not happen."""
        served = self._served_tools.setdefault(envelope.lane, [])
        if len(served) < _NAMED:
            served.append(envelope.address)

    def hint_at_state(self, address: str, lane: str) -> None:
        """Note once that a live tool runs without the side effects of tools that were served before it.

        Args:
            address: of the live tool.
            lane: its recorded lane. Only tools of this lane and of lanes that enclose it, or that it encloses, count.
        """
        if self._is_hinted:
            return
        tools = [
            tool
            for other, addresses in self._served_tools.items()
            if _related(other, lane)
            for tool in addresses
        ]
        if not tools:
            return
        self._is_hinted = True
        served = ", ".join(tools[:_NAMED]) + (", …" if len(tools) >= _NAMED else "")
        message = (
            f"{address} runs live after tools that were served ({served}): what these did is not there; if it works on it,"
            " make them live, too (kind:tool), or give their rules the same `state`"
        )
        self.note("stale-state", address, message, severity="notice")

    def nothing(self, record: Record) -> None:
        """Note that nothing crossed a boundary at all."""
        first = next(iter(record))
        message = (
            f"nothing crossed a boundary: all {record.size} recorded crossings, from {first.address} ({first.site}) on, did"
            " not happen; call the agent inside the replay, and see that the rules weave what is called"
        )
        self.note("missing", first.address, message)

    def missing(self, envelopes: Iterable[Envelope]) -> None:
        """Note recorded crossings that did not happen in the replay."""
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
            severity = "error"  # also after something live: the user named it by its address
            message = f"the program no longer reaches {where}, which was to be live"
            if self.divergences:
                message += f"; first, {self.divergences[0].message}"
        elif envelope.is_value and not plan.is_full and not self._consequences.include(envelope):
            severity = "warning"  # a fixed program may not need the value
        elif envelope.seq == plan.after:
            message = f"the program no longer reaches {where}, after which all was to be live"
        self.note("missing", address, message, envelope=envelope, severity=severity)


def _related(one: str, other: str) -> bool:
    """Return whether two lanes are the same, or one was started in the other."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
