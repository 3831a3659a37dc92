"""The verdict on an incident: reproduced, prevented or inconclusive.

*Prevented* needs evidence: the live crossing was entered with the incident's input, and neither its outcome nor its effect
recurred; or changed code upstream kept it from being reached. *Reproduced* is the same outcome or the same effect again. All
else is *inconclusive* and fails: it is never guessed that a fix works.

The judgement is of recurrence only. What should happen instead is the test's own statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

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
"""Effects that are listed by name."""


class Judged(Struct, frozen=True, kw_only=True):
    """The verdict on one crossing.

    Attributes:
        reasons: facts in words: why it is no other verdict.
        effects: what it still did.
    """

    envelope: Envelope
    kind: Kind
    reasons: tuple[str, ...] = ()
    effects: tuple[StateEffect, ...] = ()
    did: bool = False
    """Whether it had effects in the runs of unchanged code, by which it is judged."""
    is_entered: bool = False
    """Whether it ran live."""
    is_sure: bool = False
    """Whether it is prevented altogether: not reached, refused, without the effects that it had, or with nothing left of its
    outcome. A field that changes in one of several tools may be no more than a label."""


class Verdict(Struct, frozen=True, kw_only=True):
    """The verdict on an incident."""

    kind: Kind
    crossings: tuple[Judged, ...] = ()
    reasons: tuple[str, ...] = ()
    """Why it is inconclusive as a whole."""

    @property
    def effects(self) -> tuple[StateEffect, ...]:
        """What the live crossings still did."""
        return tuple(dict.fromkeys(effect for each in self.crossings for effect in each.effects))


def judge(wanted: Sequence[Envelope], case: Case) -> Verdict:
    """Return the verdict on the crossings that went wrong when the trace was recorded."""
    judged = tuple(_CrossingJudge(case, each).judged() for each in wanted)
    # A fix of a tool that is called several times need not touch each call.
    changed = {each.envelope.name for each in judged if each.kind == "prevented"}
    kinds = {each.kind for each in judged}
    if "inconclusive" in kinds:
        return Verdict(kind="inconclusive", crossings=judged)
    if "prevented" not in kinds:
        return Verdict(kind="reproduced", crossings=judged)
    left = [
        each
        for each in judged
        if each.kind == "reproduced"
        and each.envelope.name not in changed
        and not any(_outweighs(other, each) for other in judged)
    ]
    if not left:
        return Verdict(kind="prevented", crossings=judged)
    done = ", ".join(each.envelope.address for each in judged if each.kind == "prevented")
    again = ", ".join(each.envelope.address for each in left)
    reason = f"{done} went otherwise, and {again} did again what it did in the incident; name those that went wrong alone"
    return Verdict(kind="inconclusive", crossings=judged, reasons=(reason,))


def _outweighs(prevented: Judged, again: Judged) -> bool:
    """Return whether one crossing is prevented so that another one may do again what it did: a reply is still sent.

    What is no longer reached after something harmful was done once more shows nothing.
    """
    if not prevented.is_sure:
        return False
    return prevented.is_entered or not again.did or prevented.envelope.seq < again.envelope.seq


class _CrossingJudge:
    """Judges one crossing."""

    def __init__(self, case: Case, envelope: Envelope) -> None:
        self._case = case
        self._envelope = envelope
        self._address = envelope.address
        self._seen = case.seen_at(self._address)
        self._effects = tuple(each for each in self._seen.effects if not each.what.startswith(LOG))
        self._print = case.usual_at(self._address)
        self._ignored = case.ignored_at(self._address)

    def judged(self) -> Judged:
        """Return the verdict."""
        now = next((each for each in self._case.replayed if each.envelope.address == self._address), None)
        if now is None or now.recorded is None:
            return self._not_reached()
        if now.mode != "live":
            return self._inconclusive([f"{self._address} was served from the record, so nothing was tried"])
        outcome = now.envelope.outcome
        if (
            isinstance(outcome, Streamed)
            and isinstance(outcome.end, Abandoned)
            and not _was_abandoned(self._envelope)
        ):
            return self._inconclusive(
                [f"{self._address} has not ended: the program was over before, or goes on without its answer"]
            )
        recurs = self._recurs(now.envelope)
        if recurs is not None:
            return recurs
        reasons = [
            *blockers.of_crossing(self._case, self._address),
            *blockers.of_input(self._case, self._envelope),
        ]
        if self._print is None and not self._is_sure(now.envelope):
            reasons.append(
                f"{self._address} ended otherwise in a part, and nobody has tried which fields vary on unchanged code; say"
                " in the test what should happen"
            )
        if reasons:
            return self._inconclusive(reasons)
        return self._made(
            "prevented", [self._how_prevented(now.envelope)], is_sure=self._is_sure(now.envelope)
        )

    # --- recurrence --------------------------------------------------------------------------------------------------

    def _recurs(self, now: Envelope) -> Judged | None:
        """Return the verdict where outcome or effect recurs, or nothing could tell; None where neither does."""
        outcome, known = outcome_of(now), self._print
        recorded = print_of([outcome_of(self._envelope)])
        same = not self._differences(recorded, outcome, known)
        if known is not None and not same and not known.outcome.differences(outcome, self._ignored):
            return self._as_unchanged(known)
        tells = self._tells(recorded, known)
        had = () if known is None else known.effects
        given = self._envelope.arguments
        again = [each for each in had if each.recurs_in(self._effects, given)]
        elsewhere = self._done_elsewhere(had, given)
        if elsewhere and len(again) < len(had):
            return self._inconclusive(
                [
                    f"what {self._address} did in the incident is done outside of it: {'; '.join(map(shown, elsewhere))}"
                ]
            )
        if had and len(again) == len(had):
            return self._made("reproduced", ["it did to the world what it did in the incident"])
        if same and tells:
            return self._made("reproduced", ["it gave what it gave in the incident"])
        return self._recurs_in_part(had, again, given) or self._undecided(known, same=same)

    def _recurs_in_part(
        self, had: Sequence[EffectPrint], again: Sequence[EffectPrint], given: Mapping[str, Any]
    ) -> Judged | None:
        """Return the verdict where a part of the effects recurs, or may do so unread; None where none does.

        Args:
            had: the effects in the incident.
            again: those of them that recur.
            given: the crossing's input in the incident.
        """
        if any(
            self._is_material(effect)
            for effect in self._effects
            if any(each.is_alike(effect) or each.recurs_in([effect], given) for each in again)
        ):
            return self._inconclusive(
                [f"{self._address} still did a part of what it did in the incident: {self._listed_effects()}"]
            )
        lost = [each for each in self._effects if any(_loses_as_much(each, one) for one in had)]
        if lost:
            listed = "; ".join(map(shown, lost))
            return self._inconclusive(
                [f"{self._address} still lost what it changed in the incident: {listed}"]
            )
        unread = [each for each in self._effects if is_opaque(each)]
        if had and unread:
            listed = "; ".join(map(shown, unread))
            reason = f"{self._address} wrote what can't be read, so it may hold what it did in the incident: {listed}"
            return self._inconclusive([reason])
        return None

    def _undecided(self, known: CrossingPrint | None, *, same: bool) -> Judged | None:
        """Return the verdict where nothing could tell whether it recurs; None where something could."""
        if same and not (known is not None and known.effects):
            what = "nothing" if not self._varies(known) else "only fields that are others in each run"
            return self._inconclusive(
                [
                    (
                        f"{self._address} gave {what} in the incident, as it does now, and did nothing to files or databases"
                        " by which the two could be told apart"
                    )
                ]
            )
        if known is None and self._effects:
            return self._inconclusive(
                [
                    (
                        f"{self._address} ended otherwise, and still did this: {self._listed_effects()}; nobody has tried"
                        " what unchanged code does, so it can't be told whether that is what went wrong"
                    )
                ]
            )
        return None

    def _done_elsewhere(self, had: Sequence[EffectPrint], given: Mapping[str, Any]) -> list[StateEffect]:
        """Return what was done outside of this crossing that it did, and that unchanged code does not do there."""
        baseline = self._case.baseline or Baseline()
        new: list[StateEffect] = []
        for address, seen in self._case.evidence.items():
            if address == self._address:
                continue
            usual = baseline.outside if address == OUTSIDE else ()
            if address in baseline.crossings:
                usual = baseline.crossings[address].effects
            new += [each for each in seen.effects if not any(one.is_again(each) for one in usual)]
        # What a program keeps in its globals, such as a conversation, may quote the input.
        return [
            each
            for each in new
            if any(
                one.recurs_in([each], given) and (".py:" not in each.path or one.is_alike(each))
                for one in had
            )
        ]

    def _is_material(self, effect: StateEffect) -> bool:
        """Return whether an effect has to do with what the crossing was given, unlike a counter or the time of a call."""
        given = [each for each in flatten(self._envelope.arguments).values() if _says_something(each)]
        words = {each for each in words_in(effect) if len(each) > 1}
        return not given or any(not words.isdisjoint(words_in(each)) for each in given)

    def _as_unchanged(self, known: CrossingPrint) -> Judged:
        """Return the verdict on a crossing that ends as unchanged code does, and not as the incident did."""
        fields = ", ".join(known.unlike_record[:_SHOWN]) or "its outcome"
        reason = (
            f"{self._address} does what it did on unchanged code, where {fields} is not what it was in the incident: state is"
            " missing, or the code has changed since; name the file in a [[snapshot]] and record again"
        )
        return self._inconclusive(blockers.denied(self._case, self._address) or [reason])

    def _differences(self, recorded: Any, outcome: Any, known: CrossingPrint | None) -> list[str]:
        """Return where an outcome is not the recorded one, without what varies between runs of the same code."""
        found = recorded.differences(outcome, self._ignored)
        if known is None or not found:
            return list(found)
        varying = known.outcome.varying()
        # A text of which a part varies is compared with what the runs had in common.
        return [
            path
            for path in found
            if not is_below(path, varying) or path in known.outcome.differences(outcome, self._ignored)
        ]

    def _tells(self, recorded: Any, known: CrossingPrint | None) -> bool:
        leaves = [path for path in recorded.leaves if not is_below(path, self._ignored)]
        if not leaves:
            return False
        if known is not None:
            whole = {path for path, each in known.outcome.leaves.items() if each == "*"}
            leaves = [path for path in leaves if path not in whole]
        values = flatten(outcome_of(self._envelope))
        return any(values.get(path) is not None for path in leaves)

    def _varies(self, known: CrossingPrint | None) -> bool:
        return bool(self._ignored) or (known is not None and bool(known.outcome.varying()))

    def _is_sure(self, now: Envelope) -> bool:
        """Return whether a crossing that went otherwise is prevented altogether."""
        if self._seen.refusal is not None:
            return True
        if self._print is not None and self._print.effects:
            had = self._print.effects
            # A counter goes on counting; what has to do with the input must be gone.
            telling = [each for each in had if each.carries] or list(had)
            return not any(each.is_alike(effect) for each in telling for effect in self._effects)
        given = {repr(each) for each in flatten(self._envelope.arguments).values()}
        was, is_now = flatten(outcome_of(self._envelope)), flatten(outcome_of(now))
        return not any(
            path in is_now and is_now[path] == value
            for path, value in was.items()
            if repr(value) not in given and not is_below(path, self._ignored)
        )

    def _how_prevented(self, now: Envelope) -> str:
        had = self._print is not None and self._print.effects
        did = ", and did not do again what it did to the world" if had else ""
        changed = any(
            each.kind == "input" and each.address == self._address for each in self._case.divergences
        )
        given = "something else, by changed code," if changed else "what it was given in the incident"
        return f"{self._address} was given {given} and {outcome_words(now)}{did}"

    # --- not reached -------------------------------------------------------------------------------------------------

    def _not_reached(self) -> Judged:
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
            f"{each.message}; so it is not known why {address} was not reached"
            for each in case.divergences
            if each.severity == "error"
            and each.kind in {"extra", "network", "outcome"}
            and each.address != address
        ][:2]
        if case.changed_sources is None and not case.swaps:
            reasons.append(
                f"the program doesn't reach {address}, and it is not known whether its code has changed; make the incident"
                " with `autochron incident new`, which notes that"
            )
        if not case.replayed:
            reasons.append("nothing crossed a boundary; call the agent inside the replay")
        known = () if self._print is None else self._print.effects
        elsewhere = self._done_elsewhere(known, self._envelope.arguments)
        reasons += [
            f"what {address} did in the incident is done outside of it: {shown(each)}" for each in elsewhere
        ]
        reasons += [
            *blockers.swallowed(case),
            *blockers.unchanged(case, address),
            *blockers.earlier(case, self._envelope),
        ]
        reasons += [
            f"{each.address} crashed before {address}, which is no refusal: {each.crash}"
            for each in case.evidence.values()
            if each.crash is not None and each.address != address
        ]
        if reasons:
            return self._inconclusive(reasons)
        return self._made("prevented", [f"the program no longer reaches {address}"], is_sure=True)

    # --- making ------------------------------------------------------------------------------------------------------

    def _inconclusive(self, reasons: Iterable[str]) -> Judged:
        return self._made("inconclusive", list(dict.fromkeys(reasons)))

    def _made(self, kind: Kind, reasons: Sequence[str], *, is_sure: bool = False) -> Judged:
        return Judged(
            envelope=self._envelope,
            kind=kind,
            reasons=tuple(reasons),
            effects=self._effects,
            did=self._print is not None
            and any(each.carries or ".py:" not in each.path for each in self._print.effects),
            is_entered=is_sure
            and any(each.envelope.address == self._address for each in self._case.replayed),
            is_sure=is_sure,
        )

    def _listed_effects(self) -> str:
        return "; ".join(shown(each) for each in self._effects[:_SHOWN])


def _was_abandoned(envelope: Envelope) -> bool:
    return isinstance(envelope.outcome, Streamed) and isinstance(envelope.outcome.end, Abandoned)


def _loses_as_much(effect: StateEffect, had: EffectPrint) -> bool:
    """Return whether a file that was changed in the incident loses all that it held, or one that lost all loses something."""
    if not text_fits(had.path, effect.path):
        return False
    if effect.what in {REMOVED, EMPTIED}:
        return not text_fits(had.what, CREATED)
    return effect.what.startswith(LOSES) and any(text_fits(had.what, each) for each in (REMOVED, EMPTIED))


def _says_something(leaf: Any) -> bool:
    return (isinstance(leaf, str) and len(leaf) > 1) or (
        isinstance(leaf, (int, float)) and not isinstance(leaf, bool) and abs(leaf) > 1
    )
