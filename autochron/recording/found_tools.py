"""Confirm found tools: what one returned has to be in the result that a later request of the model carries.

A tool that was found by its name may be a helper of the same name, which a replay must not serve in the tool's place.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from msgspec.json import decode

from autochron.model import BoundaryRule, FoundTool, Outcome, Raised, Returned, Target
from autochron.recording.call_facts import CallResult
from autochron.recording.requested_tools import RequestedCall, scalars

_MOST_IDS = 1_024
"""Calls whose ids are kept."""

_MOST_WAITING = 64
"""Crossings of one tool that wait for a result at most."""

_SHORTEST = 2
"""Characters. A shorter value says nothing: it may be in any result."""

_PREFIX = 40
"""Characters of a long text that have to be in the result, which may be cut."""

_SAYS_NOTHING = frozenset({"True", "False", "None", "null", "true", "false", "ok", "OK"})


class _Candidate(Struct):
    """A found tool that has crossed."""

    rule: BoundaryRule
    is_confirmed: bool = False
    waiting: list[tuple[int, frozenset[str]]] = []
    """For each crossing that no result confirms: its `seq`, and what it returned."""


class FoundTools:
    """The found tools that crossed in one trace; used by the thread that writes."""

    def __init__(self) -> None:
        self._candidates: dict[str, _Candidate] = {}
        self._names: dict[str, str] = {}
        """The names of the tools by the ids of their calls."""

    def note_calls(self, calls: Iterable[RequestedCall]) -> None:
        """Note the calls that a model asked for."""
        for call in calls:
            if call.id:
                self._names[call.id] = call.name
        while len(self._names) > _MOST_IDS:
            del self._names[next(iter(self._names))]

    def note_crossing(self, seq: int, rule: BoundaryRule, outcome: Outcome) -> None:
        """Note a crossing of a found tool, with its outcome."""
        candidate = self._candidates.get(rule.id)
        if candidate is None:
            candidate = self._candidates[rule.id] = _Candidate(rule)
        if not candidate.is_confirmed:
            candidate.waiting = [*candidate.waiting[1 - _MOST_WAITING :], (seq, telling(outcome))]

    @property
    def is_waiting(self) -> bool:
        """Whether some tool is not confirmed."""
        return any(candidate.waiting for candidate in self._candidates.values())

    def note_results(self, seq: int, results: Iterable[CallResult]) -> None:
        """Confirm the tools whose return value is in these results.

        Args:
            seq: the model crossing whose request carries them.
            results: the results.
        """
        texts: dict[str, list[str]] = {}
        for result in results:
            name = result.name or self._names.get(result.id, "")
            texts.setdefault(name, []).append(result_text(result))
        for candidate in self._candidates.values():
            known = texts.get(candidate.rule.name, ())
            if any(
                earlier < seq and any(not values or carries(text, values) for text in known)
                for earlier, values in candidate.waiting
            ):
                candidate.is_confirmed = True
                candidate.waiting = []

    def found(self) -> tuple[FoundTool, ...]:
        """Return the tools that crossed."""
        return tuple(
            FoundTool(
                candidate.rule.name,
                selector.module,
                selector.qualname,
                candidate.rule.place.file,
                candidate.rule.place.line,
                how_found(candidate.rule),
                candidate.is_confirmed,
            )
            for candidate in self._candidates.values()
            if isinstance(selector := candidate.rule.selector, Target)
        )


def how_found(rule: BoundaryRule) -> Any:
    """Return how a tool was found: `by name` or `by value`."""
    return "by value" if rule.id.startswith("found by value ") else "by name"


def result_text(result: CallResult) -> str:
    """Return all texts and numbers of a result."""
    return "\n".join([str(result.body), *scalars(result.body)])


def telling(outcome: Outcome) -> frozenset[str]:
    """Return the parts of an outcome that can be recognised in a result; an empty set if it says nothing."""
    body = (
        outcome.value
        if isinstance(outcome, Returned)
        else outcome.error
        if isinstance(outcome, Raised)
        else b"null"
    )
    return frozenset(
        value for value in scalars(decode(body)) if len(value) >= _SHORTEST and value not in _SAYS_NOTHING
    )


def carries(text: str, values: frozenset[str]) -> bool:
    """Return whether a result carries one of these values."""
    return any(value in text or (len(value) > _PREFIX and value[:_PREFIX] in text) for value in values)
