"""The verdict on an incident: reproduced, prevented or inconclusive.

*Prevented* needs evidence: the live crossing was entered with the incident's input, and neither its outcome nor its effects
recurred; or changed code upstream kept it from being reached. *Reproduced* means that the same outcome or the same effects
occurred again. Anything else is *inconclusive* and fails the test: autochron never guesses that a fix works.

The verdict is about recurrence only. The test itself states what should happen instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct, structs

from autochron.effects.changes import CREATED, EMPTIED, LOG, LOSES, REMOVED
from autochron.model import (
    OUTSIDE,
    Abandoned,
    Envelope,
    StateEffect,
    Streamed,
)
from autochron.reproduction import blockers
from autochron.reproduction.baseline import Baseline, CrossingPrint, EffectPrint, is_opaque, words_in
from autochron.reproduction.case import Case
from autochron.reproduction.outcomes import outcome_of, outcome_words, shown
from autochron.reproduction.prints import flatten, is_below, print_of, text_fits

Kind: TypeAlias = Literal["reproduced", "prevented", "inconclusive"]

_SHOWN = 8
"""How many effects or fields a message lists."""


class Judged(Struct, frozen=True, kw_only=True):
    """The verdict on one crossing.

    Attributes:
        reasons: the facts that led to this verdict, as messages.
        effects: what the crossing did in the replay.
    """

    envelope: Envelope
    kind: Kind
    reasons: tuple[str, ...] = ()
    effects: tuple[StateEffect, ...] = ()
    did: bool = False
    """Whether it had effects in the runs of unchanged code by which it can be judged."""
    is_entered: bool = False
    """Whether it is surely prevented and was reached in the replay."""
    is_sure: bool = False
    """Whether it is surely prevented: not reached, refused, without the effects that it had, or with nothing left of its
    outcome. It is not sure where a field merely changed, which may be no more than a label."""
    now: str = ""
    """How a reproduced crossing ended now, as `outcome_words` say; empty if it ended as in the incident."""
    in_another_form: bool = False
    """Whether its effects are not exactly those of the incident, but hold the same words or amounts."""


class Verdict(Struct, frozen=True, kw_only=True):
    """The verdict on an incident."""

    kind: Kind
    crossings: tuple[Judged, ...] = ()
    reasons: tuple[str, ...] = ()
    """Why the incident is inconclusive although no single crossing is."""

    @property
    def effects(self) -> tuple[StateEffect, ...]:
        """What the judged crossings did in the replay, each effect once."""
        return tuple(dict.fromkeys(effect for crossing in self.crossings for effect in crossing.effects))


def judge(wanted: Sequence[Envelope], case: Case) -> Verdict:
    """Return the verdict on an incident.

    The incident is prevented if at least one crossing is, none is inconclusive, and each that is reproduced either has the
    name of a prevented one or may recur because of a prevented one. Without a crossing to judge it is inconclusive.

    Args:
        wanted: the recorded envelopes of the crossings that went wrong.
        case: the facts about the replay.
    """
    if not wanted:
        reason = (
            "nothing that was recorded runs live, so nothing could happen again; say in the test what is live"
        )
        return Verdict(kind="inconclusive", reasons=(reason,))
    judged = tuple(_CrossingJudge(case, envelope).judge() for envelope in wanted)
    # A fix of a tool that is called several times need not change every call.
    changed = {crossing.envelope.name for crossing in judged if crossing.kind == "prevented"}
    kinds = {crossing.kind for crossing in judged}
    if "inconclusive" in kinds:
        return Verdict(kind="inconclusive", crossings=judged)
    if "prevented" not in kinds:
        return Verdict(kind="reproduced", crossings=judged)
    reproduced = [
        crossing
        for crossing in judged
        if crossing.kind == "reproduced"
        and crossing.envelope.name not in changed
        and not any(_outweighs(prevented, crossing) for prevented in judged)
    ]
    if not reproduced:
        return Verdict(kind="prevented", crossings=judged)
    prevented_addresses = ", ".join(
        crossing.envelope.address for crossing in judged if crossing.kind == "prevented"
    )
    reproduced_addresses = ", ".join(crossing.envelope.address for crossing in reproduced)
    reason = (
        f"{prevented_addresses} is prevented, but {reproduced_addresses} did again what it did in the incident; name in the"
        " test only those that went wrong"
    )
    return Verdict(kind="inconclusive", crossings=judged, reasons=(reason,))


def _outweighs(prevented: Judged, reproduced: Judged) -> bool:
    """Return whether one crossing is prevented so surely that another one may recur: a reply, for example, is still sent.

    A crossing that is merely no longer reached, after another one repeated its effects, proves nothing.
    """
    if not prevented.is_sure:
        return False
    return prevented.is_entered or not reproduced.did or prevented.envelope.seq < reproduced.envelope.seq


class _CrossingJudge:
    """Decides the verdict on one crossing.

    The `_judge_…` methods return a verdict where their case decides it, or None to leave it to the next one.
    """

    def __init__(self, case: Case, envelope: Envelope) -> None:
        self._case = case
        self._envelope = envelope
        self._address = envelope.address
        self._evidence = case.evidence_at(self._address)
        self._effects = tuple(effect for effect in self._evidence.effects if not effect.what.startswith(LOG))
        self._baseline = case.baseline_at(self._address)
        self._ignored = case.ignored_at(self._address)

    def judge(self) -> Judged:
        """Return the verdict on this crossing."""
        crossing = next(
            (replayed for replayed in self._case.replayed if replayed.envelope.address == self._address), None
        )
        if crossing is None or crossing.recorded is None:
            return self._judge_unreached()
        if crossing.mode != "live":
            return self._inconclusive([f"{self._address} was served from the record, so nothing was tried"])
        outcome = crossing.envelope.outcome
        if (
            isinstance(outcome, Streamed)
            and isinstance(outcome.end, Abandoned)
            and not _is_abandoned(self._envelope)
        ):
            return self._inconclusive(
                [f"{self._address} has not ended: the program was over before, or goes on without its answer"]
            )
        recurrence = self._judge_recurrence(crossing.envelope)
        if recurrence is not None:
            return recurrence
        reasons = [
            *blockers.of_crossing(self._case, self._address),
            *blockers.of_input(self._case, self._envelope),
        ]
        if self._baseline is None and not self._is_sure(crossing.envelope):
            reasons.append(
                f"{self._address} ended differently only in part, and it is not known which fields vary on unchanged code;"
                " assert in the test what should happen"
            )
        if reasons:
            return self._inconclusive(reasons)
        return self._verdict(
            "prevented", [self._how_prevented(crossing.envelope)], is_sure=self._is_sure(crossing.envelope)
        )

    # --- recurrence --------------------------------------------------------------------------------------------------

    def _judge_recurrence(self, replayed: Envelope) -> Judged | None:
        """Return the verdict if the outcome or an effect recurs, or if nothing could show it; None if neither recurs."""
        outcome, baseline = outcome_of(replayed), self._baseline
        recorded = print_of([outcome_of(self._envelope)])
        is_same = not self._differences(recorded, outcome, baseline)
        if baseline is not None and not is_same and not baseline.outcome.differences(outcome, self._ignored):
            return self._judge_as_unchanged(baseline)
        outcome_tells = self._outcome_tells(recorded, baseline)
        baseline_effects = () if baseline is None else baseline.effects
        arguments = self._envelope.arguments
        recurring = [effect for effect in baseline_effects if effect.recurs_in(self._effects, arguments)]
        elsewhere = self._done_elsewhere(baseline_effects, arguments)
        if elsewhere and len(recurring) < len(baseline_effects):
            return self._inconclusive(
                [
                    f"what {self._address} did in the incident is done outside of it: {'; '.join(map(shown, elsewhere))}"
                ]
            )
        if baseline_effects and len(recurring) == len(baseline_effects):
            is_exact = all(
                any(known.matches(effect) for effect in self._effects) for known in baseline_effects
            )
            verdict = self._verdict("reproduced", ["it did to the world what it did in the incident"])
            now = "" if is_same else outcome_words(replayed)
            return structs.replace(verdict, now=now, in_another_form=not is_exact)
        if is_same and outcome_tells:
            return self._verdict("reproduced", ["it gave what it gave in the incident"])
        return self._judge_partial_recurrence(
            baseline_effects, recurring, arguments
        ) or self._judge_undecidable(baseline, is_same=is_same)

    def _judge_partial_recurrence(
        self,
        baseline_effects: Sequence[EffectPrint],
        recurring: Sequence[EffectPrint],
        arguments: Mapping[str, Any],
    ) -> Judged | None:
        """Return the verdict if some of the effects recur, or may recur in something unreadable; None if none does.

        Args:
            baseline_effects: the effects of unchanged code.
            recurring: those of them that recur.
            arguments: the crossing's input in the incident.
        """
        if any(
            self._is_material(effect)
            for effect in self._effects
            if any(known.is_of_kind(effect) or known.recurs_in([effect], arguments) for known in recurring)
        ):
            return self._inconclusive(
                [f"{self._address} still did a part of what it did in the incident: {self._listed_effects()}"]
            )
        lost = [
            effect
            for effect in self._effects
            if any(_loses_as_much(effect, known) for known in baseline_effects)
        ]
        if lost:
            listed = "; ".join(map(shown, lost))
            return self._inconclusive(
                [f"{self._address} still lost what it changed in the incident: {listed}"]
            )
        if any(known.is_exceeded_by(self._effects) for known in baseline_effects):
            return self._inconclusive(
                [f"{self._address} did more than it did in the incident: {self._listed_effects()}"]
            )
        unread = [effect for effect in self._effects if is_opaque(effect)]
        if baseline_effects and unread:
            listed = "; ".join(map(shown, unread))
            reason = f"{self._address} wrote data that can't be read, which may repeat the incident: {listed}"
            return self._inconclusive([reason])
        return None

    def _judge_undecidable(self, baseline: CrossingPrint | None, *, is_same: bool) -> Judged | None:
        """Return the verdict if no outcome and no effect can show whether it recurs; None if one can."""
        if is_same and not (baseline is not None and baseline.effects):
            content = (
                "nothing" if not self._has_varying_fields(baseline) else "only fields that vary between runs"
            )
            return self._inconclusive(
                [
                    (
                        f"{self._address} gave {content} in the incident and now, and changed no file or database, so the two"
                        " can't be told apart"
                    )
                ]
            )
        if baseline is None and self._effects:
            return self._inconclusive(
                [
                    (
                        f"{self._address} ended differently but still did this: {self._listed_effects()}; it is not known"
                        " what unchanged code does, so this may be what went wrong"
                    )
                ]
            )
        return None

    def _done_elsewhere(
        self, baseline_effects: Sequence[EffectPrint], arguments: Mapping[str, Any]
    ) -> list[StateEffect]:
        """Return effects outside of this crossing that repeat its own and that unchanged code does not have there."""
        baseline = self._case.baseline or Baseline()
        unusual: list[StateEffect] = []
        for address, evidence in self._case.evidence.items():
            if address == self._address:
                continue
            usual = baseline.outside if address == OUTSIDE else ()
            if address in baseline.crossings:
                usual = baseline.crossings[address].effects
            unusual += [
                effect for effect in evidence.effects if not any(known.matches(effect) for known in usual)
            ]
        # Module globals, such as a conversation, may quote the input without doing any harm, so they need the same kind.
        return [
            effect
            for effect in unusual
            if any(
                known.recurs_in([effect], arguments)
                and (".py:" not in effect.path or known.is_of_kind(effect))
                for known in baseline_effects
            )
        ]

    def _is_material(self, effect: StateEffect) -> bool:
        """Return whether an effect is related to the crossing's input, unlike a counter or the time of a call."""
        input_leaves = [leaf for leaf in flatten(self._envelope.arguments).values() if _is_telling(leaf)]
        words = {word for word in words_in(effect) if len(word) > 1}
        return not input_leaves or any(not words.isdisjoint(words_in(leaf)) for leaf in input_leaves)

    def _judge_as_unchanged(self, baseline: CrossingPrint) -> Judged:
        """Return the verdict on a crossing whose outcome is that of unchanged code but not that of the incident."""
        fields = ", ".join(baseline.unlike_record[:_SHOWN]) or "its outcome"
        reason = (
            f"{self._address} ended as on unchanged code, where {fields} is not what it was in the incident: state is"
            " missing, or the code has changed since; name the file in a [[snapshot]] and record again"
        )
        return self._inconclusive(blockers.denied(self._case, self._address) or [reason])

    def _differences(self, recorded: Any, outcome: Any, baseline: CrossingPrint | None) -> list[str]:
        """Return the paths where an outcome differs from the recorded one, without those that vary between runs."""
        paths = recorded.differences(outcome, self._ignored)
        if baseline is None or not paths:
            return list(paths)
        varying = baseline.outcome.varying()
        # A text that varies in part is compared with what it had in common in the runs of unchanged code.
        return [
            path
            for path in paths
            if not is_below(path, varying) or path in baseline.outcome.differences(outcome, self._ignored)
        ]

    def _outcome_tells(self, recorded: Any, baseline: CrossingPrint | None) -> bool:
        """Return whether the recorded outcome has a field that is not null, not volatile and not different in each run."""
        leaves = [path for path in recorded.leaves if not is_below(path, self._ignored)]
        if not leaves:
            return False
        if baseline is not None:
            varying = {path for path, leaf in baseline.outcome.leaves.items() if leaf == "*"}
            leaves = [path for path in leaves if path not in varying]
        values = flatten(outcome_of(self._envelope))
        return any(values.get(path) is not None for path in leaves)

    def _has_varying_fields(self, baseline: CrossingPrint | None) -> bool:
        return bool(self._ignored) or (baseline is not None and bool(baseline.outcome.varying()))

    def _is_sure(self, replayed: Envelope) -> bool:
        """Return whether a crossing that does not recur is surely prevented: see `Judged.is_sure`."""
        if self._evidence.refusal is not None:
            return True
        if self._baseline is not None and self._baseline.effects:
            baseline_effects = self._baseline.effects
            # A counter goes on counting. Effects that hold the input must be absent.
            telling = [effect for effect in baseline_effects if effect.carries] or list(baseline_effects)
            return not any(known.is_of_kind(effect) for known in telling for effect in self._effects)
        input_leaves = {repr(leaf) for leaf in flatten(self._envelope.arguments).values()}
        recorded_leaves, replayed_leaves = flatten(outcome_of(self._envelope)), flatten(outcome_of(replayed))
        return not any(
            path in replayed_leaves and replayed_leaves[path] == value
            for path, value in recorded_leaves.items()
            if repr(value) not in input_leaves and not is_below(path, self._ignored)
        )

    def _how_prevented(self, replayed: Envelope) -> str:
        has_effects = self._baseline is not None and self._baseline.effects
        effects_clause = ", and did not do again what it did to the world" if has_effects else ""
        is_input_changed = any(
            divergence.kind == "input" and divergence.address == self._address
            for divergence in self._case.divergences
        )
        input_phrase = (
            "something else, by changed code," if is_input_changed else "what it was given in the incident"
        )
        return f"{self._address} was given {input_phrase} and {outcome_words(replayed)}{effects_clause}"

    # --- not reached -------------------------------------------------------------------------------------------------

    def _judge_unreached(self) -> Judged:
        case, address = self._case, self._address
        reasons: list[str] = []
        if case.gone(self._envelope):
            reasons.append(
                f"{address} ({self._envelope.site}) is in the trace and no longer in the code; if it was renamed or moved,"
                f' give the new function\'s [[boundary]] name = "{self._envelope.name}"'
            )
        misfit = case.misfit(self._envelope)
        if misfit is not None:
            reasons.append(
                f"{address} can't be called as it was in the incident: {misfit}; so the call fails, which is no refusal; give"
                " what is new a default, keep what was there, or record again"
            )
        if case.broke is not None:
            reasons.append(f"the program broke before it reached {address}: {case.broke}")
        reasons += [
            f"{divergence.message}; so it is not known why {address} was not reached"
            for divergence in case.divergences
            if divergence.severity == "error"
            and divergence.kind in {"extra", "network", "outcome"}
            and divergence.address != address
        ][:2]
        if case.changed_sources is None and case.baseline is None and not case.swaps:
            reasons.append(
                f"the program doesn't reach {address}, and it is not known whether its code has changed; make the incident"
                " with `autochron incident new`, which notes that"
            )
        if not case.replayed:
            advice = f"the program {case.ended}" if case.ended else "call the agent inside the replay"
            reasons.append(f"nothing crossed a boundary; {advice}")
        baseline_effects = () if self._baseline is None else self._baseline.effects
        elsewhere = self._done_elsewhere(baseline_effects, self._envelope.arguments)
        reasons += [
            f"what {address} did in the incident is done outside of it: {shown(effect)}"
            for effect in elsewhere
        ]
        reasons += [
            *blockers.swallowed(case),
            *blockers.no_source_changed(case, address),
            *blockers.changed_before(case, self._envelope),
        ]
        reasons += [
            f"{evidence.address} crashed before {address}, which is no refusal: {evidence.crash}"
            for evidence in case.evidence.values()
            if evidence.crash is not None and evidence.address != address
        ]
        if reasons:
            return self._inconclusive(reasons)
        return self._verdict("prevented", [f"the program no longer reaches {address}"], is_sure=True)

    # --- verdicts ----------------------------------------------------------------------------------------------------

    def _inconclusive(self, reasons: Iterable[str]) -> Judged:
        return self._verdict("inconclusive", list(dict.fromkeys(reasons)))

    def _verdict(self, kind: Kind, reasons: Sequence[str], *, is_sure: bool = False) -> Judged:
        return Judged(
            envelope=self._envelope,
            kind=kind,
            reasons=tuple(reasons),
            effects=self._effects,
            did=self._baseline is not None
            and any(effect.carries or ".py:" not in effect.path for effect in self._baseline.effects),
            is_entered=is_sure
            and any(replayed.envelope.address == self._address for replayed in self._case.replayed),
            is_sure=is_sure,
        )

    def _listed_effects(self) -> str:
        return "; ".join(shown(effect) for effect in self._effects[:_SHOWN])


def _is_abandoned(envelope: Envelope) -> bool:
    return isinstance(envelope.outcome, Streamed) and isinstance(envelope.outcome.end, Abandoned)


def _loses_as_much(effect: StateEffect, known: EffectPrint) -> bool:
    """Return whether an effect destroys a file's data as the incident did, in another way.

    It removes or empties a file that the incident changed and did not create, or loses data of one that the incident removed
    or emptied.
    """
    if not text_fits(known.path, effect.path):
        return False
    if effect.what in {REMOVED, EMPTIED}:
        return not text_fits(known.what, CREATED)
    return effect.what.startswith(LOSES) and any(
        text_fits(known.what, change) for change in (REMOVED, EMPTIED)
    )


def _is_telling(leaf: Any) -> bool:
    return (isinstance(leaf, str) and len(leaf) > 1) or (
        isinstance(leaf, (int, float)) and not isinstance(leaf, bool) and abs(leaf) > 1
    )
