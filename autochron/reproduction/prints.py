"""Fingerprints of the values that several runs of the same code produced: what is the same in all, and what varies.

A value is JSON. A fingerprint holds hashes of its leaves in the place of the leaves. Of a text that varies in part, such as
`paid 40 at 10:31`, it holds hashes of the words that stay the same. The paths of the leaves are in clear.

A hash does not protect a value that can be guessed, such as an amount, a date or a name: whoever has the fingerprint can try
them all. A salt would not change that, since it would have to be in the same file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

Leaves: TypeAlias = dict[str, Any]
"""The leaves of a JSON value by their dotted paths; an empty list or object is a leaf."""

_WORDS = re.compile(r"[^\W_]+|[\W_]")

VARIES = "*"
"""The fingerprint of a leaf that has nothing in common in all runs."""

_MISSING = object()
_SET_TAGS = frozenset({"$set", "$frozenset"})


class ValuePrint(Struct, frozen=True, kw_only=True):
    """The fingerprint of several values."""

    leaves: dict[str, str]
    """By path: `=HASH` for a leaf that is the same in all values; `*` for one that varies; and for a text that varies in
    part `~` and its parts with `|` between them, each `COUNT:HASH` of so many words, `*`, or empty."""
    unordered: tuple[str, ...] = ()
    """Paths of lists whose order varies."""

    @property
    def tells(self) -> bool:
        """Whether a value that fits is evidence. It is none if all leaves vary, or if all are null."""
        return any(leaf_print != VARIES for leaf_print in self.leaves.values()) and set(
            self.leaves.values()
        ) != {_hash(None)}

    def varying(self) -> list[str]:
        """Return the paths of leaves that vary, wholly or in part, and of lists whose order varies."""
        return sorted(
            [path for path, leaf_print in self.leaves.items() if leaf_print[:1] in {"*", "~"}]
            + list(self.unordered)
        )

    def differences(self, value: Any, ignored: Sequence[str] = ()) -> list[str]:
        """Return the paths at which a value differs from the fingerprint.

        Args:
            value: a JSON value.
            ignored: paths that are left out, with all below them.
        """
        leaves = flatten(_with_sorted_lists(value, frozenset(self.unordered), ""))
        paths = []
        for path in dict.fromkeys([*self.leaves, *leaves]):
            known = self.leaves.get(path)
            if known == VARIES or is_below(path, ignored) or (known is None and self._is_below_varying(path)):
                continue
            if known is None or path not in leaves or not _fits(known, leaves[path]):
                paths.append(path)
        return paths

    def _is_below_varying(self, path: str) -> bool:
        """Return whether a path is below one that varies, such as a new item of a list that was empty in some runs."""
        return any(
            leaf_print == VARIES and path.startswith(f"{varying_path}.")
            for varying_path, leaf_print in self.leaves.items()
        )


def print_of(values: Sequence[Any]) -> ValuePrint:
    """Return the fingerprint of the values of several runs."""
    unordered = frozenset(_unordered_paths(values, ""))
    leaves_of_values = [flatten(_with_sorted_lists(value, unordered, "")) for value in values]
    leaves: dict[str, str] = {}
    for path in dict.fromkeys(path for value_leaves in leaves_of_values for path in value_leaves):
        leaves[path] = _leaf_print([value_leaves.get(path, _MISSING) for value_leaves in leaves_of_values])
    return ValuePrint(leaves=leaves, unordered=tuple(sorted(unordered)))


def flatten(value: Any, path: str = "") -> Leaves:
    """Return the leaves of a value by their paths."""
    if isinstance(value, dict) and value:
        leaves: Leaves = {}
        for key, member in value.items():
            leaves |= flatten(member, f"{path}.{key}" if path else str(key))
        return leaves
    if isinstance(value, list) and value:
        leaves = {}
        for index, member in enumerate(value):
            leaves |= flatten(member, f"{path}.{index}" if path else str(index))
        return leaves
    return {path: value}


def is_below(path: str, prefixes: Sequence[str]) -> bool:
    """Return whether a path is one of these prefixes or is below one. The empty prefix is above every path."""
    return any(prefix in ("", path) or path.startswith(f"{prefix}.") for prefix in prefixes)


def words_of(text: str, *, digits: bool = False) -> list[str]:
    """Return the words and numbers of a text that have at least two characters; with `digits` also single digits."""
    return [word for word in _WORDS.findall(text) if len(word) > 1 or (digits and word.isdecimal())]


def text_print(texts: Sequence[str]) -> str:
    """Return the fingerprint of several texts, in the form that `ValuePrint.leaves` describes."""
    return _leaf_print(list(texts))


def text_fits(known: str, text: str) -> bool:
    """Return whether a text fits a fingerprint that `text_print` made."""
    return known == VARIES or _fits(known, text)


def _leaf_print(leaves: Sequence[Any]) -> str:
    first = _normalised(leaves[0])
    if all(type(leaf) is type(first) and leaf == first for leaf in map(_normalised, leaves)):
        return _hash(first)
    if not all(isinstance(leaf, str) for leaf in leaves):
        return VARIES
    words_of_texts = [_WORDS.findall(text) for text in leaves]
    head = _common_prefix_length(words_of_texts)
    tail = _common_prefix_length([text_words[head:][::-1] for text_words in words_of_texts])
    middle = [text_words[head : len(text_words) - tail] for text_words in words_of_texts]
    parts = [
        _words_print(words_of_texts[0][:head]),
        *_middle_parts(middle),
        _words_print(words_of_texts[0][len(words_of_texts[0]) - tail :]),
    ]
    if not any(
        word.isalnum()
        for word in [
            *words_of_texts[0][:head],
            *words_of_texts[0][len(words_of_texts[0]) - tail :],
            *_stable_words(middle),
        ]
    ):
        return VARIES
    return "~" + "|".join(parts)


def _common_prefix_length(words: Sequence[Sequence[str]]) -> int:
    """Return the number of words that several texts have in common at their beginning."""
    count = 0
    for column in zip(*words, strict=False):
        if len(set(column)) > 1:
            break
        count += 1
    return count


def _stable_words(middle: Sequence[Sequence[str]]) -> list[str]:
    """Return the words that are the same at their position in all texts; none if the texts have different lengths."""
    if len({len(words) for words in middle}) != 1:
        return []
    return [
        column[0] for column in zip(*middle, strict=True) if len(set(column)) == 1 and column[0].isalnum()
    ]


def _middle_parts(middle: Sequence[Sequence[str]]) -> list[str]:
    """Return the parts between the common beginning and end of texts: `*`, and the words that are the same in between."""
    if len({len(words) for words in middle}) != 1:
        return ["*"]
    parts: list[str] = ["*"]
    stable_run: list[str] = []
    columns = list(zip(*middle, strict=True))
    for column in columns:
        # A punctuation mark between varying words counts as varying: the dashes of two ids are no common text.
        if len(set(column)) == 1 and (column[0].isalnum() or stable_run):
            stable_run.append(column[0])
            continue
        if stable_run:
            parts += [_words_print(stable_run), "*"]
            stable_run = []
    return [*parts, _words_print(stable_run), "*"] if stable_run else parts


def _words_print(words: Sequence[str]) -> str:
    return f"{len(words)}:{_digest(list(words))}" if words else ""


def _fits(known: str, leaf: Any) -> bool:
    if known[:1] != "~":
        return known == _hash(_normalised(leaf))
    return isinstance(leaf, str) and _fits_parts(known[1:].split("|"), _WORDS.findall(leaf))


def _fits_parts(parts: list[str], words: list[str]) -> bool:
    """Return whether words consist of these parts in order, where `*` fits any words."""
    parts = [segment for segment in parts if segment]
    position, is_open = 0, False
    for index, part in enumerate(parts):
        if part == "*":
            is_open = True
            continue
        size, digest = int(part.partition(":")[0]), part.partition(":")[2]
        places = range(position, len(words) - size + 1) if is_open else [position]
        if index == len(parts) - 1:  # the end of the text
            places = [place for place in places if place == len(words) - size]
        match = next((place for place in places if _digest(words[place : place + size]) == digest), None)
        if match is None:
            return False
        position, is_open = match + size, False
    return is_open or position == len(words)


def _normalised(leaf: Any) -> Any:
    """Return a whole float as an integer, so that 40.0 equals 40; any other leaf as it is."""
    return int(leaf) if isinstance(leaf, float) and leaf.is_integer() else leaf


def _hash(leaf: Any) -> str:
    return f"={_digest(leaf)}"


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _sort_key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _unordered_paths(values: Sequence[Any], path: str) -> list[str]:
    """Return the paths of lists that have the same items in each value, but not in the same order."""
    if all(isinstance(value, dict) for value in values):
        keys = set.intersection(*(set(value) for value in values))
        return [
            unordered_path
            for key in sorted(keys)
            for unordered_path in _unordered_paths(
                [value[key] for value in values], f"{path}.{key}" if path else key
            )
        ]
    if all(isinstance(value, list) for value in values):
        if len({len(value) for value in values}) != 1:
            return []
        orders = {tuple(map(_sort_key, items)) for items in values}
        if len(orders) > 1 and len({tuple(sorted(order)) for order in orders}) == 1:
            return [path]
        return [
            unordered_path
            for index in range(len(values[0]))
            for unordered_path in _unordered_paths(
                [value[index] for value in values], f"{path}.{index}" if path else str(index)
            )
        ]
    return []


def _with_sorted_lists(
    value: Any, unordered: frozenset[str], path: str, kind: Literal["", "set"] = ""
) -> Any:
    """Return a value with its sets, and the lists at the `unordered` paths, sorted."""
    if isinstance(value, dict):
        return {
            key: _with_sorted_lists(
                member, unordered, f"{path}.{key}" if path else str(key), "set" if key in _SET_TAGS else ""
            )
            for key, member in value.items()
        }
    if isinstance(value, list):
        if path in unordered or kind == "set":
            return sorted(value, key=_sort_key)
        return [
            _with_sorted_lists(member, unordered, f"{path}.{index}" if path else str(index))
            for index, member in enumerate(value)
        ]
    return value
