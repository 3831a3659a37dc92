"""Which tools a model asked for, and whether a crossing answers each call: what no crossing answers may have run unwoven.

Counted, not only named: a woven helper of the same name, or the same tool called past its boundary once, must not hide a call
that a replay would make again. When in doubt a call counts as unwoven; `--allow-unwoven` is there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from math import inf
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.json import decode

from autochron.envelope.type_trees import split

_LARGE = 16_384
"""Bytes of an input above which it isn't looked into: then it may be the call's."""

_KEPT = 1_024
"""The last crossings are kept: so many may begin before the answer to a call is there."""

_MORE = 3 * _KEPT
"""Crossings between two times at which older ones are let go of."""

_MOST_VOLUME = 2 * _KEPT * _LARGE
"""Bytes of inputs from which on they are, too."""

_LONGEST_STREAM = 64 * _KEPT
"""Crossings after which a stream that has not ended is taken for one that was left."""


class RequestedCall(Struct, frozen=True):
    """One call that a model asked for.

    Attributes:
        arguments: the JSON object, as text or decoded; None where it isn't known, as in a stream of its parts.
    """

    name: str
    arguments: Any = None


class Unanswered(Struct, frozen=True):
    """The calls of one tool that no crossing answers.

    Attributes:
        name: the tool.
        asked: how many calls of it the model asked for.
        keys: for each call without an answer the names of its arguments; None where they aren't known.
        is_crossed: whether a crossing of that name came after such a call and was none of its calls: a helper of the same
            name, or the tool with other arguments.
    """

    name: str
    asked: int
    keys: tuple[frozenset[str] | None, ...]
    is_crossed: bool = False

    @property
    def is_partial(self) -> bool:
        """Whether other calls of it were answered."""
        return len(self.keys) < self.asked

    @property
    def label(self) -> str:
        """Return the name, with how many calls these are where others were answered."""
        return f"{self.name} ({len(self.keys)} of {self.asked} calls)" if self.is_partial else self.name


class _Crossed(Struct):
    names: tuple[str, str]
    tool: bool
    parent: int | None
    input: bytes | None
    owner: str
    in_model: bool
    features: _Features | None = None
    """What its input says; read when it is first needed."""


class _Features(NamedTuple):
    """What a call's arguments, or a crossing's input, are recognised by."""

    values: set[str]
    keys: set[str]


class _Matched(NamedTuple):
    """The calls of one tool, each answered by a crossing or missing."""

    answered: dict[int, int]
    """From the place of a call among those of its name to the crossing that answers it."""
    left: list[int]
    """Crossings that may have answered one and did not."""
    is_renamed: bool


class RequestedTools:
    """The calls that models asked for, and the crossings of a trace.

    Calls and the crossings that answer them are let go of in the course of a long run (`settle`): what is kept grows with
    the calls that nothing answers.
    """

    def __init__(self) -> None:
        self._asked: dict[int, tuple[RequestedCall, ...]] = {}
        self._crossed: dict[int, _Crossed] = {}
        self.may_be_asked = False
        """Whether a model has asked for something, or may have: before that, no crossing answers it, and none is kept."""
        self.answering: set[str] = set()
        """Packs, and rules of the project, of which a crossing answered a call; known after `unanswered`."""
        self._streams: set[int] = set()
        """Models whose answer is still being read: what crosses meanwhile may answer what they are known to ask for later."""
        self._volume = 0
        """Bytes of the inputs that are kept."""
        self._most = _MORE
        """Crossings from which on older ones are let go of."""
        self._settled: dict[str, int] = {}
        """How many calls of a tool were answered and are let go of."""
        self._owners: set[str] = set()
        """By what the crossings crossed that answered those."""
        self._latest: dict[str, int] = {}
        """By name, the last crossing that was let go of without having answered a call; 0 where each did."""

    def ask(self, seq: int, calls: tuple[RequestedCall, ...], *, is_open: bool = False) -> None:
        """Note what a model crossing asked for; what is told last of a crossing counts.

        With `is_open` it may ask for more: it is a stream that has not ended.
        """
        if is_open:
            self._streams.add(seq)
        else:
            self._streams.discard(seq)
        if calls:
            self.may_be_asked = True
            self._asked[seq] = calls
        else:
            self._asked.pop(seq, None)

    def cross(
        self,
        seq: int,
        names: tuple[str, str],
        kind: str,
        parent: int | None,
        body: bytes,
        owner: str = "",
        *,
        in_model: bool = False,
        is_again: bool = False,
    ) -> None:
        """Note a crossing by its name and its function's name.

        Args:
            seq, kind, parent, body: of its envelope.
            names: its name and its function's.
            owner: the pack or the rule by which it crossed.
            in_model: whether it began inside of a model's crossing, which may have asked for it.
            is_again: whether it was told of when it began: then it may have answered a call that is let go of.
        """
        if not self.may_be_asked or (is_again and seq not in self._crossed):
            return
        # A route is known by its name: where it is told, the call's arguments are used up already.
        kept = body if len(body) <= _LARGE and kind != "router" else None
        if seq not in self._crossed:  # a stream is told of when it begins, too
            self._volume += len(kept or b"")
        self._crossed[seq] = _Crossed(names, kind == "tool", parent, kept, owner, in_model)
        if len(self._crossed) > self._most or self._volume > _MOST_VOLUME:
            self.settle()

    def settle(self) -> None:
        """Let go of older crossings, and of the calls that they answer.

        Kept are the last ones, since of two calls each is answered by the crossing that fits it best; those in a crossing
        that is still open, which may be a model's; and those that began after a stream that has not ended.
        """
        seqs = sorted(self._crossed)
        latest = seqs[-1] if seqs else 0
        self._streams = {seq for seq in self._streams if seq > latest - _LONGEST_STREAM}
        horizon = min([*seqs[-_KEPT:], *self._streams], default=0)
        ended = {seq for seq in seqs if seq < horizon and self._is_over(seq)}
        taken: set[int] = set()
        for name, calls in self._calls_by_name(horizon):
            answered = self._match(name, calls, taken, ended).answered
            if answered:
                taken.update(answered.values())
                self._settled[name] = self._settled.get(name, 0) + len(answered)
                self._drop([calls[place] for place in answered])
        self._let_go(ended, taken)
        if len(self._crossed) > _LONGEST_STREAM or self._volume > _MOST_VOLUME:
            # A model has been asking for very long: what answers it then, no longer does.
            self._let_go(sorted(self._crossed)[: len(self._crossed) // 2], set())
        self._most = len(self._crossed) + _MORE

    def _let_go(self, seqs: Iterable[int], taken: set[int]) -> None:
        for seq in seqs:
            crossed = self._crossed.pop(seq)
            self._volume -= len(crossed.input or b"")
            if seq in taken:
                self._owners.add(crossed.owner)
            for name in crossed.names:
                self._latest[name] = max(self._latest.get(name, 0), 0 if seq in taken else seq)

    def _is_over(self, seq: int) -> bool:
        """Return whether no model's crossing is open around one."""
        if not self._crossed[seq].in_model:
            return True
        parent = self._crossed[seq].parent
        while parent is not None:
            above = self._crossed.get(parent)
            if above is None:
                return False
            parent = above.parent
        return True

    def _drop(self, answered: Iterable[tuple[int, RequestedCall]]) -> None:
        """Let go of calls, each with the model that asked for it."""
        for seq, call in answered:
            calls = list(self._asked[seq])
            del calls[next(place for place, each in enumerate(calls) if each is call)]
            if calls:
                self._asked[seq] = tuple(calls)
            else:
                del self._asked[seq]

    def unanswered(self) -> tuple[Unanswered, ...]:
        """Return the tools of which a call was answered by no crossing, in the order in which they were asked for."""
        taken: set[int] = set()
        missing: dict[str, Unanswered] = {}
        everything = set(self._crossed)
        for name, calls in self._calls_by_name():
            matched = self._match(name, calls, taken, everything)
            taken |= set(matched.answered.values())
            without = [calls[place] for place in reversed(range(len(calls))) if place not in matched.answered]
            crossed = [*matched.left, self._latest.get(name, 0)]
            missing[name] = Unanswered(
                name,
                len(calls) + self._settled.get(name, 0),
                tuple([_keys_of(call) for _, call in without]),
                not matched.is_renamed and any(seq > model for model, _ in without for seq in crossed),
            )
        self.answering = self._owners | {self._crossed[seq].owner for seq in taken}
        order = dict.fromkeys(call.name for seq in sorted(self._asked) for call in self._asked[seq])
        return tuple(missing[name] for name in order if missing[name].keys)

    def _calls_by_name(self, before: float = inf) -> list[tuple[str, list[tuple[int, RequestedCall]]]]:
        """Return the calls of each tool, with the models that asked for them.

        First those that have a crossing of their name, so that none of these is taken for a renamed one.
        """
        calls: dict[str, list[tuple[int, RequestedCall]]] = {}
        for seq in sorted(self._asked):
            if seq < before:
                for call in self._asked[seq]:
                    calls.setdefault(call.name, []).append((seq, call))
        names = {name for crossed in self._crossed.values() for name in crossed.names} | set(self._latest)
        return sorted(calls.items(), key=lambda each: each[0] not in names)

    def _match(
        self, name: str, asked: list[tuple[int, RequestedCall]], taken: set[int], among: set[int]
    ) -> _Matched:
        """Find crossings that answer calls of a tool; each answers one, and begins after the model that asked for it."""
        named = [seq for seq, crossed in self._crossed.items() if name in crossed.names]
        is_renamed = not named and name not in self._latest
        if is_renamed:
            named = [seq for seq, crossed in self._crossed.items() if crossed.tool]
        inside = set(named)
        candidates = sorted(
            seq for seq in named if seq in among and seq not in taken and not self._is_inside(seq, inside)
        )
        answered: dict[int, int] = {}
        for place in reversed(range(len(asked))):  # the last first: fewer crossings come after it
            model, call = asked[place]
            found = self._best(candidates, model, call, whole=is_renamed)
            if found is not None:
                answered[place] = candidates.pop(found)
        return _Matched(answered, candidates, is_renamed)

    def _best(self, candidates: list[int], after: int, call: RequestedCall, *, whole: bool) -> int | None:
        """Return the place of the crossing that has most of a call's arguments; of several the first one."""
        wanted = _features(_object(call.arguments))
        most = len(wanted.values) + (0 if whole else len(wanted.keys))
        best, found = -1, None
        for place in range(bisect_right(candidates, after), len(candidates)):
            shared = _likeness(wanted, self._features_of(candidates[place]), whole=whole)
            if shared is not None and shared > best:
                best, found = shared, place
                if shared == most:  # nothing can fit it better
                    break
        return found

    def _features_of(self, seq: int) -> _Features | None:
        """Return what the input of a crossing says; None where it is not known, or nothing."""
        crossed = self._crossed[seq]
        if crossed.features is None and crossed.input is not None:
            tree, _ = split(decode(crossed.input))
            crossed.features = _features(tree) if tree else _SAYS_NOTHING
        return None if crossed.features is _SAYS_NOTHING else crossed.features

    def _is_inside(self, seq: int, others: set[int]) -> bool:
        """Return whether a crossing lies inside another that answers the same calls: both are one."""
        parent = self._crossed[seq].parent
        while parent is not None and parent not in others:
            above = self._crossed.get(parent)
            parent = None if above is None else above.parent
        return parent is not None


_SAYS_NOTHING = _Features(set(), set())
"""Of an input without members: there are no parameters, or the rule captures none."""


def _features(tree: Any) -> _Features:
    return _Features(set(_scalars(tree)), set(_keys(tree)))


def _likeness(wanted: _Features, has: _Features | None, *, whole: bool) -> int | None:
    """Say how much of a call's arguments a crossing's input has; None where it is another call's.

    With `whole` all values have to be there. Without it one name or value is enough: a tool may convert what it is given.
    """
    if has is None or not (wanted.values or wanted.keys):
        return None if whole else 0
    if whole:
        return len(wanted.values) if wanted.values and wanted.values <= has.values else None
    return len(wanted.values & has.values) + len(wanted.keys & has.keys) or None


def _keys_of(call: RequestedCall) -> frozenset[str] | None:
    """Return the names of a call's arguments; None where they aren't known."""
    arguments = _decoded(call.arguments) if isinstance(call.arguments, str) else call.arguments
    return frozenset(arguments) if isinstance(arguments, dict) else None


def _object(arguments: Any) -> dict[str, Any]:
    if isinstance(arguments, str):
        arguments = _decoded(arguments)
    return arguments if isinstance(arguments, dict) else {}


def _decoded(text: str) -> Any:
    if text[:1] not in {"{", "["}:
        return None
    try:
        return decode(text)
    except ValueError:
        return None


def _scalars(value: Any) -> Iterator[str]:
    for each in _walk(value):
        if isinstance(each, float) and each.is_integer():
            yield str(int(each))
        elif not isinstance(each, dict | list) and each is not None:
            yield str(each)


def _keys(value: Any) -> Iterator[str]:
    for each in _walk(value):
        if isinstance(each, dict):
            yield from each


def _walk(value: Any) -> Iterator[Any]:
    """Yield a value and all that is in it, also in JSON that is held as text."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        yield each
        inner: Iterable[Any] = ()
        if isinstance(each, dict):
            inner = each.values()
        elif isinstance(each, list):
            inner = each
        elif isinstance(each, str) and (held := _decoded(each)) is not None:
            inner = (held,)
        waiting += inner
