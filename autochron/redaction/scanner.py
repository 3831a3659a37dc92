"""Finding secrets in JSON text: one pass that only tests whether there may be any, and one that lists what to replace.

Text is handled as Latin-1, one character a byte, so that offsets are those of the bytes. `suspicious` is quick: it may
say yes of harmless text, and never no of a secret. `spans` is exact, and leaves every other byte as it is.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable

import msgspec

from autochron._runtime.lazy import late
from autochron._runtime.pauses import pause
from autochron.redaction import contexts, encoded
from autochron.redaction.commands import mask_sequence
from autochron.redaction.encoded import unpack
from autochron.redaction.json_tokens import AT_ONCE, BYTES_TAGS, MANY, JsonTokens
from autochron.redaction.known_pieces import KnownPieces
from autochron.redaction.own_patterns import OwnPatterns
from autochron.redaction.plain_view import reveal
from autochron.redaction.secret_names import SecretNames, holds_number
from autochron.redaction.secret_patterns import MASK, is_vendors_secret, mask_formats, may_hold_format
from autochron.redaction.signin import KEYS as SIGN_IN_KEYS
from autochron.redaction.spans import Span, apply
from autochron.redaction.windows import END, RAW_END, WINDOW, windows

_NAME = late(r"[\w.\- ]{1,100}", re.ASCII)
_NAME_KEYS = frozenset({"name", "key"})
_TYPES = frozenset({"$type", "$error", "$enum", "$ref", "$opaque"})
_TYPE = late(r"@?[A-Za-z_][\w./\-]{0,200}:[A-Za-z_][A-Za-z_.<>]{0,200}", re.ASCII)
"""How the codec names a class. Such a name has no digit after the colon, and a secret mostly has one."""
_LONG = 4000
_MOST_BYTES = 300
"""JSON tokens of the list with the bytes of a language model's token, at most."""
_MOST_STEPS = 64
"""Steps of a path that are reported, at most."""
# `password=Secret` in text, `Cfg(password='Secret')`. A value that is called, indexed or a secret name itself is code.
_KEYWORD = late(
    r"""(?<![\w.\-?&$])([\w.\-]++)=(?:(['"])((?:(?!\2)[^\\\n])++)\2|([!#%*+./0-9:@A-Z^_a-z|~\-]{4,}+)(?![(\[=]))""",
    re.ASCII,
)
_SET_COOKIE = late(r"\b([Ss]et-[Cc]ookie: {0,20}[^\s=;,:]{1,256}+=)([^\s;,\"\\]++)", re.ASCII)
_NO_SECRETS = frozenset({"None", "True", "False", "null", "true", "false", "str", "string", MASK})
# The number of backslashes (of JSON in JSON) has a bound, so that a long row of them is not read again and again.
_PAIR = late(
    r"""(\\{0,40}["'])([\w.\- ]{1,200}+)\1(\s{0,40}+:\s{0,40}+)(\\{0,40}+["'])((?:(?!(?<!\\)\4)[^\n])*+)\4""",
    re.ASCII,
)
_VARIABLE = late(r"""(?<![\w$])([A-Z][A-Z0-9_]{2,})=(["']?)([!#%&*+\-./0-9:=?@A-Z^_a-z|~]{6,})""", re.ASCII)
_QUERY = late(r"""(?:\A|(?<=[?&]))([\w.\-]+)=([!$%*+,\-./0-9:;=@A-Z_a-z|~]+)""", re.ASCII)
_KEEP = frozenset({"null", "true", "false", '""', f'"{MASK}"'})
_MAX_NAME = 100
_MAX_HARMLESS = 4096
_MAX_MASKED = 4096
_MAX_NESTING = 20
_MAX_PASSES = 8
_decode = msgspec.json.Decoder().decode


class Scanner:
    """Knows secret names and formats. Of the texts that it reads it keeps only keys and runs that mean nothing."""

    __slots__ = ("_harmless", "_known", "_masked", "_own", "names", "runs")

    def __init__(self, names: SecretNames, patterns: Iterable[str] = ()) -> None:
        """Make a scanner.

        Args:
            names: the secret names.
            patterns: regular expressions of a project's own secrets.
        """
        self.names = names
        self._known = KnownPieces(names, self)
        self._own = OwnPatterns(patterns)
        self.runs: set[bytes] = set()
        """Runs of letters and digits that are no encoded secret."""
        self._masked: dict[str, str] = {}
        """Names of crossings, masked."""
        self._harmless: set[str] = set()
        """Keys as they stand in raw text that are no secret names. Most bodies have the keys of the body before."""

    def suspicious(self, text: str) -> bool:
        """Return whether JSON text or a plain string may hold something to mask."""
        if len(text) > WINDOW:
            return any(self._suspicious(text[start:end]) for start, end in windows(text, END))
        return self._suspicious(text)

    def suspicious_body(self, body: bytes) -> bool:
        """Return the same for the bytes of JSON text. A long body is not copied as a whole."""
        if len(body) > WINDOW:
            parts = windows(body, RAW_END)
            return any(self._suspicious(body[start:end].decode("latin-1")) for start, end in parts)
        return self._suspicious(body.decode("latin-1"))

    def _suspicious(self, text: str) -> bool:
        plain = reveal(text, self._any_key_secret)
        if plain is None:
            return True
        if self._known.make_up(plain):
            return self._own.may_be_in(plain)
        return self._suspicious_plain(plain) or encoded.may_be_in(plain, self)

    def suspicious_decoded(self, text: str) -> bool:
        """Return whether a text may hold something to mask, apart from encoded secrets."""
        plain = reveal(text, self._any_key_secret)
        return plain is None or self._suspicious_plain(plain)

    def _suspicious_plain(self, text: str) -> bool:
        # A long text nearly always has a hint, and `may_be_in` would only search it twice.
        if (len(text) > _LONG or self.names.may_be_in(text)) and self._any_name(text):
            return True
        return may_hold_format(text) or contexts.may_be_unnamed(text) or self._own.may_be_in(text)

    def _any_name(self, text: str) -> bool:
        """Return whether a text may have a secret name: as a key, in an assignment, or beside a value."""
        pieces = {part[-_MAX_NAME:].rpartition('"')[2] for part in text.split('":')[:-1]}
        if self._any_secret(pieces):
            return True
        return contexts.may_be_in(text, self.names)

    def _any_key_secret(self, keys: set[str]) -> bool:
        return self._any_secret({key[-_MAX_NAME:] for key in keys})

    def _any_secret(self, pieces: set[str]) -> bool:
        """Return whether one of some keys is a secret name. Only keys that are new are judged."""
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
        """Return whether a key in raw text is a secret name. After an escape the name begins one letter later."""
        return raw in self.names or ("\\" in raw and raw.rpartition("\\")[2][1:] in self.names)

    def mask_string(self, text: str, nesting: int = 0) -> str:
        """Mask a decoded string: JSON text in it by its tokens, any other text by names and formats.

        Args:
            text: the string.
            nesting: how many levels of JSON in JSON it is inside of.
        """
        if len(text) < 4 or not self.suspicious(text):
            return text
        for _ in range(_MAX_PASSES):  # once a secret is masked, the text beside it may be one
            before = text
            text = self.mask_decoded(text, nesting)
            if text[:1] in {"{", "["} and _is_json(text):
                break
            text = encoded.mask(text, self)
            if text == before:
                break
        return text

    def mask_name(self, name: str) -> str:
        """Mask a name of a crossing. The result is cached."""
        masked = self._masked.get(name)
        if masked is None:
            if len(self._masked) >= _MAX_MASKED:
                self._masked.clear()
            masked = self._masked[name] = self.mask_string(name)
        return masked

    def mask_decoded(self, text: str, nesting: int = 0) -> str:
        """Mask a decoded string as `mask_string` does, except for encoded secrets."""
        if text[:1] in {"{", "[", " ", "\n"} and nesting < _MAX_NESTING and _is_json(text):
            raw = text.encode("utf-8", "surrogatepass").decode("latin-1")
            masked = apply(raw, self.spans(raw, nesting=nesting + 1))
            return masked.encode("latin-1").decode("utf-8", "surrogatepass")
        for _ in range(_MAX_PASSES):
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
        text = mask_formats(text)
        return self._own.mask(contexts.mask(text, self.names))

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
        """Return the spans to replace in JSON text, or in a part of one that begins and ends between elements."""
        return _Pass(self, text, nesting).run()


def _is_json(text: str) -> bool:
    try:
        return isinstance(_decode(text), (dict, list))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False


class _Level:
    """One open container.

    Attributes:
        key: the current key; None in an array.
        index: the index of the current element.
        pairs: whether it is the list of a `$dict`, which has (key, value) pairs.
    """

    __slots__ = ("index", "key", "pairs")

    def __init__(self, *, pairs: bool = False, index: int = 0) -> None:
        self.key: str | None = None
        self.index = index
        self.pairs = pairs


class _Pass:
    """One walk over the tokens of a text. More containers may be closed than were opened, as in a part of a text."""

    def __init__(self, scanner: Scanner, text: str, nesting: int) -> None:
        self.scanner = scanner
        self.tokens = JsonTokens(text)
        self.nesting = nesting
        self.levels = [_Level()]
        self.replacements: list[Span] = []
        """The spans to replace, in the order of their offsets."""
        self.replaced: dict[int, str] = {}
        """The replacements of some strings in arrays, by token."""
        self.named: set[int] = set()
        """Tokens that are the value of a secret name elsewhere."""

    def run(self) -> list[Span]:
        at, count = 0, len(self.tokens)
        while at < count:
            until = min(at + AT_ONCE, count)
            while at < until:
                at = self._step(at)
            if at > MANY:
                pause()
        return self.replacements

    def _step(self, at: int) -> int:
        """Handle a token, and return the index of the next one."""
        sign = self.tokens.sign(at)
        level = self.levels[-1]
        if sign == '"':
            if self.tokens.sign(at + 1) == ":":
                return self._member(at, level)
            if at in self.named:
                return self._mask_value(at)
            if at in self.replaced:
                self.replacements.append(
                    Span(
                        *self.tokens.spans[at],
                        _quoted(self.scanner.mask_string(self.replaced[at])),
                        self._path(),
                    )
                )
                return at + 1
            self._string(at)
        elif sign in "{[":
            if sign == "[":
                self._look_at_sequence(at, level)
            pair = level.pairs and sign == "["
            self.levels.append(_Level(pairs=level.key == "$dict" and sign == "["))
            if pair and self.tokens.sign(at + 1) == '"' and self.tokens.sign(at + 2) == ",":
                return self._member(at + 1, self.levels[-1])
        elif sign in "}]":
            if len(self.levels) > 1:
                self.levels.pop()
            else:
                level.key = None  # the key belongs to an object that began before this part
        elif sign == ",":
            level.index += 1
        return at + 1

    def _member(self, at: int, level: _Level) -> int:
        """Handle a key and its colon, and mask the value if the key is a secret name."""
        name = self.tokens.string(at)
        level.key = name
        before = len(self.replacements)
        self._string(at, of_key=True)
        is_secret = name in self.scanner.names
        if not is_secret and len(self.replacements) > before:  # what is left of the name may be a secret name
            is_secret = self.scanner.mask_string(name) in self.scanner.names
        value = at + 2
        if name in _NAME_KEYS and self.tokens.sign(value) == '"':
            self._look_for_value(value, level)
        if name == "code" and self.tokens.sign(value) == '"' and self._is_sign_in(value):
            return self._mask_value(value)
        if is_secret and not (name == "token" and self._is_logprob(value)):
            if self._is_secret_number(name, value):
                self.replacements.append(Span(*self.tokens.spans[value], f'"{MASK}"', self._path()))
                return value + 1
            return self._mask_value(value)
        if self.tokens.sign(value) == '"' and is_vendors_secret(name, self.tokens.string(value)):
            return self._mask_value(value)
        return value

    def _is_secret_number(self, name: str, at: int) -> bool:
        """Return whether a value is a PIN or the like: a whole number of three digits or more."""
        text = self.tokens.raw(at)
        return 3 <= len(text) <= 12 and text.isdigit() and holds_number(name)

    def _look_at_sequence(self, at: int, level: _Level) -> None:
        """Note what to replace in an array of strings: values after their names, and the secrets of a command line."""
        words: list[str | None] = []
        places: list[int] = []
        here = at + 1
        while self.tokens.sign(here) not in {"]", ""}:
            word, after = self.tokens.element(here)
            if after is None:
                return
            words.append(word)
            places.append(here if self.tokens.sign(here) == '"' else here + 3)
            if self.tokens.sign(after) == ",":
                after += 1
            elif self.tokens.sign(after) != "]":
                return
            here = after
        if len(words) < 2:
            return
        for index, masked in mask_sequence(words, self.scanner.names, level.key).items():
            if self.tokens.sign(places[index] - 1) == ":":
                self.named.add(places[index])
            else:
                self.replaced[places[index]] = masked

    def _look_for_value(self, at: int, level: _Level) -> None:
        """Note the `value` that belongs to a `name`, a few plain members before or after it."""
        for here in self.tokens.members_beside(at, frozenset({"value"})):
            self._name_value(at, here)
            if here < at and here in self.named:
                self._mask_before(here, level)

    def _is_sign_in(self, at: int) -> bool:
        """Return whether a plain member beside a value shows that the object requests a token."""
        return next(self.tokens.members_beside(at, SIGN_IN_KEYS), None) is not None

    def _mask_before(self, at: int, level: _Level) -> None:
        """Mask a value before the current token."""
        start = self.tokens.spans[at][0]
        later: list[Span] = []
        while self.replacements and self.replacements[-1].start >= start:
            later.append(self.replacements.pop())
        key, level.key = level.key, "value"
        self._mask_value(at)
        level.key = key
        self.replacements += (span for span in reversed(later) if span.start != start)

    def _name_value(self, name: int, value: int) -> None:
        text = self.tokens.string(name)
        if _NAME.fullmatch(text) and text in self.scanner.names:
            self.named.add(value)

    def _string(self, at: int, *, of_key: bool = False) -> None:
        """Mask the secrets inside a string."""
        start, end = self.tokens.spans[at]
        text = self.tokens.string(at)
        if not of_key and self.levels[-1].key in _TYPES and _TYPE.fullmatch(text):
            return  # the name of a class, whose module may be called `cookies`
        if not of_key and self.levels[-1].key in BYTES_TAGS:
            self._bytes(at, text)
            return
        masked = self.scanner.mask_string(text, self.nesting)
        if masked != text:
            self.replacements.append(Span(start, end, _quoted(masked), self._path()))

    def _bytes(self, at: int, encoded: str) -> None:
        """Mask the secrets inside bytes that are text."""
        try:
            raw = binascii.a2b_base64(encoded, strict_mode=True)
            unpacked = unpack(raw)
            text = (raw if unpacked is None else unpacked).decode()
        except (binascii.Error, ValueError):
            return
        masked = self.scanner.mask_string(text, self.nesting)
        if masked != text:
            masked = masked if unpacked is None else MASK
            start, end = self.tokens.spans[at]
            body = binascii.b2a_base64(masked.encode("utf-8", "surrogatepass"), newline=False).decode()
            self.replacements.append(Span(start, end, f'"{body}"', self._path()))

    def _mask_value(self, at: int) -> int:
        """Mask a whole string or container, and return the token after it. Numbers stay, since programs count with them."""
        if at >= len(self.tokens):
            return at
        sign = self.tokens.sign(at)
        start, end = self.tokens.spans[at]
        after = at + 1
        if sign in "{[":
            # At the end of a part of a text the container is not empty: it goes on in the next part.
            if self.tokens.sign(after) in ("}", "]") or self.tokens.raw(after) == '"$opaque"':
                return at
            after = self.tokens.skip(at)
            end = self.tokens.spans[after - 1][1]
        elif sign != '"' or self.tokens.raw(at) in _KEEP:
            return at + (sign == '"')
        self.replacements.append(Span(start, end, f'"{MASK}"', self._path()))
        return after

    def _is_logprob(self, value: int) -> bool:
        """Return whether the value of `token` is a token of a language model's answer, with its `logprob` beside it."""
        if self.tokens.sign(value) != '"':
            return False
        if self.tokens.key(value - 6) == "logprob" and self.tokens.sign(value - 4) not in "{[}]":
            return True
        after = value + 1
        if self.tokens.key(after + 1) == "bytes":
            after = self.tokens.skip(after + 3, _MOST_BYTES)
        return self.tokens.key(after + 1) == "logprob"

    def _path(self) -> str:
        """Return the path of the current value, with masked keys: a key may be a secret itself."""
        mask = self.scanner.mask_string  # a key may be a secret itself
        levels = self.levels[1 : _MOST_STEPS + 1]
        parts = [str(level.index) if level.key is None else mask(level.key) for level in levels]
        return ".".join(part for part in parts if not part.startswith("$")) or "(value)"


def _quoted(text: str) -> str:
    """Write a string as JSON, and return its UTF-8 bytes as Latin-1 characters."""
    try:
        return msgspec.json.encode(text).decode("latin-1")
    except UnicodeEncodeError:
        return msgspec.json.encode(text.encode("utf-8", "replace").decode()).decode("latin-1")
