"""Whether an incident happens again: what live crossings did then and do now, and where the fix goes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autochron import errors
from autochron._runtime.unpatched import getframe, os
from autochron.diagnostics.rule_survey import compiled
from autochron.envelope.brief import brief
from autochron.errors import InconclusiveError, NotCrossedError, ReproducedError
from autochron.matching.definitions import definitions
from autochron.model import Envelope, Place
from autochron.project import read_source
from autochron.replaying.plan import ReplayPlan, nearest_names, split_address
from autochron.reproduction.blockers import why_not_fixed
from autochron.reproduction.case import Case
from autochron.reproduction.outcomes import outcome_words, shown
from autochron.reproduction.verdict import Judged, Verdict

if TYPE_CHECKING:
    from autochron.ports import Record
    from autochron.session.subprocess_replay import Rerun

_FEW = 8
"""How many crossings are told of in full."""


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


def refuse_failure(record: Record, rerun: Rerun | None, case: Case, caller: str) -> None:
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
            f"  it was given {given(envelope)}",
            f"  and {outcome(envelope)}",
            *_effects(only),
            f"the fix goes into {place_of(root, envelope.site)}, or into what calls it; {then}",
        ]
        return "\n".join(lines)
    lines = [f"all {len(judged)} live crossings did again what they did in the incident:"]
    for each in judged[:_FEW]:
        envelope = each.envelope
        lines += [
            f"  {envelope.address} ({place_of(root, envelope.site)})",
            f"    was given {given(envelope)}",
        ]
        lines += [f"    and {outcome(envelope)}", *(f"  {line}" for line in _effects(each))]
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


def given(envelope: Envelope) -> str:
    """Say what a crossing was given."""
    value = envelope.arguments
    return brief(value, bare=True) if isinstance(value, dict) and value else "nothing"


def outcome(envelope: Envelope) -> str:
    """Say how a crossing ended, beginning with a verb."""
    return outcome_words(envelope)


def place_of(root: str, site: str) -> str:
    """Say where the definition of a site stands today: `issue_refund, agent.py:51`."""
    file, _, label = parts_of(site)
    place = definition_of(root, site)
    if place is None:
        return label if file.endswith(".py") else f"{label} of the library {file.partition('.')[0]}"
    return f"{label}, {place}"


def parts_of(site: str) -> tuple[str, str, str]:
    """Return file or module, qualified name of the definition, and what to call it, of a recorded site."""
    file, _, rest = site.removeprefix("@").partition(":")
    qualname, arrow, pattern = rest.partition(" → ")
    return file, qualname, f"{pattern} in {qualname}" if arrow else qualname


def is_gone(root: str, site: str) -> bool:
    """Return whether a recorded site was a definition of the project's that its source no longer has."""
    file, _, label = parts_of(site)
    return file.endswith(".py") and " in " not in label and definition_of(root, site) is None


def misfit(root: str, envelope: Envelope) -> str | None:
    """Return why a function of the project no longer takes the recorded arguments; None if it does.

    Such a call fails before the function begins, and a library that makes it may pass the error on as an answer.
    """
    file, qualname, _ = parts_of(envelope.site)
    place = definition_of(root, envelope.site)
    source = None if place is None else read_source(os.path.join(root, file))
    if source is None or place is None:
        return None
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        first = min(node.lineno, *(each.lineno for each in node.decorator_list), node.lineno)
        if first == place.line and node.name == qualname.rpartition(".")[2]:
            return _misfit(node.args, envelope.arguments, is_method="." in qualname)
    return None


def _misfit(taken: ast.arguments, given: dict[str, Any], *, is_method: bool) -> str | None:
    """Return what keeps a function with these parameters from taking arguments by name."""
    positional = [each.arg for each in (*taken.posonlyargs, *taken.args)]
    required = positional[: len(positional) - len(taken.defaults)]
    required += [
        each.arg for each, default in zip(taken.kwonlyargs, taken.kw_defaults, strict=True) if default is None
    ]
    if is_method:
        required = required[1:]
    for name in required:
        if name not in given:
            return f"{name} has no default"
    known = {*positional, *(each.arg for each in taken.kwonlyargs)}
    known |= {each.arg for each in (taken.vararg, taken.kwarg) if each is not None}
    for name, value in given.items():
        # What stood for `*args` and `**kwargs` may have held nothing.
        if name not in known and taken.kwarg is None and value not in ([], {}):
            return f"it has no parameter {name}"
    return None


def definition_of(root: str, site: str) -> Place | None:
    """Find the definition of a recorded site in the project's source as it is now; a call's is what it stands in."""
    file, qualname, _ = parts_of(site)
    code = compiled(os.path.join(root, file)) if file.endswith(".py") else None
    if code is None:
        return None
    return next(
        (Place(file, each.co_firstlineno) for name, each in definitions(code) if name == qualname), None
    )


def line_of_caller(depth: int) -> str:
    """Name the line that asks, relative to the working folder."""
    frame = getframe(depth)
    file = frame.f_code.co_filename
    near = os.path.relpath(file)
    return f"{file if near.startswith(os.pardir) else near}:{frame.f_lineno}"


def _last_lines(text: str, count: int = 12) -> str:
    return "\n".join(f"  {line}" for line in text.rstrip().splitlines()[-count:])
