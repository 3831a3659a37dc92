"""What live crossings gave, to be compared: the outcomes of a trace as JSON, without what differs in each run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import json

from autochron.envelope import codec
from autochron.model import Abandoned, Closed, Envelope, Raised, Returned, Streamed
from autochron.mutate.protocol import LiveOutcome

if TYPE_CHECKING:
    from autochron.pytest_plugin.sessions import ReplayedTest

_NOT_COMPARED = frozenset({"model", "ambient"})


def given_by(play: ReplayedTest, where: str) -> Iterator[LiveOutcome]:
    """Yield what the live crossings of a replay gave, in order of start; `where` is put behind each address."""
    for each in play.handle.crossings:
        if each.live and each.kind not in _NOT_COMPARED:
            yield LiveOutcome(each.address + where, shown(each.replayed.envelope))


def recorded_of(play: ReplayedTest, where: str) -> Iterator[LiveOutcome]:
    """Yield what the crossings gave that are live here, when they were recorded."""
    record, plan = play.handle.planned()
    for each in record:
        if plan.is_live(each) and each.kind not in _NOT_COMPARED:
            yield LiveOutcome(each.address + where, shown(each))


def shown(envelope: Envelope) -> str:
    """Return an outcome as JSON, with what the call changed in its arguments."""
    outcome = envelope.outcome
    if isinstance(outcome, Streamed):
        tree: dict[str, Any] = {"items": [_tree(each) for each in outcome.items], **_end(outcome.end)}
    else:
        tree = _end(outcome)
    if envelope.changed is not None:
        tree["changed"] = _tree(envelope.changed)
    return json.encode(tree).decode()


def of_call(value: Any, error: BaseException | None, changed: Any = None) -> str:
    """Return what a call gave, in the same form."""
    how, given = ("returned", value) if error is None else ("raised", error)
    tree = {how: _tree(codec.encode(given).body)}
    if changed is not None:
        tree["changed"] = _tree(codec.encode(changed).body)
    return json.encode(tree).decode()


def _end(end: Returned | Raised | Abandoned | Closed) -> dict[str, Any]:
    match end:
        case Returned(value=_, argument=str() as argument):
            return {"returned argument": argument}
        case Returned(value=value):
            return {"returned": _tree(value)}
        case Raised(error=error):
            return {"raised": _tree(error)}
        case _:
            return {"ended": msgspec.inspect.type_info(type(end)).tag}  # type: ignore[attr-defined]


def _tree(body: bytes) -> Any:
    return _plain(json.decode(body))


def _plain(tree: Any) -> Any:
    """Leave out where an exception was raised: a mutant has other columns."""
    if isinstance(tree, list):
        return [_plain(each) for each in tree]
    if not isinstance(tree, dict):
        return tree
    return {
        key: _plain(value) for key, value in tree.items() if not (key == "traceback" and "$error" in tree)
    }
