"""Which tools a model asked for, and whether a crossing answers each call: what no crossing answers may have run unwoven.

Counted, not only named: a woven helper of the same name, or the same tool called past its boundary once, must not hide a call
that a replay would make again. When in doubt a call counts as unwoven; `--allow-unwoven` is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.json import decode

from autochron.envelope.value_types import split

_LARGE = 16_384
"""Bytes of an input above which it isn't looked into: then it may be the call's."""


class Call(Struct, frozen=True):
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


class _Crossed(Struct, frozen=True):
    names: tuple[str, str]
    tool: bool
    parent: int | None
    input: bytes | None
    owner: str


class Asking:
    """The calls that models asked for, and the crossings of a trace."""

    def __init__(self) -> None:
        self._asked: dict[int, tuple[Call, ...]] = {}
        self._crossed: dict[int, _Crossed] = {}
        self.may_be_asked = False
        """Whether a model has asked for something, or may have: before that, no crossing answers it, and none is kept."""
        self.answering: set[str] = set()
        """Packs, and rules of the project, of which a crossing answered a call; known after `unanswered`."""

    def ask(self, seq: int, calls: tuple[Call, ...]) -> None:
        """Note what a model crossing asked for; what is told last of a crossing counts."""
        if calls:
            self.may_be_asked = True
            self._asked[seq] = calls
        else:
            self._asked.pop(seq, None)

    def cross(
        self, seq: int, names: tuple[str, str], kind: str, parent: int | None, body: bytes, owner: str = ""
    ) -> None:
        """Note a crossing by its name and its function's name; `owner` is the pack or the rule by which it crossed."""
        if not self.may_be_asked:
            return
        # A route is known by its name: where it is told, the call's arguments are used up already.
        kept = body if len(body) <= _LARGE and kind != "router" else None
        self._crossed[seq] = _Crossed(names, kind == "tool", parent, kept, owner)

    def unanswered(self) -> tuple[Unanswered, ...]:
        """Return the tools of which a call was answered by no crossing, in the order in which they were asked for."""
        calls: dict[str, list[tuple[int, Call]]] = {}
        for seq in sorted(self._asked):
            for call in self._asked[seq]:
                calls.setdefault(call.name, []).append((seq, call))
        taken: set[int] = set()
        missing: dict[str, Unanswered] = {}
        # First those that have a crossing of their name, so that none of these is taken for a renamed one.
        for name in sorted(calls, key=lambda each: each not in self._names()):
            missing[name] = self._unanswered(name, calls[name], taken)
        self.answering = {self._crossed[seq].owner for seq in taken}
        return tuple(missing[name] for name in calls if missing[name].keys)

    def _names(self) -> set[str]:
        return {name for crossed in self._crossed.values() for name in crossed.names}

    def _unanswered(self, name: str, asked: list[tuple[int, Call]], taken: set[int]) -> Unanswered:
        named = [seq for seq, crossed in self._crossed.items() if name in crossed.names]
        renamed = not named
        if renamed:
            named = [seq for seq, crossed in self._crossed.items() if crossed.tool]
        candidates = sorted(seq for seq in named if seq not in taken and not self._is_inside(seq, set(named)))
        missing: list[tuple[int, Call]] = []
        for model, call in reversed(asked):  # the last first: fewer crossings come after it
            fits = [
                (shared, -seq)
                for seq in candidates
                if seq > model
                and (shared := _likeness(call.arguments, self._crossed[seq].input, whole=renamed)) is not None
            ]
            if not fits:
                missing.append((model, call))
                continue
            seq = -max(fits)[1]
            candidates.remove(seq)
            taken.add(seq)
        return Unanswered(
            name,
            len(asked),
            tuple([_keys_of(call) for _, call in missing]),
            not renamed and any(seq > model for model, _ in missing for seq in candidates),
        )

    def _is_inside(self, seq: int, others: set[int]) -> bool:
        """Tell whether a crossing lies inside another that answers the same calls: both are one."""
        parent = self._crossed[seq].parent
        while parent is not None and parent not in others:
            above = self._crossed.get(parent)
            parent = None if above is None else above.parent
        return parent is not None


def _likeness(arguments: Any, body: bytes | None, *, whole: bool) -> int | None:
    """Say how much of a call's arguments a crossing's input has; None where it is another call's.

    With `whole` all values have to be there. Without it one name or value is enough: a tool may convert what it is given.
    """
    given = _object(arguments)
    if not given or body is None:
        return None if whole else 0
    tree, _ = split(decode(body))
    if not tree:  # no parameters, or the rule captures none
        return None if whole else 0
    has = set(_scalars(tree))
    wanted = set(_scalars(given))
    if whole:
        return len(wanted) if wanted and wanted <= has else None
    shared = len(wanted & has) + len(set(given) & set(_keys(tree)))
    return shared or None


def _keys_of(call: Call) -> frozenset[str] | None:
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
    """Give a value and all that is in it, also in JSON that is held as text."""
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
