"""Read `[redact]`: the project's own secrets, in addition to what is a secret everywhere.

A pattern is applied to everything that is recorded, so it must take time in proportion to the text, whatever that is. So only
the end of a pattern may repeat without a bound, and the number of ways in which a match can be tried at one position is
bounded by `MOST_WAYS`. This excludes back-references, `(a+)+`, and `[a-z]+@`, which reads a long word again from each letter.
"""

from __future__ import annotations

import re
from re import _constants as sre  # type: ignore[attr-defined]  # the only way to the parts of a pattern
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final

from autochron.model import RedactRule
from autochron.rules.tables import Table, TableKey

MOST_WAYS: Final = 4096
"""Most ways in which a match may be tried at one position of the text."""
_UNBOUNDED: Final = 10_000
"""A bound of so many repetitions or more counts as none."""
_SAMPLES: Final = (
    "The quick brown fox jumps over the lazy dog; paid 12.50 EUR to c-1 on 2026-01-31 (ok).",
    '{"role": "assistant", "content": "Hello", "total_tokens": 4096}',
)
_NAME = re.compile(r"[\w.\- ]{1,100}", re.ASCII)


REDACT_KEYS = {
    "patterns": TableKey(
        "texts", "regular expressions; what one matches is masked, or only its group `secret`"
    ),
    "names": TableKey("texts", "names of fields whose values are masked"),
}


class _SlowError(ValueError):
    """A pattern may take more time than in proportion to the text. The message is a predicate."""


def read_redact(table: Table) -> RedactRule:
    """Read the table, and check each pattern and each name.

    Raises:
        RuleError: a pattern or a name is not valid.
    """
    table.check_keys(REDACT_KEYS)
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
    subject = f"`patterns` has `{pattern}`, which"
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        _refuse(
            table,
            "patterns",
            index,
            f"{subject} is no regular expression: {error}; write one that Python's `re` accepts",
        )
        return
    tree = parser.parse(pattern)
    if tree.getwidth()[0] == 0:
        _refuse(
            table,
            "patterns",
            index,
            f"{subject} fits the empty text; require a character, with `+` in place of `*`",
        )
    try:
        ways = _ways(tree, is_last=True)
        if ways > MOST_WAYS:
            raise _SlowError(f"can be tried in more than {MOST_WAYS} ways at one place; let it repeat less")
    except _SlowError as error:
        _refuse(table, "patterns", index, f"{subject} {error}")
    fitting = next((match[0] for text in _SAMPLES if (match := compiled.search(text))), None)
    if fitting is not None:
        _refuse(
            table,
            "patterns",
            index,
            f"{subject} fits ordinary text such as `{fitting}`; name what only the secret begins with",
        )


def _ways(items: Any, *, is_last: bool) -> int:
    """Return the number of ways in which a sequence of parsed items can be tried; at most MOST_WAYS + 1.

    Args:
        items: (code, operand) pairs of `re._parser`.
        is_last: whether nothing of the pattern follows.

    Raises:
        _SlowError: it has a back-reference, or repeats without a bound before the pattern's end.
    """
    ways = 1
    for index, (code, operand) in enumerate(items):
        ways = min(MOST_WAYS + 1, ways * _ways_of(code, operand, is_last=is_last and index == len(items) - 1))
    return ways


def _ways_of(code: Any, operand: Any, *, is_last: bool) -> int:
    if code in {sre.GROUPREF, sre.GROUPREF_EXISTS}:
        raise _SlowError("refers back to a group; write out what it may be")
    if code is sre.SUBPATTERN:
        return _ways(operand[-1], is_last=is_last)
    if code is sre.ATOMIC_GROUP:
        return _ways(operand, is_last=is_last)
    if code is sre.BRANCH:
        return sum(_ways(branch, is_last=is_last) for branch in operand[1])
    if code in {sre.ASSERT, sre.ASSERT_NOT}:
        return _ways(operand[1], is_last=False)
    if code in {sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT}:
        return _ways_to_repeat(*operand, is_last=is_last)
    return 1


def _ways_to_repeat(least: int, most: int, item: Any, *, is_last: bool) -> int:
    item_ways = _ways(item, is_last=False)
    if most >= _UNBOUNDED:
        if not is_last:
            raise _SlowError(
                "repeats something without a bound and goes on; give a bound, such as `{1,64}` for `+`"
            )
        if item_ways > 1:
            raise _SlowError(
                "repeats what can be tried in several ways; repeat one set of characters, as in `[a-z0-9]+`"
            )
        return 1
    ways = 0
    for count in range(least, most + 1):
        ways += int(min(item_ways, MOST_WAYS + 1) ** min(count, 13))
        if ways > MOST_WAYS:
            break
    return max(1, ways)
