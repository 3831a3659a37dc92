"""Secrets in plain text that the words around them give away, such as `password: x` and `<password>x</password>`.

`may_be_in` is the quick test, over raw JSON text or plain text. It may say yes of harmless text, and never no of a
secret. `mask` is exact, over a decoded string. Both start from the secret names in a text (`find_names`) and read what
follows each. Everything that is read has a bound, so both take time in proportion to the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from autochron._runtime.lazy import late
from autochron.redaction import commands, signin, sql
from autochron.redaction.harmless_values import is_field, is_harmless, is_sentence
from autochron.redaction.markup import find_markup
from autochron.redaction.secret_names import SecretNames, holds_number, is_code_name
from autochron.redaction.secret_patterns import MASK

Bounds: TypeAlias = tuple[int, int]

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_QUOTES = frozenset("\\\"'")
_SPACED = _LETTERS + " "
_MOST_VALUE = 4000
"""Characters of a value in the middle of a line, at most."""
_MOST = 80
"""Characters on either side of a hint that are searched for the ends of its name."""
# In raw text: what can bind a value to a name, after closing quotes, brackets and white space. All of these may be escaped,
# up to eight times (JSON in JSON).
_BINDER = late(
    r"""(?:\\{0,255}+["'`]|[\])}*,]|[ \t\r\n]|\\{1,255}+[nrtf]){0,12}"""
    r"""(?:\\{0,255}+[:=<>('"`\d]|(?:is|was|to|value)\b|\S{0,60}\d)|\\{0,255}+["'],""",
    re.ASCII,
)
_BIND = late(r"""(?:&quot;|["'`\])}*]){0,4}([ \t]{0,20})(=>|:=|===?|=|:(?![:/]))([ \t*]{0,20})""", re.ASCII)
_STATED = late(r"""[ \t]{1,4}(?:is|was|to)\b[ \t]{0,4}:?[ \t]{0,4}(["'`]?)([^\s"'`]{1,200})\1""", re.ASCII)
_DIGITS = late(r"[ \t]{1,4}(\d{3,8})\b", re.ASCII)
# `name: DB_PASSWORD`, and in the next line `value: x`.
_NAMED = late(r"""(?:name|key)["']?[ \t]{0,4}[:=][ \t]{0,4}["']?\Z""", re.ASCII | re.IGNORECASE)
_BESIDE = late(
    r"""["']?[ \t]{0,8}[,;]?[ \t]{0,8}\r?\n?[ \t]{0,60}["']?value["']?[ \t]{0,8}[:=][ \t]{0,8}["']?([^\s"',;}]{1,4000})""",
    re.ASCII | re.IGNORECASE,
)
_CALLED = late(r"""\([ \t]{0,4}[bru]?(["'])((?:(?!\1)[^\\\n]){1,4000}+)\1[ \t]{0,4}[,)]""", re.ASCII)
_ALONE = late(r"[ \t]{1,20}([^\s\[{(<]\S{5,400})[ \t]{0,20}(?=\r?\n|\Z)", re.ASCII)
_PAIRED = late(r"""(["'])[ \t]{0,20},[ \t\n]{0,20}[bru]?(["'])((?:(?!\2)[^\\\n]|\\.){1,4000}+)\2""", re.ASCII)
_OPTION = late(
    r"""[ \t]{1,20}(?:"([^"\n]{1,4000})"|'([^'\n]{1,4000})'|([^\s"'\-][^\s"']{0,4000}))""", re.ASCII
)
_OPTION_WORDS = frozenset(
    "option flag argument parameter switch is and or to for if with in the as on".split()  # noqa: SIM905 - a list of a line a word says no more
)
_QUOTED = {quote: late(rf"{quote}((?:[^{quote}\\\n]|\\.)*+){quote}", re.ASCII) for quote in ('"', "'", "`")}
_ANNOTATION = late(
    r"""[A-Za-z_][\w.]{0,60}(?:\[[^\]\n]{0,80}\])?(?:[ \t]{0,4}\|[ \t]{0,4}[\w.]{1,60}){0,4}[ \t]{0,4}=[ \t]{0,4}"""
    r"""(?=[bfru]{0,2}["'])""",
    re.ASCII,
)
_LITERAL = late(r"""[bfru]{1,2}(?=["'])""", re.IGNORECASE)
_WORD = late(r"""[^\s"'`<>,;)}\]&|]++""")
_BLOCK = late(r"[|>][+\-0-9]{0,3}[ \t]*(?:#[^\n]*)?\Z", re.ASCII)
_COMMENT = late(r"(?<![ \t])[ \t]++[#;].*\Z|(?<![ \t,;])[ \t,;]++\Z")
_LINE_START = late(
    r"""[ \t]*(?:(?:[-*>#|$+]|\d{1,3}[.)])[ \t]+)?(?:(?:export|set|setx|env|declare|local|readonly|ENV|ARG|const|let|var|my"""
    r"""|final|static|private|public)[ \t]+(?:-x[ \t]+)?)*["'`$@*]{0,3}\Z""",
    re.ASCII,
)
_HEADERS = frozenset({"authorization", "cookie", "cookies"})
_CODE = late(r"\b(?:def|import|return|function|class|await|lambda|const|let|var)\b|\w\(")
_CALL = late(r"(?:await |new |not )?[A-Za-z_][\w.]*[(\[]|[A-Za-z_]+(?:\.[A-Za-z_]+)+[;,]?\Z", re.ASCII)
# `Iterable[str]`, `Secrets,`: annotations of parameters in code.
_TYPE = late(
    r"[A-Za-z_][A-Za-z_.]{0,60}\[[A-Za-z_\[\], .|\"']{0,200}|[A-Z][a-z]+(?:[A-Z][a-z]+)*(?:[,)]|[ \t]*=|[ \t]*\Z)",
    re.ASCII,
)
_TYPED = late(r"([A-Za-z_][\w.]*)[ \t]*(?:[|=\[,)]|\Z)", re.ASCII)
_SCALAR = late(r"[ \t]*(?:-[ \t]+)?(?:[\w.\-\"']{1,100}:[ \t]+)?(.*)", re.ASCII)
_PGPASS = late(
    r"""(?m)^[ \t]*((?:[\w./\-]{1,253}+|\*):(?:\d{4,5}|\*):[^\s:]{1,128}:[^\s:]{1,128}:)((?:[^\s:\\]|\\.)++)[ \t]*$""",
    re.ASCII,
)
# `a.py:1200:5:E501:…` is a linter's message, and no line of a pgpass file.
_FILE = late(
    r"\.(?:py|js|ts|tsx|jsx|go|rs|c|h|cc|cpp|java|rb|php|txt|md|log|sh|json|ya?ml|toml|xml|html|css|sql)\Z",
    re.ASCII,
)
_PORT = late(r":(?:\d{4,5}|\*):", re.ASCII)
_NETRC = late(
    r"(?:\bmachine[ \t\n]{1,20}[^\s]{1,253}|(?:(?<=\n)|\A)default(?=\s{1,20}(?:login|user)\b))"
    r"((?:[ \t\n]{1,20}(?:login|account|port|user)[ \t\n]{1,20}[^\s]{1,253}){0,3}"
    r"[ \t\n]{1,20}passw(?:or)?d[ \t\n]{1,20})([^\s]{1,1000})",
    re.ASCII,
)


def find_names(text: str, names: SecretNames) -> Iterator[Bounds]:
    """Yield the bounds of the secret names in a text. Words with blanks between them count if together they are one."""
    lower = text.lower()
    if len(lower) != len(text):  # a few letters become two
        lower = "".join(letter.lower() if letter.isascii() else letter for letter in text)
    for hint in names.hints:
        position = names.find_hint(lower, hint, 0)
        while position >= 0:
            part = text[max(0, position - _MOST) : position]
            start = position - len(part) + len(part.rstrip(_LETTERS))
            part = text[position : position + _MOST]
            end = position + len(part) - len(part.lstrip(_LETTERS))
            word = text[start:end]
            before = text[max(0, start - 24) : start]
            if names.means_secret(before, word):
                yield start, end
            if text[end : end + 1] == " ":
                longer = position + len(part[: len(part) - len(part.lstrip(_SPACED))].rstrip())
                if longer > end and names.means_secret(before, text[start:longer]):
                    yield start, longer
            position = names.find_hint(lower, hint, end)


def may_be_in(text: str, names: SecretNames) -> bool:
    """Return whether a secret name in raw text may bind a value that `mask` would replace."""
    match, is_markup = _BINDER.match, "<" in text
    for start, end in find_names(text, names):
        if start and text[start - 1] == "\\" and "-" in text[start : start + 7]:
            return True  # an option after an escape
        if text[start] == "-" or match(text, end) or text[max(0, start - 4) : start] == "set ":
            return True
        if text[end : end + 1] in _QUOTES and is_markup:
            return True
    return False


def may_be_unnamed(text: str) -> bool:
    """Return whether raw text may hold a secret without a secret name beside it."""
    if ("=" in text and signin.may_be_in(text)) or signin.may_be_object(text):
        return True
    if "-" in text and commands.may_be_in(text):
        return True
    if sql.may_be_in(text):
        return True
    if has_port(text):
        return True
    return "passw" in text and ("machine" in text or "default" in text)


def has_port(text: str) -> bool:
    """Return whether a text has a port number between colons, as in a pgpass file."""
    return ":" in text and _PORT.search(text) is not None


def mask(text: str, names: SecretNames) -> str:
    """Mask every secret in a decoded string that its context gives away."""
    secrets = [
        *_of_names(text, names),
        *signin.find(text),
        *commands.find(text),
        *sql.find(text, names),
    ]
    if has_port(text):
        secrets += [
            match.span(2) for match in _PGPASS.finditer(text) if not _FILE.search(match[1].partition(":")[0])
        ]
    if "passw" in text:
        secrets += [match.span(2) for match in _NETRC.finditer(text)]
    return replace(text, secrets)


def replace(text: str, secrets: Iterable[Bounds]) -> str:
    """Replace parts of a text by masks. Overlapping parts are replaced once, and masks in the text stay."""
    parts: list[str] = []
    position = 0
    for start, end in sorted(secrets):
        if start < position or start >= end or text.startswith(MASK, start):
            continue
        parts += (text[position:start], MASK)
        position = end
    return "".join((*parts, text[position:])) if parts else text


def _of_names(text: str, names: SecretNames) -> Iterator[Bounds]:
    """Yield the bounds of the values that secret names bind."""
    is_code: bool | None = None
    is_markup, passed = "<" in text, 0
    for start, end in sorted(set(find_names(text, names))):
        if start < passed:
            continue
        if is_code is None:
            is_code = _CODE.search(text) is not None
        for bounds in _of_name(text, start, end, is_code=is_code, is_markup=is_markup):
            passed = max(passed, bounds[1])
            yield bounds


def _of_name(text: str, start: int, end: int, *, is_code: bool, is_markup: bool) -> Iterator[Bounds]:
    if text[start] == "-" or (
        text[max(0, start - 4) : start] == "set " and "config" in text[max(0, start - 30) : start]
    ):
        option = _OPTION.match(text, end)
        if option is not None:
            value = option[option.lastindex or 0]
            if value.lower() not in _OPTION_WORDS and not is_harmless(value):
                yield option.span(option.lastindex or 0)
            return
    if is_markup:
        marked = find_markup(text, start, end)
        if marked is not None:
            yield marked
            return
    bind = _BIND.match(text, end)
    if bind is not None:
        yield from _bound(text, start, bind, is_code=is_code)
        return
    stated = _STATED.match(text, end)
    if stated is not None:
        value = stated[2].rstrip(".,;!?)")
        if (stated[1] or any(sign.isdigit() for sign in value)) and not is_harmless(value):
            yield stated.start(2), stated.start(2) + len(value)
        return
    digits = _DIGITS.match(text, end)
    if digits is not None and is_code_name(text[start:end]):
        yield digits.span(1)
        return
    yield from _beside(text, start, end)


def _beside(text: str, start: int, end: int) -> Iterator[Bounds]:
    """Yield the bounds of a value that follows a name without a colon or an equals sign."""
    value = _BESIDE.match(text, end)
    if value is not None and _NAMED.search(text, max(0, start - 16), start):
        if not is_harmless(value[1]):
            yield value.span(1)
        return
    called = _CALLED.match(text, end)
    if called is not None:
        if text[start : start + 4].lower().startswith(("set", "pass", "with")) and not is_harmless(called[2]):
            yield called.span(2)
        return
    pair = _PAIRED.match(text, end)
    if pair is not None and start > 1 and text[start - 1] == pair[1] and not is_field(pair[3]):
        before = text[max(0, start - 3) : start - 1].rstrip()[-1:]
        closes = text[pair.end() : pair.end() + 4].lstrip()[:1] in {")", "]"}
        if (before in {"(", "["} and closes) or (
            before in {"(", "[", ","} and any(sign.isdigit() for sign in pair[3])
        ):
            yield pair.span(3)
        return
    alone = _ALONE.match(text, end)
    if alone is not None and _mixes(alone[1]) and not is_harmless(alone[1]):
        begin = text.rfind("\n", max(0, start - 60), start) + 1
        if (begin or start <= 60) and _LINE_START.fullmatch(text, begin, start):
            yield alone.span(1)


def _mixes(value: str) -> bool:
    """Return whether a value has both letters and digits, which words of prose do not have."""
    return any(sign.isdigit() for sign in value) and any(sign.isalpha() for sign in value)


def _bound(text: str, start: int, bind: re.Match[str], *, is_code: bool) -> Iterator[Bounds]:
    """Yield the bounds of the value after a colon or an equals sign."""
    at, sign = bind.end(), bind[2]
    name = text[start : bind.start()]
    begin = text.rfind("\n", max(0, start - 200), start) + 1
    leads = (begin or start <= 200) and _LINE_START.fullmatch(text, begin, start) is not None
    if sign == ":":
        annotation = _ANNOTATION.match(text, at)
        at = annotation.end() if annotation else at
    literal = _LITERAL.match(text, at)
    at = literal.end() if literal else at
    quoted = _QUOTED[text[at]].match(text, at) if text[at : at + 1] in _QUOTED else None
    if quoted is not None:
        if not is_harmless(quoted[1]) and not _counts(name, quoted[1]):
            yield quoted.span(1)
        return
    if (
        text[at : at + 1] in _QUOTED
        and text.find("\n", at, at + _MOST_VALUE) < 0
        and len(text) < at + _MOST_VALUE
    ):
        # The text ends inside of a string: the rest has not arrived yet, or was cut off.
        value = text[at + 1 :].rstrip("\\")
        if not is_harmless(value):
            yield at + 1, at + 1 + len(value)
        return
    opened = text[start - 1] if start and text[start - 1] in "\"'`" else ""
    if opened and text[bind.start()] == opened:
        opened = ""
    # After a name that begins its line the value may be as long as the line, which is read once. Others have a bound.
    far = len(text) if leads and not opened else min(len(text), at + _MOST_VALUE)
    stop = text.find("\n", at, far)
    stop = far if stop < 0 else stop
    closing = text.find(opened, at, stop) if opened else -1
    if closing >= 0:
        stop = closing
    is_header = sign == ":" and name.lower().rpartition("-")[2] in _HEADERS
    if sign == ":" and leads and not opened:
        rest = text[at:stop].rstrip("\r")
        if not rest or _BLOCK.match(rest):
            yield from _indented(text, begin, stop, is_block=bool(rest))
            return
    if is_header or ((leads or opened) and sign in {":", "="}):
        yield from _to_end(text, at, stop, name, bind, is_header=is_header, is_code=is_code)
        return
    yield from _one_word(text, at, stop, name, bind, is_code=is_code)


def _to_end(
    text: str, at: int, stop: int, name: str, bind: re.Match[str], *, is_header: bool, is_code: bool
) -> Iterator[Bounds]:
    """Yield the bounds of the rest of a line, unless it reads as prose or as code."""
    value = text[at:stop].rstrip()
    if not is_header:
        comment = _COMMENT.search(value)
        value = value[: comment.start()] if comment else value
    if not value or is_harmless(value) or _counts(name, value):
        return
    if not is_header and (is_sentence(value) or value[0] in "{[("):
        return
    if bind[2] == "=" and (bind[1] or is_code) and (_CALL.match(value) or (is_code and _is_code(value))):
        return
    if is_code and bind[2] == ":" and _TYPE.match(value):
        return
    if bind[2] == ":" and (typed := _TYPED.match(value)) and is_harmless(typed[1]):
        return
    yield at, at + len(value)


def _one_word(
    text: str, at: int, stop: int, name: str, bind: re.Match[str], *, is_code: bool
) -> Iterator[Bounds]:
    """Yield the bounds of one word in the middle of a line, unless it reads as prose or as code."""
    word = _WORD.match(text, at, stop)
    if word is None:
        return
    value = word[0].rstrip(".:")
    if not value or is_harmless(value) or _counts(name, value):
        return
    follows = text[word.end() : word.end() + 1]
    is_plain = value.isalpha() and (value[1:].islower() or len(value) == 1)
    if bind[2] != ":":
        if follows in {"(", "["} or "(" in value or "[" in value:
            return
        # An assignment in the middle of a line is mostly code: a digit or a sign distinguishes a secret from a variable.
        if value.replace("_", "").replace(".", "").isalpha() or bind[2].startswith("=="):
            return
    elif (is_code and _TYPE.match(text[at:stop])) or (
        (is_plain and (follows == " " or text[word.end() : word.end() + 2] == ", "))
        or "(" in value
        or value[0] in "{["
    ):
        return
    yield at, at + len(value)


def _indented(text: str, begin: int, stop: int, *, is_block: bool) -> Iterator[Bounds]:
    """Yield the bounds of the lines below a key: of a block all lines, else the scalars."""
    margin = len(text[begin:stop]) - len(text[begin:stop].lstrip(" \t"))
    at = stop + 1
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        yield at, at  # empty bounds: `_of_names` passes over the names before, so each line is read once
        line = text[at:end]
        bare = line.strip()
        depth = len(line) - len(line.lstrip(" \t"))
        if bare and (depth < margin or (depth == margin and (is_block or not bare.startswith("- ")))):
            return
        if is_block:
            if bare:
                yield at + depth, at + len(line.rstrip())
        elif bare:
            scalar = _SCALAR.match(text, at, end)
            if scalar is not None:
                value = scalar[1].strip().strip("\"'")
                inner = scalar.start(1) + scalar[1].find(value) if value else 0
                if value and not is_harmless(value) and not is_sentence(value) and not value.isdigit():
                    yield inner, inner + len(value)
        at = end + 1


def _counts(name: str, value: str) -> bool:
    """Return whether a value is a number that a program may calculate with."""
    if not value.replace(".", "", 1).isdigit():
        return False
    return len(value) < (3 if holds_number(name) else 6)


def _is_code(value: str) -> bool:
    """Return whether an assigned value reads as an expression."""
    bare = value.rstrip(";,:")
    if "(" in bare or "[" in bare or " " in bare:
        return True
    return all(part.isidentifier() for part in bare.split(".")) and not any(sign.isdigit() for sign in bare)
