"""Fingerprints of values that several runs of the same code gave: what they have in common, and what varies.

A value is JSON. Its leaves are known by hash, so that a committed fingerprint shows nobody's data. A text of which a part
varies, such as `paid 40 at 10:31`, is known by its other words.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

Leaves: TypeAlias = dict[str, Any]
"""Leaves by their dotted paths; an empty list or object is a leaf."""

_WORDS = re.compile(r"[^\W_]+|[\W_]")

VARIES = "*"
"""The print of a leaf of which nothing is the same in all runs."""

_MISSING = object()
_UNORDERED = frozenset({"$set", "$frozenset"})


class ValuePrint(Struct, frozen=True, kw_only=True):
    """What several values have in common."""

    leaves: dict[str, str]
    """By path: `=HASH` of a leaf that is the same in all, `~COUNT:VARYING:HASH` of a text, `*`."""
    unordered: tuple[str, ...] = ()
    """Paths of lists whose order varies."""

    @property
    def tells(self) -> bool:
        """Whether a value that fits is evidence: not where all of it varies, and not where it is nothing."""
        return any(each != VARIES for each in self.leaves.values()) and set(self.leaves.values()) != {
            _hash(None)
        }

    def varying(self) -> list[str]:
        """Return the paths that vary."""
        return sorted(
            [path for path, each in self.leaves.items() if each[:1] in {"*", "~"}] + list(self.unordered)
        )

    def differences(self, value: Any, ignored: Sequence[str] = ()) -> list[str]:
        """Return the paths at which a value is another, without those that vary or are ignored."""
        now = flatten(_sorted(value, frozenset(self.unordered), ""))
        found = []
        for path in dict.fromkeys([*self.leaves, *now]):
            known = self.leaves.get(path)
            if known == VARIES or is_below(path, ignored) or (known is None and self._is_in_varying(path)):
                continue
            if known is None or path not in now or not _fits(known, now[path]):
                found.append(path)
        return found

    def _is_in_varying(self, path: str) -> bool:
        """Return whether a path lies below one that varies, or beside leaves of a list whose length varies."""
        return any(known == VARIES and path.startswith(f"{each}.") for each, known in self.leaves.items())


def print_of(values: Sequence[Any]) -> ValuePrint:
    """Return what the values of several runs have in common."""
    unordered = frozenset(_unordered(values, ""))
    sorted_values = [flatten(_sorted(each, unordered, "")) for each in values]
    leaves: dict[str, str] = {}
    for path in dict.fromkeys(path for each in sorted_values for path in each):
        leaves[path] = _leaf_print([each.get(path, _MISSING) for each in sorted_values])
    return ValuePrint(leaves=leaves, unordered=tuple(sorted(unordered)))


def flatten(value: Any, path: str = "") -> Leaves:
    """Return the leaves of a value by their paths."""
    if isinstance(value, dict) and value:
        found: Leaves = {}
        for key, each in value.items():
            found |= flatten(each, f"{path}.{key}" if path else str(key))
        return found
    if isinstance(value, list) and value:
        found = {}
        for index, each in enumerate(value):
            found |= flatten(each, f"{path}.{index}" if path else str(index))
        return found
    return {path: value}


def is_below(path: str, prefixes: Sequence[str]) -> bool:
    """Return whether a path is one of these, or lies below one."""
    return any(each in ("", path) or path.startswith(f"{each}.") for each in prefixes)


def text_print(texts: Sequence[str]) -> str:
    """Return what several texts have in common."""
    return _leaf_print(list(texts))


def text_fits(known: str, text: str) -> bool:
    """Return whether a text has what others have in common."""
    return known == VARIES or _fits(known, text)


def _leaf_print(leaves: Sequence[Any]) -> str:
    first = leaves[0]
    if all(type(each) is type(first) and each == first for each in leaves):
        return _hash(first)
    if not all(isinstance(each, str) for each in leaves):
        return VARIES
    words = [_WORDS.findall(each) for each in leaves]
    if len({len(each) for each in words}) != 1:
        return VARIES
    varying = [at for at, column in enumerate(zip(*words, strict=True)) if len(set(column)) > 1]
    stable = [word for at, word in enumerate(words[0]) if at not in varying]
    if not any(word.isalnum() for word in stable):
        return VARIES
    return f"~{len(words[0])}:{','.join(map(str, varying))}:{_digest(stable)}"


def _fits(known: str, leaf: Any) -> bool:
    if known[:1] != "~":
        return known == _hash(leaf)
    if not isinstance(leaf, str):
        return False
    count, varying, digest = known[1:].split(":")
    words, left_out = _WORDS.findall(leaf), {int(each) for each in varying.split(",")}
    stable = [word for at, word in enumerate(words) if at not in left_out]
    return len(words) == int(count) and _digest(stable) == digest


def _hash(leaf: Any) -> str:
    return f"={_digest(leaf)}"


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _unordered(values: Sequence[Any], path: str) -> list[str]:
    """Return the paths of lists that hold the same in each value, and not in the same order."""
    if all(isinstance(each, dict) for each in values):
        keys = set.intersection(*(set(each) for each in values))
        return [
            found
            for key in sorted(keys)
            for found in _unordered([each[key] for each in values], f"{path}.{key}" if path else key)
        ]
    if all(isinstance(each, list) for each in values):
        if len({len(each) for each in values}) != 1:
            return []
        orders = {tuple(map(_key, each)) for each in values}
        if len(orders) > 1 and len({tuple(sorted(each)) for each in orders}) == 1:
            return [path]
        return [
            found
            for index in range(len(values[0]))
            for found in _unordered(
                [each[index] for each in values], f"{path}.{index}" if path else str(index)
            )
        ]
    return []


def _sorted(value: Any, unordered: frozenset[str], path: str, kind: Literal["", "set"] = "") -> Any:
    """Sort the lists whose order means nothing."""
    if isinstance(value, dict):
        return {
            key: _sorted(
                each, unordered, f"{path}.{key}" if path else str(key), "set" if key in _UNORDERED else ""
            )
            for key, each in value.items()
        }
    if isinstance(value, list):
        if path in unordered or kind == "set":
            return sorted(value, key=_key)
        return [
            _sorted(each, unordered, f"{path}.{at}" if path else str(at)) for at, each in enumerate(value)
        ]
    return value
