"""What differs first between two replays: what a boundary was given, the order, the output, or how it ended."""

from __future__ import annotations

from operator import ne
from typing import TYPE_CHECKING, Any

from msgspec import DecodeError
from msgspec.json import decode

from autochron.diff.json import first_difference
from autochron.envelope.type_trees import split
from autochron.json_differences import ABSENT, differences_between
from autochron.model import Effect

if TYPE_CHECKING:
    from autochron.impact.probe import Met, Outcome

_MOST = 80
"""Characters of a value that are shown."""


def difference(before: Outcome, after: Outcome) -> Effect | None:
    """Return the first difference of two replays; None where they are the same."""
    if after.problem is not None:
        return Effect(f"the program {after.problem}", "it ends", after.problem)
    return _crossings(before, after) or _output(before.stdout, after.stdout) or _ending(before, after)


def _crossings(before: Outcome, after: Outcome) -> Effect | None:
    then, now = _by_lane(before), _by_lane(after)
    for lane in dict.fromkeys([*then, *now]):
        found = _lane(then.get(lane, []), now.get(lane, []))
        if found is not None:
            return found
    return None


def _by_lane(outcome: Outcome) -> dict[str, list[Met]]:
    lanes: dict[str, list[Met]] = {}
    for met in outcome.met:
        lanes.setdefault(met.lane, []).append(met)
    return lanes


def _lane(then: list[Met], now: list[Met]) -> Effect | None:
    for one, other in zip(then, now, strict=False):
        if one.address != other.address:
            return Effect(f"changes the order at {one.address}", one.address, other.address)
        if one.input != other.input:
            path, was, is_now = _of_inputs(one.input, other.input)
            return Effect(
                f"changes {one.address} input" + (f" at {path}" if path else ""), _short(was), _short(is_now)
            )
    if len(then) > len(now):
        return Effect(f"{then[len(now)].address} does not happen", then[len(now)].address, "(nothing)")
    if len(now) > len(then):
        return Effect(f"{now[len(then)].address} happens", "(nothing)", now[len(then)].address)
    return None


def _of_inputs(one: bytes, other: bytes) -> tuple[str, Any, Any]:
    then, now = split(_read(one))[0], split(_read(other))[0]
    if (
        then == now and (found := first_difference(one, other)) is not None
    ):  # the same as JSON: of other types
        return found
    place = next(differences_between(then, now, is_other=ne), None)
    if place is None:
        return "", then, now
    was, is_now = (_NOTHING if side is ABSENT else side for side in (place.first, place.second))
    return place.indexed, was, is_now


def _read(data: bytes) -> Any:
    try:
        return decode(data)
    except DecodeError:
        return data.decode("utf-8", "replace")


_NOTHING = "(nothing)"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"


def _output(before: bytes, after: bytes) -> Effect | None:
    if before == after:
        return None
    then, now = (each.decode("utf-8", "replace").split("\n") for each in (before, after))
    for at in range(max(len(then), len(now))):
        one = then[at] if at < len(then) else _NOTHING
        other = now[at] if at < len(now) else _NOTHING
        if one != other:
            return Effect(f"changes output line {at + 1}", _short(one), _short(other))
    return Effect("changes the output's bytes", "", "")


def _ending(before: Outcome, after: Outcome) -> Effect | None:
    if before.uncaught != after.uncaught:
        what = f"raises {after.uncaught}" if after.uncaught else f"raises {before.uncaught} no more"
        return Effect(what, before.uncaught or "no exception", after.uncaught or "no exception")
    if before.status != after.status:
        return Effect("changes the exit status", str(before.status), str(after.status))
    return None
