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


def words_of(text: str, *, digits: bool = False) -> list[str]:
    """Return the words and numbers of a text, those of one character left out, but for `digits` where they are asked for."""
    return [word for word in _WORDS.findall(text) if len(word) > 1 or (digits and word.isdecimal())]


def text_print(texts: Sequence[str]) -> str:
    """Return what several texts have in common."""
    return _leaf_print(list(texts))


def text_fits(known: str, text: str) -> bool:
    """Return whether a text has what others have in common."""
    return known == VARIES or _fits(known, text)


def _leaf_print(leaves: Sequence[Any]) -> str:
    first = _number(leaves[0])
    if all(type(each) is type(first) and each == first for each in map(_number, leaves)):
        return _hash(first)
    if not all(isinstance(each, str) for each in leaves):
        return VARIES
    words = [_WORDS.findall(each) for each in leaves]
    head = _shared(words)
    tail = _shared([each[head:][::-1] for each in words])
    middle = [each[head : len(each) - tail] for each in words]
    parts = [_part(words[0][:head]), *_middle(middle), _part(words[0][len(words[0]) - tail :])]
    if not any(
        word.isalnum() for word in [*words[0][:head], *words[0][len(words[0]) - tail :], *_stable(middle)]
    ):
        return VARIES
    return "~" + "|".join(parts)


def _shared(words: Sequence[Sequence[str]]) -> int:
    """Return how many words several texts begin with."""
    count = 0
    for column in zip(*words, strict=False):
        if len(set(column)) > 1:
            break
        count += 1
    return count


def _stable(middle: Sequence[Sequence[str]]) -> list[str]:
    """Return the words that are the same in the varying parts of texts, where these are of one length."""
    if len({len(each) for each in middle}) != 1:
        return []
    return [
        column[0] for column in zip(*middle, strict=True) if len(set(column)) == 1 and column[0].isalnum()
    ]


def _middle(middle: Sequence[Sequence[str]]) -> list[str]:
    """Return the parts between the words that texts begin and end with: `*`, and what is the same in between."""
    if len({len(each) for each in middle}) != 1:
        return ["*"]
    parts: list[str] = ["*"]
    run: list[str] = []
    columns = list(zip(*middle, strict=True))
    for column in columns:
        # A mark between words that vary belongs to them: an id is no other id for its dashes.
        if len(set(column)) == 1 and (column[0].isalnum() or run):
            run.append(column[0])
            continue
        if run:
            parts += [_part(run), "*"]
            run = []
    return [*parts, _part(run), "*"] if run else parts


def _part(words: Sequence[str]) -> str:
    return f"{len(words)}:{_digest(list(words))}" if words else ""


def _fits(known: str, leaf: Any) -> bool:
    if known[:1] != "~":
        return known == _hash(_number(leaf))
    return isinstance(leaf, str) and _fits_parts(known[1:].split("|"), _WORDS.findall(leaf))


def _fits_parts(parts: list[str], words: list[str]) -> bool:
    """Return whether words are these parts in order, with anything where a part varies."""
    parts = [each for each in parts if each]
    at, is_open = 0, False
    for index, part in enumerate(parts):
        if part == "*":
            is_open = True
            continue
        size, digest = int(part.partition(":")[0]), part.partition(":")[2]
        places = range(at, len(words) - size + 1) if is_open else [at]
        if index == len(parts) - 1:  # the end of the text
            places = [each for each in places if each == len(words) - size]
        found = next((each for each in places if _digest(words[each : each + size]) == digest), None)
        if found is None:
            return False
        at, is_open = found + size, False
    return is_open or at == len(words)


def _number(leaf: Any) -> Any:
    """Return a number in one form: 40.0 is 40."""
    return int(leaf) if isinstance(leaf, float) and leaf.is_integer() else leaf


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
