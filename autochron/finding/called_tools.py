"""Keep the tool calls that a model has asked for and that no request has answered yet.

A found tool crosses only while such a call is under way. Recording and replay decide it alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from autochron._runtime import unpatched
from autochron.recording.call_facts import CallResult
from autochron.recording.requested_tools import RequestedCall

_MOST_CALLS = 4_096
"""Calls that are kept at most. A program may end many conversations at a tool call."""


class OpenCall(Struct, eq=False):
    """A call that no request has answered.

    Attributes:
        model: the `seq` of the model crossing that asked for it.
        call: the call.
        is_taken: whether a crossing has answered it.
    """

    model: int
    call: RequestedCall
    is_taken: bool = False


class CalledTools:
    """The calls of tools that models have asked for in one session. Any thread may use it."""

    def __init__(self) -> None:
        self._open: dict[str, list[OpenCall]] = {}
        self._count = 0
        self._lock = unpatched.RLock()

    def __bool__(self) -> bool:
        """Return whether a call is open."""
        return bool(self._open)

    def ask(self, model: int, calls: Iterable[RequestedCall]) -> None:
        """Note the calls that a model asked for; they replace those that were noted for it before."""
        with self._lock:
            for name in list(self._open):
                self._keep(name, [known for known in self._open[name] if known.model != model])
            for call in calls:
                self._open.setdefault(call.name, []).append(OpenCall(model, call))
                self._count += 1
            while self._count > _MOST_CALLS:
                name = next(iter(self._open))
                self._keep(name, self._open[name][1:])

    def answer(self, model: int, results: Iterable[CallResult]) -> None:
        """Forget the calls that a request answers.

        Args:
            model: the crossing of the request. Calls that it asks for itself stay.
            results: the results that it carries.
        """
        with self._lock:
            for result in results:
                for name in [result.name] if result.name in self._open else list(self._open):
                    self._keep(name, _without_answered(self._open[name], model, result))

    def calls_of(self, tool: str) -> tuple[OpenCall, ...]:
        """Return the open calls of a tool."""
        return tuple(self._open.get(tool, ()))

    def _keep(self, name: str, calls: list[OpenCall]) -> None:
        self._count -= len(self._open[name]) - len(calls)
        if calls:
            self._open[name] = calls
        else:
            del self._open[name]


def _without_answered(calls: list[OpenCall], model: int, result: CallResult) -> list[OpenCall]:
    """Return the calls that a result does not answer. Without an id it answers the first call of its tool."""
    if result.id:
        return [known for known in calls if known.call.id != result.id or known.model >= model]
    if result.name and calls and calls[0].model < model and calls[0].call.name == result.name:
        return calls[1:]
    return calls


def is_inside(call: OpenCall, current: Any) -> bool:
    """Return whether what runs is inside a tool that began after the model asked: then that one answers the call.

    Args:
        call: the call.
        current: the innermost open crossing, or the lane's root.
    """
    crossing = current if hasattr(current, "rule") else current.parent
    while crossing is not None:
        rule = getattr(crossing, "rule", None)
        is_handoff = rule is not None and rule.kind == "router" and crossing.name == call.call.name
        if rule is not None and (rule.kind == "tool" or is_handoff) and crossing.seq > call.model:
            return True
        crossing = getattr(crossing, "parent", None)
    return False
