"""Raise unless the incident of a trace is prevented: what live crossings did then and do now, and where the fix goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from autochron import errors
from autochron._runtime.unpatched import getframe, os
from autochron.diagnostics.recorded_sites import place_of
from autochron.errors import InconclusiveError, NotCrossedError, ReproducedError
from autochron.model import Envelope
from autochron.replaying.plan import ReplayPlan, nearest_names, split_address
from autochron.reproduction.blockers import why_not_fixed
from autochron.reproduction.case import Case
from autochron.reproduction.outcomes import arguments_words, outcome_words, shown
from autochron.reproduction.verdict import Judged, Verdict

if TYPE_CHECKING:
    from autochron.model import ReplaySummary
    from autochron.ports import Record

_FEW = 8
"""How many crossings are told of in full."""


class EndedProgram(Protocol):
    """A recorded program that was run again, and has ended."""

    @property
    def status(self) -> int:
        """Its exit status."""

    @property
    def stdout(self) -> str:
        """What it printed."""

    @property
    def stderr(self) -> str:
        """What it printed as errors."""

    @property
    def summary(self) -> ReplaySummary:
        """What the replay came to."""


def refuse_unless_prevented(verdict: Verdict, root: str, caller: str) -> None:
    """Raise unless the verdict is that the incident is prevented; `caller` is the line of the test that asks.

    Raises:
        ReproducedError: it happened again; says what that was and where the fix goes.
        InconclusiveError: neither that nor the contrary is shown; says why, and what to do.
    """
    __tracebackhide__ = True
    if verdict.kind == "reproduced":
        raise ReproducedError(_reproduced(verdict, root, caller))
    if verdict.kind == "inconclusive":
        raise InconclusiveError(_inconclusive(verdict, caller))


def wanted_of(record: Record, plan: ReplayPlan, addresses: Sequence[str]) -> list[Envelope]:
    """Return the recorded crossings of these addresses, by default all that are live.

    Raises:
        NotCrossedError: an address is none of the record's.
    """
    return [_recorded(record, each) for each in addresses] or suspects(record, plan)


def has_failed(record: Record) -> bool:
    """Return whether the recorded program or block failed: with an exit status other than 0, or by an exception."""
    footer = record.footer
    return footer is not None and bool(footer.status or footer.error)


def refuse_failure(record: Record, rerun: EndedProgram | None, case: Case, caller: str) -> None:
    """Raise unless a program that failed when it was recorded ends well now, for a reason that is known.

    Of what is called in this process nothing is to be said: had it raised, nobody would ask.

    Raises:
        ReproducedError: it fails again; quotes what it said.
        InconclusiveError: it fails otherwise, or ends well although no code has changed.
    """
    __tracebackhide__ = True
    footer = record.footer
    if rerun is None or footer is None:
        return
    then = f"then say in {caller} what should happen, in the place of this check"
    error = f" ({footer.error})" if footer.error else ""
    if rerun.status:
        last = _last_lines(rerun.stderr or rerun.stdout)
        if _is_ours(rerun.summary.uncaught):
            raise InconclusiveError(
                f"the replay stopped the program, so it is not known how it would end. It said last:\n{last}\nmake that live,"
                f" or record again; {then}"
            )
        said = (
            f"the program ended with status {rerun.status}; in the incident with {footer.status}{error}. It said last:\n"
            f"{last}\nthe fix goes where this comes from; {then}"
        )
        raise ReproducedError(said) if rerun.status == footer.status else InconclusiveError(said)
    reasons = why_not_fixed(case)
    if reasons:
        listed = "\n".join(f"  {each}" for each in reasons)
        raise InconclusiveError(
            f"the program ends well, and that shows nothing:\n{listed}\nmend that; {then}"
        )


def _is_ours(uncaught: str | None) -> bool:
    """Return whether what ended a program is an error of a replay, such as for a crossing that has no record."""
    found = getattr(errors, uncaught or "", None)
    return isinstance(found, type) and issubclass(found, errors.AutochronError)


def suspects(record: Record, plan: ReplayPlan) -> list[Envelope]:
    """Return the recorded crossings that are live, without models and ambient values where there are others: these did it."""
    live = [each for each in record if plan.is_live(each)]
    return [each for each in live if each.kind not in {"model", "ambient"}] or live


def _recorded(record: Record, address: str) -> Envelope:
    parts = split_address(address)
    found = None if parts is None else record.find(*parts)
    if found is None:
        near = nearest_names(address if parts is None else parts[0], record.boundaries())
        raise NotCrossedError(f"the record has no crossing {address}, such as place_order[1]; {near}")
    return found


def _reproduced(verdict: Verdict, root: str, caller: str) -> str:
    then = f"then say in {caller} what should happen, in the place of this check"
    judged = verdict.crossings
    if len(judged) == 1:
        (only,) = judged
        envelope = only.envelope
        lines = [
            f"{envelope.address} did again what it did in the incident:",
            f"  it was given {arguments_words(envelope)}",
            f"  and {outcome_words(envelope)}",
            *_effects(only),
            f"the fix goes into {place_of(root, envelope.site)}, or into what calls it; {then}",
        ]
        return "\n".join(lines)
    lines = [f"all {len(judged)} live crossings did again what they did in the incident:"]
    for each in judged[:_FEW]:
        envelope = each.envelope
        lines += [
            f"  {envelope.address} ({place_of(root, envelope.site)})",
            f"    was given {arguments_words(envelope)}",
        ]
        lines += [f"    and {outcome_words(envelope)}", *(f"  {line}" for line in _effects(each))]
    if len(judged) > _FEW:
        lines.append(f"  … and {len(judged) - _FEW} more")
    lines.append(f"the fix goes into the one that went wrong, or into what calls it; {then}")
    return "\n".join(lines)


def _effects(judged: Judged) -> list[str]:
    lines = [f"  and did this: {shown(each)}" for each in judged.effects[:_FEW]]
    more = len(judged.effects) - _FEW
    return [*lines, f"  … and {more} more"] if more > 0 else lines


def _inconclusive(verdict: Verdict, caller: str) -> str:
    lines = ["neither is the incident prevented by what is known, nor did it happen again:"]
    reasons = [*verdict.reasons]
    for each in verdict.crossings:
        if each.kind == "inconclusive":
            reasons += each.reasons
    lines += [f"  {each}" for each in dict.fromkeys(reasons)]
    did = [line for each in verdict.crossings if each.kind == "inconclusive" for line in _effects(each)]
    lines += [f"  it did this{line.removeprefix('  and did this')}" for line in did]
    lines.append(f"mend that, or say in {caller} what should happen, in the place of this check")
    return "\n".join(lines)


def line_of_caller(depth: int) -> str:
    """Name the line that asks, relative to the working folder."""
    frame = getframe(depth)
    file = frame.f_code.co_filename
    near = os.path.relpath(file)
    return f"{file if near.startswith(os.pardir) else near}:{frame.f_lineno}"


def _last_lines(text: str, count: int = 12) -> str:
    return "\n".join(f"  {line}" for line in text.rstrip().splitlines()[-count:])
