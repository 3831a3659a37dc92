"""Match the tool calls that models asked for with crossings. A call that no crossing answers may have run unwoven.

Calls are counted one by one, because a replay makes an unwoven call again. A woven helper of the same name must not hide such
a call, nor must other calls of the tool that went through its boundary. When in doubt a call counts as unwoven;
`--allow-unwoven` accepts it.
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
"""Bytes. A larger input is not searched for arguments, and its crossing may answer any call of its name."""

_KEPT = 1_024
"""How many of the last crossings are kept: as many may begin between a call and the crossing that answers it."""

_MORE = 3 * _KEPT
"""New crossings after which older ones are forgotten."""

_MOST_VOLUME = 2 * _KEPT * _LARGE
"""Bytes of kept inputs from which on older crossings are forgotten, too."""

_LONGEST_STREAM = 64 * _KEPT
"""Crossings after which a stream that has not ended counts as abandoned."""


class RequestedCall(Struct, frozen=True):
    """One call that a model asked for.

    Attributes:
        name: the tool.
        arguments: a JSON object, as text or decoded; None if it is unknown, as in a stream that sends it in parts.
        id: the provider's id of the call; empty if it has none.
    """

    name: str
    arguments: Any = None
    id: str = ""

    def decoded(self) -> dict[str, Any]:
        """Return the arguments as an object; an empty one if they are unknown."""
        return _object(self.arguments)


class Unanswered(Struct, frozen=True):
    """The calls of one tool that no crossing answers.

    Attributes:
        name: the tool.
        asked: how many calls of it the model asked for.
        keys: for each unanswered call the names of its arguments; None if they are unknown.
        is_crossed: whether a crossing of that name that answers no call came after an unanswered call: a helper of the
            same name, or the tool with other arguments.
    """

    name: str
    asked: int
    keys: tuple[frozenset[str] | None, ...]
    is_crossed: bool = False

    @property
    def is_partial(self) -> bool:
        """Whether other calls of the tool were answered."""
        return len(self.keys) < self.asked

    @property
    def label(self) -> str:
        """The name; if other calls of the tool were answered, also the number of unanswered calls."""
        return f"{self.name} ({len(self.keys)} of {self.asked} calls)" if self.is_partial else self.name


class _SeenCrossing(Struct):
    """A crossing that may answer a call; see `RequestedTools.note_crossing` for its fields."""

    names: tuple[str, str]
    tool: bool
    parent: int | None
    input: bytes | None
    owner: str
    in_model: bool
    features: _Features | None = None
    """The features of its input; read when they are first needed."""


class _Features(NamedTuple):
    """The values and keys by which the arguments of a call and the input of a crossing are compared."""

    values: set[str]
    keys: set[str]


class _Matched(NamedTuple):
    """The result of matching the calls of one tool with crossings."""

    answered: dict[int, int]
    """From the index of a call among those of its name to the `seq` of the crossing that answers it."""
    left: list[int]
    """The `seq` of each candidate that answers no call."""
    is_renamed: bool
    """Whether no crossing has the tool's name, so that crossings of other names were candidates."""


class RequestedTools:
    """The tool calls that models asked for in one trace, and the crossings that may answer them.

    `settle` forgets answered calls and their crossings during a long run, so that memory grows with unanswered calls only.
    """

    def __init__(self) -> None:
        self._requested: dict[int, tuple[RequestedCall, ...]] = {}
        self._crossings: dict[int, _SeenCrossing] = {}
        self.may_be_asked = False
        """Whether a model has asked for a tool, or may have; until then no crossing is kept."""
        self.answering: set[str] = set()
        """Packs, and rules of the project, whose crossings answered calls; set by `unanswered`."""
        self._streams: set[int] = set()
        """Model streams that have not ended. Crossings after one begins may answer calls that are known only at its end."""
        self._volume = 0
        """Bytes of the kept inputs."""
        self._most = _MORE
        """How many crossings are kept before `settle` is called."""
        self._settled: dict[str, int] = {}
        """How many answered calls were forgotten, by tool."""
        self._owners: set[str] = set()
        """Packs and rules whose crossings answered these calls."""
        self._latest: dict[str, int] = {}
        """By name, the last forgotten crossing that answered no call; 0 if each of them answered one."""

    def note_calls(self, seq: int, calls: tuple[RequestedCall, ...], *, is_open: bool = False) -> None:
        """Note the calls that a model crossing asked for; they replace those noted for it before.

        Args:
            seq: the model crossing.
            calls: all calls that it asked for.
            is_open: whether it is a stream that has not ended, and may ask for more.
        """
        if is_open:
            self._streams.add(seq)
        else:
            self._streams.discard(seq)
        if calls:
            self.may_be_asked = True
            self._requested[seq] = calls
        else:
            self._requested.pop(seq, None)

    def note_crossing(
        self,
        seq: int,
        names: tuple[str, str],
        kind: str,
        parent: int | None,
        body: bytes,
        owner: str = "",
        *,
        in_model: bool = False,
        is_update: bool = False,
    ) -> None:
        """Note a crossing that may answer a call.

        Args:
            seq, kind, parent: as in its envelope.
            names: the name of the crossing, and that of its function.
            body: the input, as JSON.
            owner: the pack or the rule that made its boundary.
            in_model: whether it began inside a model crossing, which may have asked for it.
            is_update: whether it was noted when it began. If it is no longer kept, it is ignored, since it may have answered
                a call that is forgotten.
        """
        if not self.may_be_asked or (is_update and seq not in self._crossings):
            return
        # A router crossing is matched by name only: the call's arguments are not part of its input.
        searched = body if len(body) <= _LARGE and kind != "router" else None
        if seq not in self._crossings:  # a stream is noted when it begins, too
            self._volume += len(searched or b"")
        self._crossings[seq] = _SeenCrossing(names, kind == "tool", parent, searched, owner, in_model)
        if len(self._crossings) > self._most or self._volume > _MOST_VOLUME:
            self.settle()

    def settle(self) -> None:
        """Forget older crossings, and the calls that they answer.

        Three kinds of crossings are kept: the last ones, since a later crossing may fit a call better; those inside an open
        crossing, which may be a model's; and those that began after a stream that has not ended.
        """
        seqs = sorted(self._crossings)
        latest = seqs[-1] if seqs else 0
        self._streams = {seq for seq in self._streams if seq > latest - _LONGEST_STREAM}
        horizon = min([*seqs[-_KEPT:], *self._streams], default=0)
        ended = {seq for seq in seqs if seq < horizon and self._is_outside_models(seq)}
        taken: set[int] = set()
        for name, calls in self._calls_by_name(horizon):
            answered = self._match(name, calls, taken, ended).answered
            if answered:
                taken.update(answered.values())
                self._settled[name] = self._settled.get(name, 0) + len(answered)
                self._forget_calls([calls[place] for place in answered])
        self._forget(ended, taken)
        if len(self._crossings) > _LONGEST_STREAM or self._volume > _MOST_VOLUME:
            # A model crossing has been open for very long. The crossings that are forgotten here answer none of its calls.
            self._forget(sorted(self._crossings)[: len(self._crossings) // 2], set())
        self._most = len(self._crossings) + _MORE

    def _forget(self, seqs: Iterable[int], taken: set[int]) -> None:
        for seq in seqs:
            crossing = self._crossings.pop(seq)
            self._volume -= len(crossing.input or b"")
            if seq in taken:
                self._owners.add(crossing.owner)
            for name in crossing.names:
                self._latest[name] = max(self._latest.get(name, 0), 0 if seq in taken else seq)

    def _is_outside_models(self, seq: int) -> bool:
        """Return whether no open model crossing can enclose this one."""
        if not self._crossings[seq].in_model:
            return True
        parent = self._crossings[seq].parent
        while parent is not None:
            ancestor = self._crossings.get(parent)
            if ancestor is None:
                return False
            parent = ancestor.parent
        return True

    def _forget_calls(self, answered: Iterable[tuple[int, RequestedCall]]) -> None:
        """Forget calls, each given with the `seq` of the model that asked for it."""
        for seq, call in answered:
            calls = list(self._requested[seq])
            del calls[next(place for place, member in enumerate(calls) if member is call)]
            if calls:
                self._requested[seq] = tuple(calls)
            else:
                del self._requested[seq]

    def unanswered(self) -> tuple[Unanswered, ...]:
        """Return the tools with a call that no crossing answers, in the order in which they were asked for."""
        taken: set[int] = set()
        missing: dict[str, Unanswered] = {}
        all_seqs = set(self._crossings)
        for name, calls in self._calls_by_name():
            match = self._match(name, calls, taken, all_seqs)
            taken |= set(match.answered.values())
            unanswered_calls = [
                calls[place] for place in reversed(range(len(calls))) if place not in match.answered
            ]
            candidates = [*match.left, self._latest.get(name, 0)]
            missing[name] = Unanswered(
                name,
                len(calls) + self._settled.get(name, 0),
                tuple([_keys_of(call) for _, call in unanswered_calls]),
                not match.is_renamed
                and any(seq > model for model, _ in unanswered_calls for seq in candidates),
            )
        self.answering = self._owners | {self._crossings[seq].owner for seq in taken}
        order = dict.fromkeys(call.name for seq in sorted(self._requested) for call in self._requested[seq])
        return tuple(missing[name] for name in order if missing[name].keys)

    def _calls_by_name(self, before: float = inf) -> list[tuple[str, list[tuple[int, RequestedCall]]]]:
        """Return the calls of each tool, each call with the `seq` of its model.

        Tools that have a crossing of their name come first, so that these crossings are taken before renamed ones are sought.

        Args:
            before: models from this `seq` on are left out.
        """
        calls: dict[str, list[tuple[int, RequestedCall]]] = {}
        for seq in sorted(self._requested):
            if seq < before:
                for call in self._requested[seq]:
                    calls.setdefault(call.name, []).append((seq, call))
        names = {name for crossing in self._crossings.values() for name in crossing.names} | set(self._latest)
        return sorted(calls.items(), key=lambda entry: entry[0] not in names)

    def _match(
        self, name: str, requested: list[tuple[int, RequestedCall]], taken: set[int], allowed: set[int]
    ) -> _Matched:
        """Find crossings that answer calls of a tool. Each answers one call, and begins after the call's model."""
        seqs = [seq for seq, crossing in self._crossings.items() if name in crossing.names]
        is_renamed = not seqs and name not in self._latest
        if is_renamed:
            seqs = [seq for seq, crossing in self._crossings.items() if crossing.tool]
        same_calls = set(seqs)
        candidates = sorted(
            seq
            for seq in seqs
            if seq in allowed and seq not in taken and not self._is_inside(seq, same_calls)
        )
        answered: dict[int, int] = {}
        # The last call comes first, since the fewest crossings come after it.
        for place in reversed(range(len(requested))):
            model, call = requested[place]
            candidate = self._best(candidates, model, call, needs_all=is_renamed)
            if candidate is not None:
                answered[place] = candidates.pop(candidate)
        return _Matched(answered, candidates, is_renamed)

    def _best(self, candidates: list[int], after: int, call: RequestedCall, *, needs_all: bool) -> int | None:
        """Return the index of the candidate with most of a call's arguments, the first of several; None if none fits."""
        requested = _features(_object(call.arguments))
        possible = len(requested.values) + (0 if needs_all else len(requested.keys))
        most_shared, best_place = -1, None
        for place in range(bisect_right(candidates, after), len(candidates)):
            shared = _count_shared(requested, self._features_of(candidates[place]), needs_all=needs_all)
            if shared is not None and shared > most_shared:
                most_shared, best_place = shared, place
                if shared == possible:  # no other can fit better
                    break
        return best_place

    def _features_of(self, seq: int) -> _Features | None:
        """Return the features of a crossing's input; None if it is unknown or empty."""
        crossing = self._crossings[seq]
        if crossing.features is None and crossing.input is not None:
            tree, _ = split(decode(crossing.input))
            crossing.features = _features(tree) if tree else _NO_FEATURES
        return None if crossing.features is _NO_FEATURES else crossing.features

    def _is_inside(self, seq: int, others: set[int]) -> bool:
        """Return whether a crossing is inside another one of the set: then both belong to the same call."""
        parent = self._crossings[seq].parent
        while parent is not None and parent not in others:
            ancestor = self._crossings.get(parent)
            parent = None if ancestor is None else ancestor.parent
        return parent is not None


_NO_FEATURES = _Features(set(), set())
"""The features of an input without members: there are no parameters, or the rule captures none."""


def _features(tree: Any) -> _Features:
    return _Features(set(scalars(tree)), set(_keys(tree)))


def _count_shared(requested: _Features, crossing: _Features | None, *, needs_all: bool) -> int | None:
    """Count the arguments of a call that a crossing's input has; return None if the crossing can't answer the call.

    With `needs_all` every value has to be there. Without it one name or value is enough: a tool may convert its arguments.
    """
    if crossing is None or not (requested.values or requested.keys):
        return None if needs_all else 0
    if needs_all:
        return len(requested.values) if requested.values and requested.values <= crossing.values else None
    return len(requested.values & crossing.values) + len(requested.keys & crossing.keys) or None


def _keys_of(call: RequestedCall) -> frozenset[str] | None:
    """Return the names of a call's arguments; None if they are unknown."""
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


def scalars(value: Any) -> Iterator[str]:
    """Yield the scalars of decoded JSON as texts, at any depth and also in strings that hold JSON, without nulls."""
    for member in walk(value):
        if isinstance(member, float) and member.is_integer():
            yield str(int(member))
        elif not isinstance(member, dict | list) and member is not None:
            yield str(member)


def is_structured(text: str) -> bool:
    """Return whether a text holds a JSON object or array."""
    return _decoded(text) is not None


def _keys(value: Any) -> Iterator[str]:
    for member in walk(value):
        if isinstance(member, dict):
            yield from member


def walk(value: Any) -> Iterator[Any]:
    """Yield a value and all its members at any depth, also those of JSON in strings."""
    waiting = [value]
    while waiting:
        member = waiting.pop()
        yield member
        members: Iterable[Any] = ()
        if isinstance(member, dict):
            members = member.values()
        elif isinstance(member, list):
            members = member
        elif isinstance(member, str) and (nested := _decoded(member)) is not None:
            members = (nested,)
        waiting += members
