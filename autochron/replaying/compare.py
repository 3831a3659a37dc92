"""Comparison of a crossing's input and outcome with its record, with the difference described in words."""

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
    """The first field in which an input differs from the recorded one.

    Attributes:
        path: of the field, with dots.
        recorded: its recorded value, as text.
        replayed: its value in the replay, as text.
        label: `input`, `model`, or a text such as `sampling parameter temperature`.
    """

    path: str
    recorded: str
    replayed: str
    label: str = "input"


def differs(envelope: Envelope, replayed: bytes, rule: BoundaryRule) -> bool:
    """Return whether an input differs from the recorded one in a field that the rule has compared."""
    return replayed != envelope.input and _first(*_comparable(envelope.input, replayed, rule)) is not None


def input_difference(envelope: Envelope, replayed: bytes, rule: BoundaryRule) -> InputDifference | None:
    """Return how an input differs from the recorded one; None if it does not.

    A model or a sampling parameter comes before any other field.
    """
    if replayed == envelope.input:
        return None
    recorded, replayed = _comparable(envelope.input, replayed, rule)
    first = _first(recorded, replayed)
    if first is None:
        return None
    return _parameter_difference(recorded, replayed, rule) or first


def _comparable(recorded: bytes, replayed: bytes, rule: BoundaryRule) -> tuple[bytes, bytes]:
    if rule.redact:
        # Mask both inputs: the record may be older than the rule, or than one of the rule's paths.
        recorded, replayed = redact_paths(recorded, rule.redact), redact_paths(replayed, rule.redact)
    if rule.volatile:
        recorded, replayed = drop_paths(recorded, rule.volatile), drop_paths(replayed, rule.volatile)
    return recorded, replayed


def _first(recorded: bytes, replayed: bytes) -> InputDifference | None:
    difference = first_difference(recorded, replayed)
    return None if difference is None else InputDifference(*difference)


def _parameter_difference(recorded: bytes, replayed: bytes, rule: BoundaryRule) -> InputDifference | None:
    """Return the first difference of a model or a sampling parameter; None if there is none."""
    meta = rule.meta
    if not (meta.model or meta.sampling):
        return None
    before, after = decode(recorded), decode(replayed)
    for path, label in (*((path, "model") for path in meta.model), *((path, "") for path in meta.sampling)):
        steps = _in_input(path)
        if steps is None:
            continue
        old, new = _at(before, steps), _at(after, steps)
        if old != new:
            name = label or f"sampling parameter {steps[-1]}"
            return InputDifference(".".join(steps), _show(old), _show(new), name)
    return None


def _in_input(path: str) -> list[str] | None:
    """Return the steps to a `meta` field of a rule in the input; None if it is not in the input, or may be several."""
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
    """Return how an outcome differs from the recorded one; None if both are alike.

    Returns:
        (description, path, recorded, replayed). The description follows the crossing's address in a message. The path is
        None if the crossings ended in different ways, and all but the description may be None.
    """
    old_end, new_end = _ending(recorded), _ending(replayed)
    if old_end != new_end and not _same_error(recorded, replayed):
        return f"{new_end}; when it was recorded it {old_end}", None, old_end, new_end
    if isinstance(recorded, Streamed) and isinstance(replayed, Streamed):
        for index, (old, new) in enumerate(zip(recorded.items, replayed.items, strict=False)):
            difference = first_difference(old, new, _same_type)
            if difference is not None:
                path, before, after = difference
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
    difference = None if before == after else first_difference(before, after, _same_type)
    if difference is None:
        return None
    path, old, new = difference
    verb = "raised" if isinstance(replayed, Raised) else "gave"
    field = "it" if path == "(value)" else path
    return f"{verb} something else: {field} was {old}, now it is {new}", path, old, new


def _same_type(path: str, recorded: Any, replayed: Any) -> bool:
    """Return whether two values at a path are different names of one type."""
    is_name = (
        path.rpartition(".")[2].startswith("$") and isinstance(recorded, str) and isinstance(replayed, str)
    )
    return is_name and types.is_same(recorded, replayed)


def _same_error(recorded: Outcome, replayed: Outcome) -> bool:
    ends = [outcome.end if isinstance(outcome, Streamed) else outcome for outcome in (recorded, replayed)]
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
    """Return an encoded exception without its tracebacks and those of its causes: line numbers change with the code."""
    return encode(_bare(decode(body))) if b'"traceback":' in body else body


def _bare(tree: Any) -> Any:
    if isinstance(tree, list):
        return [_bare(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    is_error = "$error" in tree
    return {key: _bare(value) for key, value in tree.items() if not (is_error and key == "traceback")}


def _ending(outcome: Outcome) -> str:
    """Return how a crossing ended, as words that follow its address."""
    end = outcome.end if isinstance(outcome, Streamed) else outcome
    if isinstance(end, Raised):
        return f"raised {error_name(end.error)}"
    if isinstance(end, Closed):
        return "was closed early"
    if isinstance(end, Abandoned):
        return "was left open"
    return "was read to its end" if isinstance(outcome, Streamed) else "returned"


def other_error(envelope: Envelope, error: BaseException) -> str | None:
    """Return a message that a crossing raised another error than in the recording; None if the type is the same."""
    outcome = envelope.outcome
    end = outcome.end if isinstance(outcome, Streamed) else outcome
    if isinstance(end, Raised) and is_of_type(end.error, error):
        return None
    name = f"{type(error).__module__}:{type(error).__qualname__}"
    was = f"it raised {error_name(end.error)}" if isinstance(end, Raised) else "it returned"
    return f"{envelope.address} raised {name} ({error}); when it was recorded {was}"


def is_of_type(body: bytes, error: BaseException) -> bool:
    """Return whether an exception is of the same type as a recorded one.

    Args:
        body: the recorded exception, as JSON.
        error: the exception.
    """
    return types.is_same(error_name(body), f"{type(error).__module__}:{type(error).__qualname__}")


def error_name(body: bytes) -> str:
    """Return the type of a recorded exception, as `module:Name`; `?` if it is not known."""
    tree = decode(body)
    # A type that can't be imported by its name, such as those that botocore makes at run time, is compared by the name.
    return str(tree.get("$error") or tree.get("$opaque", "?")) if isinstance(tree, dict) else "?"


_CANCELLED = ("asyncio.exceptions:CancelledError", "concurrent.futures._base:CancelledError")


def is_cancelled(outcome: Any) -> bool:
    """Return whether a crossing ended because its task or future was cancelled."""
    return isinstance(outcome, Raised) and error_name(outcome.error) in _CANCELLED
