"""Reading `[redact]`: what is a secret in this project beside what is one everywhere.

A pattern must take time in proportion to the text, whatever that holds, since it is tried on all that is recorded. The rule:
nothing repeats without a bound but what ends the pattern, and the ways in which a match can be tried at one place have a
bound, `MOST_WAYS`. So there are no back-references, no `(a+)+`, and no `[a-z]+@`, which reads a long word again from each
letter.
"""

from __future__ import annotations

import re
from re import _constants as sre  # type: ignore[attr-defined]  # the only way to the parts of a pattern
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final

from autochron.model import RedactRule
from autochron.rules.tables import Table

MOST_WAYS: Final = 4096
"""Ways to try a match at one place."""
_UNBOUNDED: Final = 10_000
"""Repetitions from which on a bound is none."""
_SAMPLES: Final = (
    "The quick brown fox jumps over the lazy dog; paid 12.50 EUR to c-1 on 2026-01-31 (ok).",
    '{"role": "assistant", "content": "Hello", "total_tokens": 4096}',
)
_NAME = re.compile(r"[\w.\- ]{1,100}", re.ASCII)


class _SlowError(ValueError):
    """A pattern may take longer than its text is long."""


def read_redact(table: Table) -> RedactRule:
    """Read the table; each pattern and each name is checked."""
    table.check_keys(("patterns", "names"))
    patterns, names = table.texts("patterns"), table.texts("names")
    for index, pattern in enumerate(patterns):
        _check(table, index, pattern)
    for index, name in enumerate(names):
        if not _NAME.fullmatch(name) or not any(letter.isalpha() for letter in name):
            _refuse(
                table,
                "names",
                index,
                f"`names` has `{name}`, which is no name; write letters, such as `account_number`",
            )
    return RedactRule(patterns, names)


def _refuse(table: Table, key: str, index: int, message: str) -> None:
    table.source.refuse((*table.path, key, index), message)


def _check(table: Table, index: int, pattern: str) -> None:
    said = f"`patterns` has `{pattern}`, which"
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        _refuse(table, "patterns", index, f"{said} is no regular expression: {error}; write one of Python's")
        return
    tree = parser.parse(pattern)
    if tree.getwidth()[0] == 0:
        _refuse(
            table,
            "patterns",
            index,
            f"{said} fits the empty text; let it ask for a character, with `+` for `*`",
        )
    try:
        ways = _ways(tree, is_last=True)
        if ways > MOST_WAYS:
            raise _SlowError(f"can be tried in more than {MOST_WAYS} ways at one place; let it repeat less")
    except _SlowError as error:
        _refuse(table, "patterns", index, f"{said} {error}")
    fitting = next((match[0] for text in _SAMPLES if (match := compiled.search(text))), None)
    if fitting is not None:
        _refuse(
            table,
            "patterns",
            index,
            f"{said} fits ordinary text such as `{fitting}`; name what only the secret begins with",
        )


def _ways(items: Any, *, is_last: bool) -> int:
    """Count the ways in which a sequence can be tried; at most a little over MOST_WAYS.

    Raises:
        _SlowError: it refers back, or repeats without a bound where something follows.
    """
    found = 1
    for at, (code, given) in enumerate(items):
        found = min(MOST_WAYS + 1, found * _ways_of(code, given, is_last=is_last and at == len(items) - 1))
    return found


def _ways_of(code: Any, given: Any, *, is_last: bool) -> int:
    if code in {sre.GROUPREF, sre.GROUPREF_EXISTS}:
        raise _SlowError("refers back to a group; write out what it may be")
    if code is sre.SUBPATTERN:
        return _ways(given[-1], is_last=is_last)
    if code is sre.ATOMIC_GROUP:
        return _ways(given, is_last=is_last)
    if code is sre.BRANCH:
        return sum(_ways(branch, is_last=is_last) for branch in given[1])
    if code in {sre.ASSERT, sre.ASSERT_NOT}:
        return _ways(given[1], is_last=False)
    if code in {sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT}:
        return _ways_to_repeat(*given, is_last=is_last)
    return 1


def _ways_to_repeat(least: int, most: int, item: Any, *, is_last: bool) -> int:
    each = _ways(item, is_last=False)
    if most >= _UNBOUNDED:
        if not is_last:
            raise _SlowError(
                "repeats something without a bound and goes on; give a bound, such as `{1,64}` for `+`"
            )
        if each > 1:
            raise _SlowError(
                "repeats what can be tried in several ways; repeat one set of characters, as in `[a-z0-9]+`"
            )
        return 1
    found = 0
    for count in range(least, most + 1):
        found += int(min(each, MOST_WAYS + 1) ** min(count, 13))
        if found > MOST_WAYS:
            break
    return max(1, found)
