"""How the input and the outcome of a crossing differ from the record's, in words that fit a screen."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec.json import decode, encode

from autochron.diff.json import MISSING, first_difference
from autochron.envelope import types
from autochron.inputs import OUTCOME
from autochron.model import (
    Abandoned,
    BoundaryRule,
    Closed,
    Envelope,
    Outcome,
    Raised,
    Returned,
    Streamed,
)
from autochron.redaction.json_paths import drop_paths, redact_paths


class InputDifference(NamedTuple):
    """The first field that differs, with what was recorded and what is now.

    `what` says what the field is: `input`, `model`, or `sampling parameter temperature`.
    """

    path: str
    recorded: str
    replayed: str
    what: str = "input"


def differs(envelope: Envelope, given: bytes, rule: BoundaryRule) -> bool:
    """Return whether an input is another than the recorded one, where it counts."""
    return given != envelope.input and _first(*_comparable(envelope.input, given, rule)) is not None


def input_difference(envelope: Envelope, given: bytes, rule: BoundaryRule) -> InputDifference | None:
    """Return where an input differs; a model or a sampling parameter before anything else."""
    if given == envelope.input:
        return None
    recorded, given = _comparable(envelope.input, given, rule)
    first = _first(recorded, given)
    if first is None:
        return None
    return _parameter_difference(recorded, given, rule) or first


def _comparable(recorded: bytes, given: bytes, rule: BoundaryRule) -> tuple[bytes, bytes]:
    if rule.redact:
        # Both: the record may be of a time before the rule, or lack what another path has masked since.
        recorded, given = redact_paths(recorded, rule.redact), redact_paths(given, rule.redact)
    if rule.volatile:
        recorded, given = drop_paths(recorded, rule.volatile), drop_paths(given, rule.volatile)
    return recorded, given


def _first(recorded: bytes, given: bytes) -> InputDifference | None:
    found = first_difference(recorded, given)
    return None if found is None else InputDifference(*found)


def _parameter_difference(recorded: bytes, given: bytes, rule: BoundaryRule) -> InputDifference | None:
    meta = rule.meta
    if not (meta.model or meta.sampling):
        return None
    before, now = decode(recorded), decode(given)
    for path, what in (*((each, "model") for each in meta.model), *((each, "") for each in meta.sampling)):
        where = _in_input(path)
        if where is None:
            continue
        one, other = _at(before, where), _at(now, where)
        if one != other:
            name = what or f"sampling parameter {where[-1]}"
            return InputDifference(".".join(where), _show(one), _show(other), name)
    return None


def _in_input(path: str) -> list[str] | None:
    """Return where a fact of a rule's `meta` stands in the input; None where it isn't there, or may be several."""
    source, _, rest = path.partition(".")
    steps = rest.split(".")
    if source == "request" and "*" not in rest:
        return ["body", *steps]
    return steps if source == "input" and "*" not in rest else None


def _at(value: Any, steps: list[str]) -> Any:
    for step in steps:
        if not isinstance(value, dict) or step not in value:
            return MISSING
        value = value[step]
    return value


def _show(value: Any) -> str:
    return value if value is MISSING else encode(value).decode()


def outcome_difference(
    recorded: Outcome, replayed: Outcome, rule: BoundaryRule
) -> tuple[str, str | None, str | None, str | None] | None:
    """Return (what differs in words, path, recorded, replayed), or None where both ended alike."""
    was, now = _ending(recorded), _ending(replayed)
    if was != now and not _same_error(recorded, replayed):
        return f"{now}; when it was recorded it {was}", None, was, now
    if isinstance(recorded, Streamed) and isinstance(replayed, Streamed):
        for index, (one, other) in enumerate(zip(recorded.items, replayed.items, strict=False)):
            found = first_difference(one, other, _same_type)
            if found is not None:
                path, before, after = found
                where = f"item {index + 1}" + ("" if path == "(value)" else f", {path}")
                return f"gave something else: {where} was {before}, now it is {after}", path, before, after
        counts = len(recorded.items), len(replayed.items)
        if counts[0] != counts[1]:
            message = f"gave {counts[1]} items; when it was recorded, {counts[0]}"
            return message, None, f"{counts[0]} items", f"{counts[1]} items"
    return _value_difference(recorded, replayed, rule)


def _value_difference(
    recorded: Outcome, replayed: Outcome, rule: BoundaryRule
) -> tuple[str, str | None, str | None, str | None] | None:
    pair = [_body(recorded), _body(replayed)]
    if pair[0] is None or pair[1] is None:
        return None
    before, after = _comparable_outcome(pair[0], rule), _comparable_outcome(pair[1], rule)
    found = None if before == after else first_difference(before, after, _same_type)
    if found is None:
        return None
    path, was, now = found
    verb = "raised" if isinstance(replayed, Raised) else "gave"
    field = "it" if path == "(value)" else path
    return f"{verb} something else: {field} was {was}, now it is {now}", path, was, now


def _same_type(path: str, one: Any, other: Any) -> bool:
    """Excuse another name of the same type."""
    is_name = path.rpartition(".")[2].startswith("$") and isinstance(one, str) and isinstance(other, str)
    return is_name and types.is_same(one, other)


def _same_error(recorded: Outcome, replayed: Outcome) -> bool:
    ends = [each.end if isinstance(each, Streamed) else each for each in (recorded, replayed)]
    names = [error_name(end.error) for end in ends if isinstance(end, Raised)]
    return len(names) == 2 and types.is_same(*names)


def _comparable_outcome(body: bytes, rule: BoundaryRule) -> bytes:
    if rule.redact:
        body = redact_paths(body, rule.redact)
    start = f"{OUTCOME}."
    volatile = tuple(path.removeprefix(start) for path in rule.volatile if path.startswith(start))
    return drop_paths(body, volatile) if volatile else body


def _body(outcome: Outcome) -> bytes | None:
    end = outcome.end if isinstance(outcome, Streamed) else outcome
    if isinstance(end, Returned):
        return None if end.argument is not None else end.value
    return _without_traceback(end.error) if isinstance(end, Raised) else None


def _without_traceback(body: bytes) -> bytes:
    """Leave out where an exception and those it came from were raised: code moves."""
    return encode(_bare(decode(body))) if b'"traceback":' in body else body


def _bare(tree: Any) -> Any:
    if isinstance(tree, list):
        return [_bare(each) for each in tree]
    if not isinstance(tree, dict):
        return tree
    is_error = "$error" in tree
    return {key: _bare(value) for key, value in tree.items() if not (is_error and key == "traceback")}


def _ending(outcome: Outcome) -> str:
    """Say how a crossing ended."""
    end = outcome.end if isinstance(outcome, Streamed) else outcome
    if isinstance(end, Raised):
        return f"raised {error_name(end.error)}"
    if isinstance(end, Closed):
        return "was closed early"
    if isinstance(end, Abandoned):
        return "was left open"
    return "was read to its end" if isinstance(outcome, Streamed) else "returned"


def other_error(envelope: Envelope, error: BaseException) -> str | None:
    """Say that a crossing raised what was not recorded; None where it was."""
    outcome = envelope.outcome
    end = outcome.end if isinstance(outcome, Streamed) else outcome
    if isinstance(end, Raised) and is_of_type(end.error, error):
        return None
    name = f"{type(error).__module__}:{type(error).__qualname__}"
    was = f"it raised {error_name(end.error)}" if isinstance(end, Raised) else "it returned"
    return f"{envelope.address} raised {name} ({error}); when it was recorded {was}"


def is_of_type(body: bytes, error: BaseException) -> bool:
    """Return whether an exception is of the type of a recorded one."""
    return types.is_same(error_name(body), f"{type(error).__module__}:{type(error).__qualname__}")


def error_name(body: bytes) -> str:
    """Return the type of a recorded exception, as `module:Name`."""
    tree = decode(body)
    # One whose type can't be found again by its name, such as those that botocore makes, is compared by the name.
    return str(tree.get("$error") or tree.get("$opaque", "?")) if isinstance(tree, dict) else "?"
