"""Decide which crossings are those of a tool: what a function returned has to be in the result that the model gets.

The crossings of functions that may be a tool are held until a request carries the result of the call. A helper of the tool's
name, or one that gets the same arguments, returns something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.json import decode

from autochron._runtime import unpatched
from autochron.finding.called_tools import OpenCall
from autochron.model import BoundaryRule, Raised, Returned
from autochron.recording.call_facts import CallResult
from autochron.recording.requested_tools import is_structured, scalars, walk

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.recording.held_crossings import HeldCrossings

_MOST_MISSES = 3
"""How often a function may return what is in no result, until it counts as another one."""

_SHORTEST = 2
"""Characters. A shorter value says nothing: it may be in any result."""

_PREFIX = 40
"""Characters of a long text that have to be in the result, which may be cut."""

_MOST_COMPARED = 65_536
"""Characters of one text of which the words are compared."""

_WORD = re.compile(r"\w+")
_SAYS_NOTHING = frozenset({"True", "False", "None", "null", "true", "false"})


class HeldCrossing(Struct, eq=False):
    """A crossing of a function that may be a tool.

    Attributes:
        call: the call that it may answer.
        crossing: the crossing.
        rule: the rule by which it crossed.
    """

    call: OpenCall
    crossing: Crossing[Any]
    rule: BoundaryRule

    @property
    def store(self) -> HeldCrossings:
        """Where the recorder keeps it."""
        recorder: Any = self.crossing.handler
        held: HeldCrossings = recorder.held
        return held

    @property
    def place(self) -> tuple[str, int, str]:
        """The file, the line and the name of its function."""
        point = self.crossing.point
        return point.file, point.line, point.qualname


class Decisions:
    """The held crossings of one session. Any thread may use it.

    Attributes:
        confirmed: by id, the rules of functions that are known to be a tool.
        rejected: ids of the rules of functions that are known to be none.
        unclear: by tool, the places of several functions that each may be it.
        dropped: the tools of which a crossing was dropped.
        others: by tool, the places of functions that ran for it and whose return value the model did not get.
    """

    def __init__(self) -> None:
        self.confirmed: dict[str, BoundaryRule] = {}
        self.rejected: set[str] = set()
        self.unclear: dict[str, frozenset[tuple[str, int, str]]] = {}
        self.dropped: set[str] = set()
        self.others: dict[str, set[tuple[str, int, str]]] = {}
        self._held: dict[int, HeldCrossing] = {}
        self._misses: dict[str, int] = {}
        self._lock = unpatched.RLock()

    def __bool__(self) -> bool:
        return bool(self._held)

    def holds(self, name: str) -> bool:
        """Return whether a crossing of this name is held."""
        return any(entry.crossing.name == name for entry in list(self._held.values()))

    def hold(self, call: OpenCall, crossing: Crossing[Any], rule: BoundaryRule) -> None:
        """Hold a crossing that has begun, until it is decided on."""
        entry = HeldCrossing(call, crossing, rule)
        with self._lock:
            self._held[crossing.seq] = entry
            entry.store.hold(crossing)

    def drop(self, crossing: Crossing[Any]) -> None:
        """Drop a held crossing."""
        with self._lock:
            entry = self._held.pop(crossing.seq, None)
            if entry is not None:
                self.dropped.add(entry.rule.name)
                self._forget([entry])

    def decide(self, results: Iterable[CallResult]) -> list[HeldCrossing]:
        """Keep the crossings whose return value is in a result, and drop other ones of the same call.

        Returns:
            For each function that is known to be a tool now, one crossing.
        """
        kept: list[HeldCrossing] = []
        with self._lock:
            for result in results:
                entries = [entry for entry in self._held.values() if _answers(result, entry.call)]
                if not entries:
                    continue
                fitting = _fitting(entries, result)
                places = frozenset(entry.place for entry in fitting)
                chosen = fitting if len(places) == 1 else []
                if len(places) > 1:
                    self.unclear[fitting[0].rule.name] = places
                if chosen:
                    self.confirmed[chosen[0].rule.id] = chosen[0].rule
                    self.others.get(chosen[0].rule.name, set()).discard(chosen[0].place)
                    kept.append(chosen[0])
                    self._let_go([entry for entry in entries if entry.rule.id != chosen[0].rule.id], chosen)
                for entry in () if chosen else entries:
                    if _outcome_of(entry) is not None:
                        self._miss(entry, result)
            # What the same function returned before, and was in no result, is that of the tool as well.
            self._let_go([], [entry for entry in self._held.values() if entry.rule.id in self.confirmed])
        return kept

    def missed(self) -> set[str]:
        """Return the tools of whose functions one returned what was in no result."""
        return {entry.rule.name for entry in self._held.values() if entry.rule.id in self._misses}

    def close(self) -> None:
        """Decide on the rest at the end: a call that no result answers may have been the last one."""
        with self._lock:
            entries = list(self._held.values())
            missed = [entry for entry in entries if entry.rule.id in self._misses]
            self.dropped |= {entry.rule.name for entry in missed}
            self._let_go(
                missed,
                [entry for entry in entries if entry.rule.id not in self._misses],
            )

    # --- inside ------------------------------------------------------------------------------------------------------

    def _miss(self, entry: HeldCrossing, result: CallResult) -> None:
        """Count a crossing whose return value is not in the result."""
        rule = entry.rule.id
        self._misses[rule] = self._misses.get(rule, 0) + 1
        if self._misses[rule] >= _MOST_MISSES:
            self.rejected.add(rule)
        if rule not in self.confirmed and (_telling(entry) or not _explains(entry, result)):
            self.others.setdefault(entry.rule.name, set()).add(entry.place)

    def _let_go(self, dropped: list[HeldCrossing], kept: list[HeldCrossing]) -> None:
        """Submit the kept crossings, and drop the others."""
        for entry in (*dropped, *kept):
            self._held.pop(entry.crossing.seq, None)
        # What crossed inside names it as its parent, so it stays.
        enclosing = [entry for entry in dropped if entry.crossing.counts]
        kept = [*kept, *enclosing]
        self._forget([entry for entry in dropped if not entry.crossing.counts], kept)
        for entry in kept:
            if entry.crossing.record is not None:
                entry.crossing.record.is_confirmed = entry.rule.id in self.confirmed
            entry.store.release(entry.crossing.seq)

    def _forget(self, dropped: list[HeldCrossing], kept: Iterable[HeldCrossing] = ()) -> None:
        """Drop crossings, and give those that remain of their names the numbers that they have without them."""
        left = [entry.crossing for entry in (*kept, *self._held.values())]
        for entry in dropped:
            entry.store.drop(entry.crossing.seq)
            gone = entry.crossing
            later = [other for other in left if other.name == gone.name and other.seq > gone.seq]
            for crossing in later:
                crossing.nth -= 1
                crossing.within -= crossing.previous is gone.previous
            gone.previous.counts[gone.name] -= 1
            kernel: Any = gone.root.kernel
            if kernel is not None:
                kernel.take_back(gone.name)


def _answers(result: CallResult, call: OpenCall) -> bool:
    return result.id == call.call.id if result.id else result.name == call.call.name


def _fitting(entries: list[HeldCrossing], result: CallResult) -> list[HeldCrossing]:
    """Return the crossings whose return value is in a result; those that have all of it come before those with a part."""
    text = "\n".join([str(result.body), *scalars(result.body)])
    parts = [part for part in walk(result.body) if isinstance(part, dict | list) and part]
    ended = [entry for entry in entries if _outcome_of(entry) is not None]
    for is_enough in (_is_whole, _is_part):
        fitting = [entry for entry in ended if is_enough(entry, text, parts) and _explains(entry, result)]
        if fitting:
            return fitting
    # Nothing that was returned says anything. If the result doesn't either, a name that fits is enough.
    is_only = len({entry.place for entry in ended}) == 1
    silent = [entry for entry in ended if not _telling(entry) and entry.rule.id.startswith("found by name")]
    return silent if is_only and silent and _is_written(silent[-1], result) else []


def _is_whole(entry: HeldCrossing, text: str, parts: list[Any]) -> bool:
    """Return whether a result has all that was returned."""
    value = _value_of(entry)
    if isinstance(value, dict | list) and value in parts and value != entry.call.call.decoded():
        return True
    values = _telling(entry)
    return bool(values) and all(_is_in(value, text) for value in values)


def _is_part(entry: HeldCrossing, text: str, _parts: list[Any]) -> bool:
    """Return whether a result has some of what was returned."""
    return any(_is_in(value, text) for value in _telling(entry))


def _explains(entry: HeldCrossing, result: CallResult) -> bool:
    """Return whether most words of a result are of what was returned. A helper's value, such as a number, is in a longer one.

    The arguments say nothing here, since any function may write them into the result.
    """
    returned, given = _words_of(_value_of(entry)), _words_of(entry.call.call.decoded())
    contents = [result.body[key] for key in _CONTENTS if key in result.body] or [result.body]
    texts = [text[:_MOST_COMPARED] for text in scalars(contents) if not is_structured(text)]
    words = [word for text in texts for word in _WORD.findall(text)]
    # A long word may be cut.
    long_words = [word for word in returned if len(word) > _PREFIX]
    explained = unknown = 0
    for word in words:
        if word in returned or (len(word) > _PREFIX and any(known.startswith(word) for known in long_words)):
            explained += len(word)
        elif word not in given and word not in _SAYS_NOTHING:
            unknown += len(word)
    return explained >= unknown


def _words_of(value: Any) -> set[str]:
    """Return the words in the keys and the scalars of JSON."""
    keys = (key for part in walk(value) if isinstance(part, dict) for key in part)
    return {word for text in (*keys, *scalars(value)) for word in _WORD.findall(text[:_MOST_COMPARED])}


def _outcome_of(entry: HeldCrossing) -> Returned | Raised | None:
    draft = entry.crossing.record
    return None if draft is None else draft.outcome


def _value_of(entry: HeldCrossing) -> Any:
    """Return what was returned or raised, as JSON."""
    outcome = _outcome_of(entry)
    return decode(
        b"null" if outcome is None else outcome.value if isinstance(outcome, Returned) else outcome.error
    )


def _telling(entry: HeldCrossing) -> frozenset[str]:
    """Return the parts of an outcome that can be recognised in a result: not the arguments, which any helper may return."""
    echoed = {*scalars(entry.call.call.decoded())}
    return frozenset(
        value
        for value in scalars(_value_of(entry))
        if len(value) >= _SHORTEST and value not in _SAYS_NOTHING and value not in echoed
    )


def _is_in(value: str, text: str) -> bool:
    return value in text or (len(value) > _PREFIX and value[:_PREFIX] in text)


def _is_written(entry: HeldCrossing, result: CallResult) -> bool:
    """Return whether a result is nothing but what was returned, as text or as JSON."""
    outcome = _outcome_of(entry)
    if not isinstance(outcome, Returned):
        return False
    value = decode(outcome.value)
    contents = {
        text for key, content in result.body.items() if key in _CONTENTS for text in _text_of(content)
    }
    return bool(
        contents & {str(value), outcome.value.decode(), str(value).lower(), *([""] if value is None else [])}
    )


def _text_of(content: Any) -> tuple[str, ...]:
    """Return the text of a result's content, if it is a text or a list with one part; else nothing."""
    if isinstance(content, list) and len(content) == 1:
        part = content[0]
        content = part
        if isinstance(part, dict):
            values = [value for key, value in part.items() if key != "type"]
            content = values[0] if len(values) == 1 else None
    return (content,) if isinstance(content, str) else ()


_CONTENTS = ("content", "output", "result", "text", "response")
"""Fields with the text of a result."""
