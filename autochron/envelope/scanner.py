"""Finding secrets in JSON text: one pass that only looks, and one over the tokens that says what to replace.

Text is handled as Latin-1, one character a byte, so that offsets are those of the bytes. `suspicious` is
quick and may err only on the safe side; `spans` is exact and byte by byte leaves everything else alone.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable
from functools import cache
from typing import TypeAlias

import msgspec
from msgspec import Struct

from autochron._late import late
from autochron.envelope.names import SecretNames
from autochron.envelope.patterns import MASK, Pattern, dense_runs, load_patterns

_TOKEN = late(r'"(?:[^"\\]++|\\.)*+"|[\[\]{},:]|[^\s"\[\]{},:]++', re.DOTALL)
_ANY_KEY = late(r"""(?:(?<![\w.\- ])|(?=\\))(\\?[\w.\- ]++)\\*["'](?:\s|\\+[nrtf])*:""", re.ASCII)
_ASSIGNED = late(r"(?:(?<![\w.\-])|(?=\\))(\\?[\w.\-]++)=", re.ASCII)
# A name that stands as a value, beside what it names: `["x-api-key", …]`, `{"name": "password", "value": …}`.
_NAMING = late(
    r"""(?:\[(?:\s|\\+[nrtf])*+\\*+"|"(?:name|key)\\*+"(?:\s|\\+[nrtf])*+:(?:\s|\\+[nrtf])*+\\*+")([\w.\- ]++)\\*+\"""",
    re.ASCII,
)
_NAME = late(r"[\w.\- ]{1,100}", re.ASCII)
_NAME_KEYS = frozenset({"name", "key"})
_TAGS = tuple(f"{tag}{end}" for tag in ("$dict", "$bytes", "$bytearray") for end in ('"', "\\"))
_BYTES = frozenset({"$bytes", "$bytearray"})
_MOST_MEMBERS = 6
# `password=Secret` in text, `Cfg(password='Secret')`. What is called or indexed, and what is itself named so, is code.
_KEYWORD = late(
    r"""(?<![\w.\-?&$])([\w.\-]++)=(?:(['"])((?:(?!\2)[^\\\n])++)\2|([!#%*+./0-9:@A-Z^_a-z|~\-]{4,}+)(?![(\[=]))""",
    re.ASCII,
)
_SET_COOKIE = late(r"\b([Ss]et-[Cc]ookie: *[^\s=;,]++=)([^\s;,\"\\]++)", re.ASCII)
_NO_SECRETS = frozenset({"None", "True", "False", "null", "true", "false", "str", "string", MASK})
# Escapes that can hide a letter, a sign or a slash of a secret from a search of raw text.
_HIDING = late(r"\\u00[2-7]|\\/")
_PAIR = late(r"""(\\*["'])([\w.\- ]+)\1(\s*:\s*)(\\*["'])(.*?)(?<!\\)\4""", re.ASCII)
_VARIABLE = late(r"""(?<![\w$])([A-Z][A-Z0-9_]{2,})=(["']?)([!#%&*+\-./0-9:=?@A-Z^_a-z|~]{6,})""", re.ASCII)
_QUERY = late(r"""(?:\A|(?<=[?&]))([\w.\-]+)=([!$%*+,\-./0-9:;=@A-Z_a-z|~]+)""", re.ASCII)
_KEEP = frozenset({"null", "true", "false", '""', f'"{MASK}"'})
_MAX_NAME = 100
# Characters that no format is shorter than: `://:p@`.
_SHORTEST = 6
_MAX_HARMLESS = 4096
_MAX_NESTING = 20
_MAX_PASSES = 8
_decode = msgspec.json.Decoder().decode


class Span(Struct, gc=False, frozen=True):
    """One replacement, by offsets in the text."""

    start: int
    end: int
    text: str
    path: str


class Scanner:
    """Knows the secret names and formats; keeps of what it sees only keys that mean nothing."""

    __slots__ = ("_harmless", "names")

    def __init__(self, names: SecretNames) -> None:
        self.names = names
        self._harmless: set[str] = set()
        """Keys as they stood in raw text and meant nothing: most bodies have the keys of the one before."""

    def suspicious(self, text: str) -> bool:
        """Tell whether there may be something to mask, in JSON text or in a plain string."""
        if "\\" in text and _HIDING.search(text):
            return True
        if "$" in text and any(tag in text for tag in _TAGS):
            # Keys that are items of arrays, and text in base64, which no quick look tells.
            return True
        return (self.names.may_be_in(text) and self._any_name(text)) or self._any_near(text)

    def _any_name(self, text: str) -> bool:
        """Look for secret names: as keys, in assignments, and beside what they name."""
        pieces = {part[-_MAX_NAME:].rpartition('"')[2] for part in text.split('":')[:-1]}
        if self._any_secret(pieces):
            return True
        if _has_odd_key(text) and self._any_secret(set(_ANY_KEY.findall(text))):
            return True
        if "=" in text and self._any_secret(set(_ASSIGNED.findall(text))):
            return True
        if self._any_secret(set(_NAMING.findall(text))):
            return True
        return "et-" in text and _SET_COOKIE.search(text) is not None

    def _any_near(self, text: str) -> bool:
        """Look for formats. Loops and not `any`: a generator a pattern takes longer than the search."""
        if len(text) < _SHORTEST:
            return False
        loose, dense = _sorted_patterns()
        for sign, pairs in loose:
            if sign in text:
                for needle, pattern in pairs:
                    if needle in text and pattern.near(text):
                        return True
        runs = dense_runs(text)
        if runs:
            # Most needles have a sign in them, and most long runs have none.
            for sign, pairs in dense:
                if sign in runs:
                    for needle, pattern in pairs:
                        if needle in runs and pattern.near(text, runs):
                            return True
        return False

    def _any_secret(self, pieces: set[str]) -> bool:
        """Judge those keys that were not seen before."""
        if pieces <= self._harmless:
            return False
        pieces -= self._harmless
        if any(self._names_secret(piece.rstrip("\\")) for piece in pieces):
            return True
        if len(self._harmless) + len(pieces) > _MAX_HARMLESS:
            self._harmless.clear()
        self._harmless |= pieces
        return False

    def _names_secret(self, raw: str) -> bool:
        """Judge a key as it stands in raw text: behind an escape the name starts one letter later."""
        return raw in self.names or ("\\" in raw and raw.rpartition("\\")[2][1:] in self.names)

    def mask_string(self, text: str, nesting: int = 0) -> str:
        """Mask a decoded string: JSON text in it by its tokens, anything else by names and formats."""
        if len(text) < 4 or not self.suspicious(text):
            return text
        if text[0] in "{[ \n" and nesting < _MAX_NESTING and _is_json(text):
            raw = text.encode("utf-8", "surrogatepass").decode("latin-1")
            return (
                apply(raw, self.spans(raw, nesting=nesting + 1))
                .encode("latin-1")
                .decode("utf-8", "surrogatepass")
            )
        for _ in range(_MAX_PASSES):  # what stood beside a secret may be one without it
            before = text
            text = self._mask_plain(text)
            if text == before:
                break
        return text

    def _mask_plain(self, text: str) -> str:
        """Mask text once, by names and by formats."""
        text = _PAIR.sub(self._mask_pair, text)
        text = _VARIABLE.sub(self._mask_variable, text)
        text = _QUERY.sub(self._mask_query, text)
        text = _KEYWORD.sub(self._mask_keyword, text)
        text = _SET_COOKIE.sub(lambda match: f"{match[1]}{MASK}", text)
        for pattern in load_patterns():
            text = pattern.mask(text)
        return text

    def _mask_pair(self, match: re.Match[str]) -> str:
        open_key, name, colon, quote, value = match.groups()
        if name not in self.names or not value:
            return match[0]
        return f"{open_key}{name}{open_key}{colon}{quote}{MASK}{quote}"

    def _mask_variable(self, match: re.Match[str]) -> str:
        return f"{match[1]}={match[2]}{MASK}" if match[1] in self.names else match[0]

    def _mask_query(self, match: re.Match[str]) -> str:
        return f"{match[1]}={MASK}" if match[1] in self.names else match[0]

    def _mask_keyword(self, match: re.Match[str]) -> str:
        name, quote, quoted, bare = match.groups()
        value = quoted or bare
        if name not in self.names or value in _NO_SECRETS or (bare and bare in self.names):
            return match[0]
        return f"{name}={quote or ''}{MASK}{quote or ''}"

    def spans(self, text: str, *, nesting: int = 0) -> list[Span]:
        """List what to replace in JSON text, or in a part of one that starts and ends between elements."""
        return _Pass(self, text, nesting).run()


_BySign: TypeAlias = tuple[tuple[str, list[tuple[str, Pattern]]], ...]


@cache
def _sorted_patterns() -> tuple[_BySign, _BySign]:
    """Give the needles of the loose patterns and those of the others, by a rare sign that is in them; '' where none is."""
    loose: dict[str, list[tuple[str, Pattern]]] = {}
    dense: dict[str, list[tuple[str, Pattern]]] = {}
    for pattern in load_patterns():
        for needle in pattern.needles:
            signs = [letter for letter in needle if not letter.isalnum()]
            sign = min(signs, key=lambda letter: letter == " ", default="")
            (loose if pattern.loose else dense).setdefault(sign, []).append((needle, pattern))
    return tuple(loose.items()), tuple(dense.items())


def _has_odd_key(text: str) -> bool:
    """Tell whether a key may stand in other quotes, or with white space before its colon."""
    if "':" in text or " :" in text:
        return True
    if "\\" in text and any(sign in text for sign in ("\\n:", "\\t:", "\\r:", "\\f:")):
        return True
    return any(sign in text and f"{sign}:" in text for sign in "\n\t\r\v\f\x1c\x1d\x1e\x1f")


def apply(text: str, spans: Iterable[Span]) -> str:
    """Replace the spans."""
    parts: list[str] = []
    end = 0
    for span in spans:
        parts += (text[end : span.start], span.text)
        end = span.end
    parts.append(text[end:])
    return "".join(parts)


def _is_json(text: str) -> bool:
    try:
        return isinstance(_decode(text), (dict, list))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False


class _Level:
    """One open container."""

    __slots__ = ("index", "key", "pairs")

    def __init__(self, *, pairs: bool = False, index: int = 0) -> None:
        self.key: str | None = None
        self.index = index
        self.pairs = pairs


class _Pass:
    """One walk over the tokens. Closing more than was opened is fine: a part of a text does that."""

    def __init__(self, scanner: Scanner, text: str, nesting: int) -> None:
        self.scanner = scanner
        self.text = text
        self.nesting = nesting
        self.tokens = [(match.start(), match.end()) for match in _TOKEN.finditer(text)]
        self.levels = [_Level()]
        self.found: list[Span] = []
        self.named: set[int] = set()
        """Tokens that hold the value of a name that stands elsewhere."""

    def run(self) -> list[Span]:
        at, count = 0, len(self.tokens)
        while at < count:
            at = self._step(at)
        return self.found

    def _sign(self, at: int) -> str:
        """Give the first character of a token, '' past the end."""
        return self.text[self.tokens[at][0]] if 0 <= at < len(self.tokens) else ""

    def _step(self, at: int) -> int:
        sign = self._sign(at)
        level = self.levels[-1]
        if sign == '"':
            if self._sign(at + 1) == ":":
                return self._member(at, level)
            if at in self.named:
                return self._mask_value(at)
            self._string(at)
        elif sign in "{[":
            if sign == "[":
                self._look_at_pair(at)
            pair = level.pairs and sign == "["
            self.levels.append(_Level(pairs=level.key == "$dict" and sign == "["))
            if pair and self._sign(at + 1) == '"' and self._sign(at + 2) == ",":
                return self._member(at + 1, self.levels[-1])
        elif sign in "}]":
            if len(self.levels) > 1:
                self.levels.pop()
            else:
                level.key = None  # that of an object which began before this part
        elif sign == ",":
            level.index += 1
        return at + 1

    def _member(self, at: int, level: _Level) -> int:
        """Handle a key, its colon and what a secret name masks."""
        name = self._decoded(at)
        level.key = name
        self._string(at, of_key=True)
        value = at + 2
        if name in _NAME_KEYS and self._sign(value) == '"':
            self._look_for_value(value, level)
        if name in self.scanner.names and not (name == "token" and self._is_logprob(value)):
            return self._mask_value(value)
        return value

    def _look_at_pair(self, at: int) -> None:
        """Note the second of two strings in an array inside an array, where the first is a secret name."""
        before = self._sign(at - 1)
        if before == ":" and self._sign(at - 2) == '"' and self._decoded(at - 2) == "$tuple":
            before = self._sign(at - 4)
        if before in ("[", ",", "") and [self._sign(at + i) for i in (1, 2, 3, 4)] == ['"', ",", '"', "]"]:
            self._name_value(at + 1, at + 3)

    def _look_for_value(self, at: int, level: _Level) -> None:
        """Note the `value` beside a `name`, a few plain members before or after it."""
        for step in (4, -4):
            here = at
            for _ in range(_MOST_MEMBERS):
                comma = here + 1 if step > 0 else here - 3
                here += step
                if self._sign(comma) != "," or self._sign(here - 1) != ":" or self._sign(here) in "{[":
                    break
                if self._sign(here) == '"' and self._decoded(here - 2) == "value":
                    self._name_value(at, here)
                    if here < at and here in self.named:
                        self._mask_before(here, level)
                    break

    def _mask_before(self, at: int, level: _Level) -> None:
        """Mask a value that was passed already."""
        start = self.tokens[at][0]
        self.found = [span for span in self.found if span.start != start]
        key, level.key = level.key, "value"
        self._mask_value(at)
        level.key = key
        self.found.sort(key=lambda span: span.start)

    def _name_value(self, name: int, value: int) -> None:
        text = self._decoded(name)
        if _NAME.fullmatch(text) and text in self.scanner.names:
            self.named.add(value)

    def _decoded(self, at: int) -> str:
        start, end = self.tokens[at]
        try:
            return str(_decode(self.text[start:end].encode("latin-1")))
        except (msgspec.DecodeError, UnicodeError):
            return self.text[start + 1 : end - 1]

    def _string(self, at: int, *, of_key: bool = False) -> None:
        """Mask what is secret inside a string."""
        start, end = self.tokens[at]
        text = self._decoded(at)
        if not of_key and self.levels[-1].key in _BYTES:
            self._bytes(at, text)
            return
        masked = self.scanner.mask_string(text, self.nesting)
        if masked != text:
            self.found.append(Span(start, end, _quoted(masked), self._path()))

    def _bytes(self, at: int, encoded: str) -> None:
        """Mask what is secret inside bytes that are text."""
        try:
            text = binascii.a2b_base64(encoded, strict_mode=True).decode()
        except (binascii.Error, ValueError):
            return
        masked = self.scanner.mask_string(text, self.nesting)
        if masked != text:
            start, end = self.tokens[at]
            found = binascii.b2a_base64(masked.encode("utf-8", "surrogatepass"), newline=False).decode()
            self.found.append(Span(start, end, f'"{found}"', self._path()))

    def _mask_value(self, at: int) -> int:
        """Mask a string or a container whole, and give the token after it; a program may count with numbers."""
        if at >= len(self.tokens):
            return at
        sign = self._sign(at)
        start, end = self.tokens[at]
        after = at + 1
        if sign in "{[":
            # Where the text is a part that ends here, the container is not an empty one: it goes on.
            if self._sign(after) in ("}", "]") or self.text[slice(*self._bounds(after))] == '"$opaque"':
                return at
            after = self._skip(at)
            end = self.tokens[after - 1][1]
        elif sign != '"' or self.text[start:end] in _KEEP:
            return at + (sign == '"')
        self.found.append(Span(start, end, f'"{MASK}"', self._path()))
        return after

    def _bounds(self, at: int) -> tuple[int, int]:
        return self.tokens[at] if at < len(self.tokens) else (0, 0)

    def _skip(self, at: int) -> int:
        """Give the token after the container that opens at a token."""
        depth = 0
        while at < len(self.tokens):
            sign = self._sign(at)
            depth += (sign in "{[") - (sign in "}]")
            at += 1
            if not depth:
                break
        return at

    def _is_logprob(self, value: int) -> bool:
        """Tell a token of a language model's answer, which stands beside its `logprob`, from a credential."""
        if self._sign(value) != '"':
            return False
        if self._named(value - 6) == "logprob" and self._sign(value - 4) not in "{[}]":
            return True
        after = value + 1
        if self._named(after + 1) == "bytes":
            after = self._skip(after + 3)
        return self._named(after + 1) == "logprob"

    def _named(self, at: int) -> str:
        return self._decoded(at) if self._sign(at) == '"' and self._sign(at + 1) == ":" else ""

    def _path(self) -> str:
        mask = self.scanner.mask_string  # a key may be a secret itself
        parts = [str(level.index) if level.key is None else mask(level.key) for level in self.levels[1:]]
        return ".".join(part for part in parts if not part.startswith("$")) or "(value)"


def _quoted(text: str) -> str:
    """Write a string as JSON, in Latin-1 characters of its UTF-8 bytes."""
    try:
        return msgspec.json.encode(text).decode("latin-1")
    except UnicodeEncodeError:
        return msgspec.json.encode(text.encode("utf-8", "replace").decode()).decode("latin-1")
