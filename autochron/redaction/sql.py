"""Secrets in SQL: passwords of users, and values in an INSERT whose column has a secret name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autochron._runtime.lazy import late
from autochron.redaction.secret_names import SecretNames

_IDENTIFIED = late(
    r"""\bIDENTIFIED\s{1,20}(?:WITH\s{1,20}\S{1,64}\s{1,20})?(?:BY|AS)\s{1,20}(?:PASSWORD\s{1,20})?(?:'([^'\n]{1,1000})'|"([^"\n]{1,1000})")""",
    re.ASCII | re.IGNORECASE,
)
_BARE = late(
    r"""\b(?:CREATE|ALTER|GRANT)\b[^;'"]{1,300}?\bIDENTIFIED\s{1,20}BY\s{1,20}([^\s;'"]{1,1000})""",
    re.ASCII | re.IGNORECASE,
)
_PASSWORD = late(
    r"""\b(?:PASSWORD|PASSWD)(?:\s{1,20}|\s{0,20}\(\s{0,20})(?:'([^'\n]{1,1000})'|"([^"\n]{1,1000})")""",
    re.ASCII | re.IGNORECASE,
)
_NEAR = late(r"""passw(?:or)?d(?:\s|\(|\\{1,40}[nrtf]){1,45}\\{0,40}["']""", re.ASCII)
_INSERT = late(
    r"""\b(?:INSERT|REPLACE)\s{1,20}(?:OR\s{1,20}\w{1,20}\s{1,20}|IGNORE\s{1,20})?INTO\s{1,20}[\w."`\[\]]{1,128}\s{0,20}\(([^()]{1,4000})\)\s{0,20}VALUES\s{0,20}""",
    re.ASCII | re.IGNORECASE,
)
_TOKEN = late(r"""'(?:[^'\\]|''|\\.)*+(?:'|\\?\Z)|"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[(),;]|[^\s'"(),;]++|\s++""")


def may_be_in(text: str) -> bool:
    """Return whether raw text may hold such a statement."""
    lower = text.lower()
    if "identified" in lower or " into" in lower:
        return "identified" in lower or "insert" in lower or "replace" in lower
    return "passw" in lower and _NEAR.search(lower) is not None


def find(text: str, names: SecretNames) -> Iterator[tuple[int, int]]:
    """Yield the bounds of the secrets in a text."""
    if "'" not in text and '"' not in text and "identified" not in text.lower():
        return
    for pattern in (_IDENTIFIED, _BARE, _PASSWORD):
        for match in pattern.finditer(text):
            yield match.span(match.lastindex or 0)
    for match in _INSERT.finditer(text):
        columns = [column.strip(" \t\r\n`\"'[]") for column in match[1].split(",")]
        secret = {at for at, column in enumerate(columns) if column in names}
        if secret:
            yield from _of_rows(text, match.end(), secret)


def _of_rows(text: str, at: int, secret: set[int]) -> Iterator[tuple[int, int]]:
    """Yield the bounds of the strings in some columns of the rows after VALUES.

    Args:
        text: the text.
        at: the offset of the first row.
        secret: the indexes of the columns.
    """
    depth = column = 0
    for token in _TOKEN.finditer(text, at):
        sign = token[0]
        if sign == "(":
            depth += 1
            column = 0 if depth == 1 else column
        elif sign == ")":
            depth -= 1
        elif sign == "," and depth == 1:
            column += 1
        elif depth == 0 and sign != "," and not sign.isspace():
            return
        elif column in secret and sign[0] in "'\"" and len(sign) > 2:
            yield token.start() + 1, token.end() - 1
