"""Whether an incident happens again: what live crossings did then and do now, and where the fix goes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.json import decode

from autochron.envelope.brief import brief
from autochron.errors import AgainError, NotCrossedError
from autochron.matching import definitions
from autochron.model import Envelope, Place, Raised, Returned, Streamed
from autochron.replaying.plan import Plan, nearest_names, split_address
from autochron.session.survey import compiled

if TYPE_CHECKING:
    from autochron.ports import Record
    from autochron.session.replayed import Crossings
    from autochron.session.rerunning import Rerun

_FEW = 8
"""How many crossings are told of in full."""

_DIFFER = frozenset({"input", "outcome"})


def refuse_repetition(
    record: Record, plan: Plan, crossings: Crossings, addresses: Sequence[str], root: str, caller: str
) -> None:
    """Raise where all of these crossings, or all live ones, did what they did when they were recorded.

    `caller` is the line of the test that asks.

    Raises:
        AgainError: they did; it tells what that was and where the fix goes.
        NotCrossedError: an address is none of the record's.
    """
    __tracebackhide__ = True
    wanted = [_recorded(record, each) for each in addresses] or suspects(record, plan)
    now = {each.address: each for each in crossings}
    for envelope in wanted:
        crossing = now.get(envelope.address)
        if crossing is None or any(each.kind in _DIFFER for each in crossing.divergences):
            return
    if wanted:
        raise AgainError(_said(wanted, root, caller))


def has_failed(record: Record) -> bool:
    """Tell whether the recorded program or block failed: with an exit status other than 0, or by an exception."""
    footer = record.footer
    return footer is not None and bool(footer.status or footer.error)


def refuse_failure(record: Record, rerun: Rerun | None, caller: str) -> None:
    """Raise where a program that failed when it was recorded fails again; AgainError quotes what it said.

    Of what is called in this process nothing is to be told: had it raised, nobody would ask.
    """
    __tracebackhide__ = True
    footer = record.footer
    if rerun is None or not rerun.status or footer is None:
        return
    error = f" ({footer.error})" if footer.error else ""
    raise AgainError(
        f"the program ended with status {rerun.status}; in the incident with {footer.status}{error}. It said last:\n"
        f"{_last_lines(rerun.stderr or rerun.stdout)}\n"
        f"the fix goes where this comes from; then say in {caller} what should happen, in the place of this check"
    )


def suspects(record: Record, plan: Plan) -> list[Envelope]:
    """Give the recorded crossings that are live, without models and ambient values where there are others: these did it."""
    live = [each for each in record if plan.is_live(each)]
    return [each for each in live if each.kind not in {"model", "ambient"}] or live


def _recorded(record: Record, address: str) -> Envelope:
    parts = split_address(address)
    found = None if parts is None else record.find(*parts)
    if found is None:
        near = nearest_names(address if parts is None else parts[0], record.boundaries())
        raise NotCrossedError(f"the record has no crossing {address}, such as place_order[1]; {near}")
    return found


def _said(wanted: Sequence[Envelope], root: str, caller: str) -> str:
    then = f"then say in {caller} what should happen, in the place of this check"
    if len(wanted) == 1:
        (only,) = wanted
        lines = [
            f"{only.address} did again what it did in the incident:",
            f"  it was given {given(only)}",
            f"  and {outcome(only)}",
            f"the fix goes into {place_of(root, only.site)}, or into what calls it; {then}",
        ]
        return "\n".join(lines)
    lines = [f"all {len(wanted)} live crossings did again what they did in the incident:"]
    for each in wanted[:_FEW]:
        lines += [f"  {each.address} ({place_of(root, each.site)})", f"    was given {given(each)}"]
        lines += [f"    and {outcome(each)}"]
    if len(wanted) > _FEW:
        lines.append(f"  … and {len(wanted) - _FEW} more")
    lines.append(f"the fix goes into the one that went wrong, or into what calls it; {then}")
    return "\n".join(lines)


def given(envelope: Envelope) -> str:
    """Say what a crossing was given."""
    value = decode(envelope.input)
    return brief(value, bare=True) if isinstance(value, dict) and value else "nothing"


def outcome(envelope: Envelope) -> str:
    """Say how a crossing ended, beginning with a verb."""
    end = envelope.outcome
    if envelope.exchanges and not isinstance(end, Raised):
        return f"was answered with status {envelope.exchanges[-1].status}"
    if isinstance(end, Streamed):
        return f"gave {len(end.items)} items"
    if isinstance(end, Raised):
        return f"raised {brief(decode(end.error))}"
    assert isinstance(end, Returned)  # noqa: S101 - the third of three
    return f"gave its argument {end.argument}" if end.argument else f"gave {brief(decode(end.value))}"


def place_of(root: str, site: str) -> str:
    """Say where the definition of a site stands today: `issue_refund, agent.py:51`."""
    file, _, label = parts_of(site)
    place = definition_of(root, site)
    if place is None:
        return label if file.endswith(".py") else f"{label} of the library {file.partition('.')[0]}"
    return f"{label}, {place}"


def parts_of(site: str) -> tuple[str, str, str]:
    """Give file or module, the qualified name of the definition, and what to call it, of a recorded site."""
    file, _, rest = site.removeprefix("@").partition(":")
    qualname, arrow, pattern = rest.partition(" → ")
    return file, qualname, f"{pattern} in {qualname}" if arrow else qualname


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
    frame = sys._getframe(depth)
    file = frame.f_code.co_filename
    near = os.path.relpath(file)
    return f"{file if near.startswith(os.pardir) else near}:{frame.f_lineno}"


def _last_lines(text: str, count: int = 12) -> str:
    return "\n".join(f"  {line}" for line in text.rstrip().splitlines()[-count:])
