"""Ignores beside the code: `# autochron: ignore[clock] only for the log`.

The comment stands at the end of the line that a finding names, at the first or last line of its statement, or alone above
it. It names the rules, which are the categories, and says why. A comment that leaves one of them out ignores nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from io import StringIO
from typing import TYPE_CHECKING

from msgspec import Struct

from autochron.detect.line_hash import source_lines
from autochron.model import CATEGORIES, Category

if TYPE_CHECKING:
    from autochron.detect.statements import Statements

_MARK = "autochron:"
_COMMENT = re.compile(r"#\s*autochron:\s*(?P<verb>\w*)\s*(?:\[(?P<rules>[^\]]*)\])?(?P<reason>.*)")


class CommentIgnore(Struct, frozen=True):
    """A comment that ignores findings.

    Attributes:
        place: the line of the comment.
        first: the first line whose findings it ignores.
        last: the last one.
        rules: the categories that it names.
        fault: why it ignores nothing; None where it does.
    """

    place: int
    first: int
    last: int
    rules: tuple[Category, ...] = ()
    fault: str | None = None


def comment_ignores(path: str) -> tuple[CommentIgnore, ...]:
    """Return the comments in a source file that ignore findings, or are meant to; none where it can't be read."""
    lines = source_lines(path)
    return _parsed(lines) if any(_MARK in line for line in lines) else ()


@lru_cache(maxsize=64)
def _parsed(lines: tuple[str, ...]) -> tuple[CommentIgnore, ...]:
    import tokenize  # lazy: few projects have such comments

    from autochron.detect.statements import Statements

    found = []
    try:
        for token in tokenize.generate_tokens(StringIO("\n".join(lines)).readline):
            match = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
            if match is not None and (match["verb"] == "ignore" or match["rules"] is not None):
                place, column = token.start
                is_alone = not lines[place - 1][:column].strip()
                found.append((match, place, _next_line(lines, place) if is_alone else place))
    except (tokenize.TokenError, SyntaxError):
        pass  # what comes after can't be read, and the file is told as one that doesn't parse
    statements = Statements("\n".join(lines)) if found else None
    return tuple(_read(match, place, line, statements) for match, place, line in found)


def _read(match: re.Match[str], place: int, line: int, statements: Statements | None) -> CommentIgnore:
    named = [name for name in re.split(r"[,\s]+", match["rules"] or "") if name]
    unknown = next((name for name in named if name not in CATEGORIES), None)
    fault = None
    if match["verb"] != "ignore" or not named:
        fault = "name the rules in brackets, as in `# autochron: ignore[clock] only for the log`"
    elif unknown is not None:
        fault = f"there is no rule `{unknown}`; the rules are {', '.join(CATEGORIES)}"
    elif not match["reason"].strip(" \t:-–—"):
        fault = "say behind the brackets why the call is accepted"
    first, last = (line, line) if statements is None else statements.lines_of(line)
    if line not in (first, last):  # in the midst of a statement it is about its own line
        first = last = line
    rules = () if fault is not None else tuple(rule for rule in CATEGORIES if rule in named)
    return CommentIgnore(place, first, last, rules, fault)


def _next_line(lines: tuple[str, ...], place: int) -> int:
    """Return the next line with code after a comment that stands alone."""
    for number in range(place, len(lines)):
        text = lines[number].strip()
        if text and not text.startswith("#"):
            return number + 1
    return place
