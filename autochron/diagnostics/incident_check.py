"""Raise unless the incident of a trace is prevented. The error says what live crossings did, and where the fix goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

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
"""The most crossings, and effects of one crossing, that a message lists."""


class EndedProgram(Protocol):
    """A recorded program that was run again and has ended."""

    @property
    def status(self) -> int:
        """Its exit status."""

    @property
    def stdout(self) -> str:
        """Its standard output."""

    @property
    def stderr(self) -> str:
        """Its standard error."""

    @property
    def summary(self) -> ReplaySummary:
        """The summary of the replay."""


def refuse_unless_prevented(verdict: Verdict, root: str, caller: str) -> None:
    """Raise unless the verdict is that the incident is prevented.

    Args:
        verdict: the verdict on the incident.
        root: the folder of the project.
        caller: the line of the test that asks, as `file:line`.

    Raises:
        ReproducedError: the incident is reproduced. The error says what happened and where the fix goes.
        InconclusiveError: neither is shown. The error says why, and what to do.
    """
    __tracebackhide__ = True
    if verdict.kind == "reproduced":
        raise ReproducedError(_reproduced(verdict, root, caller))
    if verdict.kind == "inconclusive":
        raise InconclusiveError(_inconclusive(verdict, caller))


def wanted_of(record: Record, plan: ReplayPlan, addresses: Sequence[str]) -> list[Envelope]:
    """Return the recorded crossings of these addresses, or by default the `suspects`.

    Raises:
        NotCrossedError: the record has no crossing of an address.
    """
    return [_recorded(record, address) for address in addresses] or suspects(record, plan)


def has_failed(record: Record) -> bool:
    """Return whether the recorded program or block failed: with an exit status other than 0, or by an exception."""
    footer = record.footer
    return footer is not None and bool(footer.status or footer.error)


def refuse_failure(record: Record, rerun: EndedProgram | None, case: Case, caller: str) -> None:
    """Raise if a program that failed when it was recorded fails again, or ends well for no known reason.

    Code that is called in this process needs no such check: an exception of it would have ended the test already.

    Args:
        record: the recorded trace.
        rerun: the program that was run again; None if there is none.
        case: what the verdict rests on.
        caller: the line of the test that asks, as `file:line`.

    Raises:
        ReproducedError: it fails with the same status. The error quotes its last output.
        InconclusiveError: it fails in another way, or ends well although no code has changed.
    """
    __tracebackhide__ = True
    footer = record.footer
    if rerun is None or footer is None:
        return
    next_step = f"then say in {caller} what should happen, in the place of this check"
    error = f" ({footer.error})" if footer.error else ""
    if rerun.status:
        last_output = _last_lines(rerun.stderr or rerun.stdout)
        if rerun.summary.stopped:
            raise InconclusiveError(
                f"the replay stopped the program, so it is not known how it would end. It said last:\n{last_output}\n"
                f"make that live, or record again; {next_step}"
            )
        message = (
            f"the program ended with status {rerun.status}; in the incident with {footer.status}{error}. It said last:\n"
            f"{last_output}\nthe fix goes where this comes from; {next_step}"
        )
        raise ReproducedError(message) if rerun.status == footer.status else InconclusiveError(message)
    reasons = why_not_fixed(case)
    if reasons:
        listed = "\n".join(f"  {reason}" for reason in reasons)
        raise InconclusiveError(
            f"the program ends well, but that does not show that the incident is prevented:\n{listed}\n"
            f"mend that; {next_step}"
        )


def suspects(record: Record, plan: ReplayPlan) -> list[Envelope]:
    """Return the crossings that run live. Models and ambient values are left out, unless there is nothing else."""
    live = [envelope for envelope in record if plan.is_live(envelope)]
    return [envelope for envelope in live if envelope.kind not in {"model", "ambient"}] or live


def _recorded(record: Record, address: str) -> Envelope:
    """Return the recorded crossing of an address; raise NotCrossedError if there is none."""
    parts = split_address(address)
    envelope = None if parts is None else record.find(*parts)
    if envelope is None:
        nearest = nearest_names(address if parts is None else parts[0], record.boundaries())
        raise NotCrossedError(f"the record has no crossing {address}, such as place_order[1]; {nearest}")
    return envelope


def _reproduced(verdict: Verdict, root: str, caller: str) -> str:
    """Return the message for a reproduced incident."""
    next_step = f"then say in {caller} what should happen, in the place of this check"
    crossings = verdict.crossings
    if len(crossings) == 1:
        (crossing,) = crossings
        envelope = crossing.envelope
        lines = [
            f"{envelope.address} did again what it did in the incident:",
            f"  it was given {arguments_words(envelope)}",
            f"  and {_ending(crossing)}",
            *_effects(crossing),
            *_in_another_form(crossing, caller),
            f"the fix goes into {place_of(root, envelope)}, or into what calls it; {next_step}",
        ]
        return "\n".join(lines)
    lines = [f"all {len(crossings)} live crossings did again what they did in the incident:"]
    for crossing in crossings[:_FEW]:
        envelope = crossing.envelope
        lines += [
            f"  {envelope.address} ({place_of(root, envelope)})",
            f"    was given {arguments_words(envelope)}",
        ]
        lines += [f"    and {_ending(crossing)}", *(f"  {line}" for line in _effects(crossing))]
    if len(crossings) > _FEW:
        lines.append(f"  … and {len(crossings) - _FEW} more")
    lines.append(f"the fix goes into the one that went wrong, or into what calls it; {next_step}")
    return "\n".join(lines)


def _ending(judged: Judged) -> str:
    """Return how a reproduced crossing ended now, and in the incident if that was something else."""
    recorded = outcome_words(judged.envelope)
    return f"{judged.now}; in the incident it {recorded}" if judged.now else recorded


def _in_another_form(judged: Judged, caller: str) -> list[str]:
    """Return a line for a crossing that did not do exactly the same, which may be right: another direction or recipient."""
    if not judged.in_another_form:
        return []
    fact = "  that is not exactly what it did in the incident, but it holds the same words or amounts"
    return [f"{fact}; if it is right now, say in {caller} what should happen, in the place of this check"]


def _effects(judged: Judged) -> list[str]:
    """Return a line for each effect of a crossing."""
    lines = [f"  and did this: {shown(effect)}" for effect in judged.effects[:_FEW]]
    more = len(judged.effects) - _FEW
    return [*lines, f"  … and {more} more"] if more > 0 else lines


def _inconclusive(verdict: Verdict, caller: str) -> str:
    """Return the message for an inconclusive verdict."""
    lines = ["the incident is not shown to be prevented, and it did not happen again:"]
    reasons = [*verdict.reasons]
    inconclusive = [crossing for crossing in verdict.crossings if crossing.kind == "inconclusive"]
    for crossing in inconclusive:
        reasons += crossing.reasons
    lines += [f"  {reason}" for reason in dict.fromkeys(reasons)]
    effects = [line for crossing in inconclusive for line in _effects(crossing)]
    lines += [f"  it did this{line.removeprefix('  and did this')}" for line in effects]
    lines.append(f"mend that, or say in {caller} what should happen, in the place of this check")
    return "\n".join(lines)


def line_of_caller(depth: int) -> str:
    """Return the line that a frame is on, as `file:line` relative to the working folder.

    Args:
        depth: how many frames out: 1 for the caller of this function.
    """
    frame = getframe(depth)
    file = frame.f_code.co_filename
    relative = os.path.relpath(file)
    return f"{file if relative.startswith(os.pardir) else relative}:{frame.f_lineno}"


def _last_lines(text: str, count: int = 12) -> str:
    return "\n".join(f"  {line}" for line in text.rstrip().splitlines()[-count:])
