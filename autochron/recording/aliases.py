"""Find arguments inside an outcome: the caller gets the same objects back there, and so does the caller in a replay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from autochron._runtime.bare import identity

Alias: TypeAlias = tuple[list[str | int], str]
"""(path, name): the keys and indexes that lead to an argument, and the name of the argument."""

_MOST: Final = 10_000
"""Members of an outcome that are searched at most."""

_DEEPEST: Final = 50
"""Containers around a member that is searched, at most."""
_CONTAINERS = frozenset({dict, list, tuple})


def aliases_in(value: Any, shared: Mapping[int, str]) -> list[Alias]:
    """Find arguments in an outcome, inside of lists, tuples and dictionaries with string keys.

    Args:
        value: the outcome.
        shared: from the `id` of an argument to its name; globals, which have a `:` in it, are passed over.
    """
    if type(value) not in _CONTAINERS:
        return []
    aliases: list[Alias] = []
    waiting: list[tuple[Any, list[str | int]]] = [(value, [])]
    seen = 0
    while waiting and seen < _MOST:
        container, path = waiting.pop()
        for key, member in _members(container):
            seen += 1
            name = shared.get(identity(member))
            if name is not None and ":" not in name:
                aliases.append(([*path, key], name))
            elif type(member) in _CONTAINERS and len(path) < _DEEPEST:
                waiting.append((member, [*path, key]))
    return aliases


def without_aliases(opaque: Iterable[str], aliases: Iterable[Alias]) -> list[str]:
    """Return the opaque entries that are neither an alias nor below one: a replay puts the argument there."""
    paths = [".".join(map(str, path)) for path, _ in aliases]
    return [
        entry for entry in opaque if not any(entry.startswith((f"{path}:", f"{path}.")) for path in paths)
    ]


def _members(container: Any) -> Iterable[tuple[str | int, Any]]:
    if type(container) is dict:
        for key in container:
            if type(key) is not str or key[:1] == "$":  # the codec writes it as pairs: no path leads into it
                return ()
        return list(container.items())
    return enumerate(container)
