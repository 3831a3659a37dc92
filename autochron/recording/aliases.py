"""Arguments that stand somewhere in an outcome: the caller gets the same object back, and so does a replay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from autochron._runtime.bare import identity

Alias: TypeAlias = tuple[list[str | int], str]
"""Where an argument stands, by the keys and indexes that lead to it, and its name."""

_MOST: Final = 10_000
"""Members of an outcome that are looked at."""

_DEEPEST: Final = 50
_CONTAINERS = frozenset({dict, list, tuple})


def aliases_in(value: Any, shared: Mapping[int, str]) -> list[Alias]:
    """Return where in dictionaries with text for keys, in lists and in tuples the arguments stand.

    Args:
        value: an outcome.
        shared: from the `id` of an argument to its name.
    """
    if type(value) not in _CONTAINERS:
        return []
    found: list[Alias] = []
    waiting: list[tuple[Any, list[str | int]]] = [(value, [])]
    seen = 0
    while waiting and seen < _MOST:
        held, path = waiting.pop()
        for key, member in _members(held):
            seen += 1
            name = shared.get(identity(member))
            if name is not None and ":" not in name:
                found.append(([*path, key], name))
            elif type(member) in _CONTAINERS and len(path) < _DEEPEST:
                waiting.append((member, [*path, key]))
    return found


def without_aliases(opaque: Iterable[str], aliases: Iterable[Alias]) -> list[str]:
    """Return the entries of what can't be rebuilt that are not of an argument, or below one."""
    paths = [".".join(map(str, path)) for path, _ in aliases]
    return [each for each in opaque if not any(each.startswith((f"{path}:", f"{path}.")) for path in paths)]


def _members(held: Any) -> Iterable[tuple[str | int, Any]]:
    if type(held) is dict:
        for key in held:
            if type(key) is not str or key[:1] == "$":  # it is written as pairs
                return ()
        return list(held.items())
    return enumerate(held)
