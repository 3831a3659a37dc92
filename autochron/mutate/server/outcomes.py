"""Outcomes of live crossings as JSON, without the parts that differ from run to run, so that they can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import json

from autochron._runtime.unpatched import os
from autochron.diagnostics.recorded_sites import parts_of
from autochron.envelope import codec
from autochron.model import Abandoned, Closed, Envelope, Raised, Returned, Streamed
from autochron.mutate.model import MutationTarget
from autochron.mutate.protocol import LiveOutcome, ServerTask

if TYPE_CHECKING:
    from autochron.pytest_plugin.sessions import ReplayedTest

_NOT_COMPARED = frozenset({"model", "ambient"})
"""Kinds of crossings that are never the guarded tool."""


def swaps_of(test: ReplayedTest) -> dict[str, str]:
    """Return the swaps of a test that are given by name, with absolute paths."""

    def absolute(name: str) -> str:
        module, _, qualname = name.rpartition(":")
        return f"{os.path.join(test.root, module)}:{qualname}" if module.endswith(".py") else name

    return {
        absolute(old): absolute(new) for old, new in (test.options.swap or {}).items() if isinstance(new, str)
    }


def live_outcomes(test: ReplayedTest, suffix: str) -> Iterator[LiveOutcome]:
    """Yield the outcomes of the live crossings of a replay, in order of start.

    Args:
        test: the test, after its replay.
        suffix: is appended to each address; it names the test where there are several.
    """
    for crossing in test.handle.crossings:
        if crossing.live and crossing.kind not in _NOT_COMPARED:
            yield LiveOutcome(crossing.address + suffix, outcome_json(crossing.replayed.envelope))


def recorded_outcomes(test: ReplayedTest, suffix: str) -> Iterator[LiveOutcome]:
    """Yield the recorded outcomes of the crossings that are live in a replay, in order of start.

    Args:
        test: the test that replays the trace.
        suffix: as in `live_outcomes`.
    """
    record, plan = test.handle.planned()
    for envelope in record:
        if plan.is_live(envelope) and envelope.kind not in _NOT_COMPARED:
            yield LiveOutcome(envelope.address + suffix, outcome_json(envelope))


def recorded_literals(
    task: ServerTask, tests: Sequence[ReplayedTest], targets: Sequence[MutationTarget]
) -> dict[str, dict[str, str]]:
    """Return what the arguments of the targets were in the first recorded call, as `Ready.literals`.

    A call belongs to a target if the target was called, or takes the place of what was called.

    Args:
        task: the server's task.
        tests: the tests that replay a trace.
        targets: the functions to mutate.
    """
    literals: dict[str, dict[str, str]] = {}
    by_place = {
        (os.path.realpath(os.path.join(task.folder, target.file)), target.function): target
        for target in targets
    }
    for test in tests:
        record, plan = test.handle.planned()
        swaps = swaps_of(test)
        for envelope in record:
            if envelope.kind in _NOT_COMPARED or not plan.is_live(envelope):
                continue
            file, qualname, _ = parts_of(envelope.site)
            called = f"{os.path.join(test.root, file)}:{qualname}"
            path, _, name = swaps.get(called, called).rpartition(":")
            target = by_place.get((os.path.realpath(path), name))
            if target is not None:
                given = _decoded(envelope.input)
                values = given.items() if isinstance(given, dict) else ()
                literals.setdefault(
                    f"{target.file}:{target.function}",
                    {key: repr(value) for key, value in values if isinstance(value, str | int | float)},
                )
    return literals


def outcome_json(envelope: Envelope) -> str:
    """Return the outcome of a crossing as JSON, with the arguments that the call changed."""
    outcome = envelope.outcome
    if isinstance(outcome, Streamed):
        tree: dict[str, Any] = {
            "items": [_decoded(item) for item in outcome.items],
            **_ending_tree(outcome.end),
        }
    else:
        tree = _ending_tree(outcome)
    if envelope.changed is not None:
        tree["changed"] = _decoded(envelope.changed)
    return json.encode(tree).decode()


def call_outcome(value: Any, error: BaseException | None, changed: Any = None) -> dict[str, Any]:
    """Return the outcome of a call as JSON-like data, in the form of `outcome_json`.

    Args:
        value: what the call returned; ignored where it raised.
        error: what it raised, or None.
        changed: the arguments after the call, if the call changed them.
    """
    ending, result = ("returned", value) if error is None else ("raised", error)
    tree = {ending: _decoded(codec.encode(result).body)}
    if changed is not None:
        tree["changed"] = _decoded(codec.encode(changed).body)
    return tree


def _ending_tree(end: Returned | Raised | Abandoned | Closed) -> dict[str, Any]:
    match end:
        case Returned(value=_, argument=str() as argument):
            return {"returned argument": argument}
        case Returned(value=value):
            return {"returned": _decoded(value)}
        case Raised(error=error):
            return {"raised": _decoded(error)}
        case _:
            return {"ended": msgspec.inspect.type_info(type(end)).tag}  # type: ignore[attr-defined]


def _decoded(body: bytes) -> Any:
    return _without_tracebacks(json.decode(body))


def _without_tracebacks(tree: Any) -> Any:
    """Return a tree without the tracebacks of exceptions: a mutant's code has other columns."""
    if isinstance(tree, list):
        return [_without_tracebacks(member) for member in tree]
    if not isinstance(tree, dict):
        return tree
    return {
        key: _without_tracebacks(value)
        for key, value in tree.items()
        if not (key == "traceback" and "$error" in tree)
    }
