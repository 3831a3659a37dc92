"""Values that are no secrets although they stand where one could stand: references, types, placeholders, sentences."""

from __future__ import annotations

import re

from autochron._runtime.lazy import late
from autochron.redaction.secret_patterns import MASK

_NOTHING = frozenset(
    """
    any anystr bool boolean bytes callable dict false float function int integer list mapping n/a nan nil no no-cache none
    null number object off on optional optional[str] required secretstr str string true undefined union unknown unset void yes
    """.split()  # noqa: SIM905 - a list of a line a word says no more
)
_FIELDS = frozenset(
    """
    account address age amount body code content count created data date description email enabled expires field first_name
    host id key kind label last_name limit login message mode model name number options path phone port price query role scope
    size source state status tags text time timestamp title type uid updated url user user_id user_name username value version
    """.split()  # noqa: SIM905
)
_REFERENCE = late(
    r"""\$\{[^{}\n]*\}|\$\([^()\n]*\)|\$[A-Z_][A-Z0-9_]*|%[A-Z_][A-Z0-9_]*%|\{\{[^{}\n]*\}\}|\{[A-Za-z_][\w.]*\}|<[^<>\n]{0,80}>"""
    r"""|%\([\w.]{1,80}\)s|%s|\?|:[a-z_]\w{0,60}|@[a-z_]\w{0,60}|!\w{1,20}\s.*|\*{1,20}|x{3,20}|X{3,20}|\.{2,6}|…|[-_]+"""
    r"""|(?:os\.environ|os\.getenv|process\.env|env|secrets|vars|var|config|settings|self|this)[.\[(].*|Optional\[.*|Union\[.*""",
    re.ASCII,
)
_PROSE = frozenset(
    """
    a an and are as at be been but by can cannot contain contains could do does error expected failed for found from given
    got has have how if in into invalid is it least may missing must need needs no not of on or per should so than that
    the their them then there these they this those to too unknown unsupported use used uses was were what when where
    which while who will with would you your
    """.split()  # noqa: SIM905 - a list of a line a word says no more
)


def is_harmless(value: str) -> bool:
    """Return whether a value is empty, a mask, a word for nothing, a type, or a reference to a value elsewhere."""
    bare = value.strip().strip("\"'`").rstrip(",;")
    if not bare or bare.startswith(MASK) or bare.lower() in _NOTHING:
        return True
    return _REFERENCE.fullmatch(bare) is not None


def is_field(value: str) -> bool:
    """Return whether a value is a common name of a field, which in a list of names may follow a secret name."""
    return value.lower() in _FIELDS


def is_sentence(value: str) -> bool:
    """Return whether several words are prose: one of them occurs only in sentences."""
    words = value.split()
    if len(words) < 2:
        return False
    return any(word.strip(".,;:!?()\"'").lower() in _PROSE for word in words)
