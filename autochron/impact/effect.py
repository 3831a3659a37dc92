"""The first difference between two replays: the input of a boundary, the order of crossings, the output, or the end."""

from __future__ import annotations

import re
from operator import ne
from typing import TYPE_CHECKING, Any

from msgspec import DecodeError
from msgspec.json import decode

from autochron.diff.json import first_difference
from autochron.envelope.type_trees import split
from autochron.json_differences import ABSENT, differences_between
from autochron.model import Effect

if TYPE_CHECKING:
    from autochron.impact.probe import MetCrossing, Outcome

_MOST = 80
"""Characters of a value that are shown."""

_NOTHING = "(nothing)"


def difference(before: Outcome, after: Outcome) -> Effect | None:
    """Return the first difference between two replays; None where they are the same.

    Addresses count only where the replay has given them: all others depend on what a process has allocated before.
    """
    if before.problem != after.problem:
        return Effect(
            f"the program {after.problem or 'ends'}", before.problem or "it ends", after.problem or "it ends"
        )
    if after.problem is not None:
        return None
    before, after = _without_addresses(before), _without_addresses(after)
    return _crossings(before, after) or _output(before.stdout, after.stdout) or _ending(before, after)


_ADDRESS = re.compile(rb"(?<= at )0x([0-9a-fA-F]{6,16})\b")


def _without_addresses(outcome: Outcome) -> Outcome:
    """Return a replay with the same text in place of each address that it has not given itself."""
    if not any(b" at 0x" in met.input for met in outcome.met) and b" at 0x" not in outcome.stdout:
        return outcome
    places = outcome.ordered.places

    def shown(address: re.Match[bytes]) -> bytes:
        return address[0] if int(address[1], 16) in places else b"0x"

    met = tuple(one._replace(input=_ADDRESS.sub(shown, one.input)) for one in outcome.met)
    return outcome._replace(met=met, stdout=_ADDRESS.sub(shown, outcome.stdout))


def _crossings(before: Outcome, after: Outcome) -> Effect | None:
    lanes_before, lanes_after = _by_lane(before), _by_lane(after)
    for lane in dict.fromkeys([*lanes_before, *lanes_after]):
        effect = _lane(lanes_before.get(lane, []), lanes_after.get(lane, []))
        if effect is not None:
            return effect
    return None


def _by_lane(outcome: Outcome) -> dict[str, list[MetCrossing]]:
    lanes: dict[str, list[MetCrossing]] = {}
    for met in outcome.met:
        lanes.setdefault(met.lane, []).append(met)
    return lanes


def _lane(before: list[MetCrossing], after: list[MetCrossing]) -> Effect | None:
    for first, second in zip(before, after, strict=False):
        if first.address != second.address:
            return Effect(f"changes the order at {first.address}", first.address, second.address)
        if first.input != second.input:
            path, old, new = _difference_of_inputs(first.input, second.input)
            place = f" at {path}" if path else ""
            return Effect(f"changes {first.address} input{place}", _short(old), _short(new))
    if len(before) > len(after):
        missing = before[len(after)].address
        return Effect(f"{missing} does not happen", missing, _NOTHING)
    if len(after) > len(before):
        extra = after[len(before)].address
        return Effect(f"{extra} happens", _NOTHING, extra)
    return None


def _difference_of_inputs(before: bytes, after: bytes) -> tuple[str, Any, Any]:
    """Return path, old and new value of the first difference between two canonical inputs."""
    old, new = split(_read(before))[0], split(_read(after))[0]
    # Equal as JSON: they differ in their types.
    if old == new and (types := first_difference(before, after)) is not None:
        return types
    place = next(differences_between(old, new, is_other=ne), None)
    if place is None:
        return "", old, new
    first, second = (_NOTHING if side is ABSENT else side for side in (place.first, place.second))
    return place.indexed, first, second


def _read(data: bytes) -> Any:
    try:
        return decode(data)
    except DecodeError:
        return data.decode("utf-8", "replace")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"


def _output(before: bytes, after: bytes) -> Effect | None:
    if before == after:
        return None
    lines_before, lines_after = (output.decode("utf-8", "replace").split("\n") for output in (before, after))
    for at in range(max(len(lines_before), len(lines_after))):
        old = lines_before[at] if at < len(lines_before) else _NOTHING
        new = lines_after[at] if at < len(lines_after) else _NOTHING
        if old != new:
            return Effect(f"changes output line {at + 1}", _short(old), _short(new))
    return Effect("changes the output's bytes", "", "")


def _ending(before: Outcome, after: Outcome) -> Effect | None:
    if before.uncaught != after.uncaught:
        change = f"raises {after.uncaught}" if after.uncaught else f"raises {before.uncaught} no more"
        return Effect(change, before.uncaught or "no exception", after.uncaught or "no exception")
    if before.status != after.status:
        return Effect("changes the exit status", str(before.status), str(after.status))
    return None
