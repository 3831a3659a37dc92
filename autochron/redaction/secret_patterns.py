"""The formats of secrets: those of `secrets.toml`, each compiled when one of its needles occurs in a text.

Every regex takes time in proportion to its input, for one of three reasons: what it repeats has an upper bound; nothing
follows what it repeats; or `skip` passes over a run in which no later needle can match either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from autochron._runtime.lazy import late, late_modules
from autochron._runtime.unpatched import os

if TYPE_CHECKING:
    import tomllib
else:
    late_modules(globals(), "tomllib")

MASK = "[masked]"
"""The replacement for a secret of any type."""

# What may precede a match: no letter, digit or `_`, unless they are the end of an escape (`%3D`, `\n`, the colour of a
# terminal). `{}` is the first letter of a match: `re` finds a letter faster than a boundary.
_ESCAPE = r"(?<=%[0-9A-Fa-f]{{2}}{0})|(?<=\\[nrtbf]{0})|(?<=[\[;][0-9]m{0})|(?<=[\[;][0-9]{{2}}m{0})"
_BEFORE = {"word": r"(?:(?<![A-Za-z0-9_]{0})|" + _ESCAPE, "sealed": r"(?:(?<![A-Za-z0-9_+/]{0})|" + _ESCAPE}
_BEHIND = {"sealed": r"(?![A-Za-z0-9_+/=-])"}
# In raw JSON text, an escape of any letter.
_RAW_ESCAPE = r"|(?<=\\u[0-9A-Fa-f]{{4}}{0})"


def _bounded(kind: str, regex: str, *, raw: bool) -> str:
    """Return a regex that requires the boundaries of a kind of format."""
    if not kind:
        return f"(?:{regex})"
    # A regex that can start with several letters has no letter to search for.
    first = regex[0] if regex[0].isalnum() and regex[1] not in "?*+{" and not _has_choice(regex) else ""
    before = (_BEFORE[kind] + (_RAW_ESCAPE if raw else "") + ")").format(first)
    return f"{first}{before}(?:{regex[len(first) :]}){_BEHIND.get(kind, '')}"


def _has_choice(regex: str) -> bool:
    """Return whether a regex has a `|` outside of groups."""
    depth = 0
    for sign in regex:
        depth += (sign == "(") - (sign == ")")
        if sign == "|" and not depth:
            return True
    return False


class Pattern:
    """One format.

    Attributes:
        name: its name in `secrets.toml`.
        needles: texts of which every match has one.
        loose: whether matches need no run of sixteen characters (see `dense_runs`).
    """

    __slots__ = ("_exact", "_example", "_made_of", "_probe", "loose", "name", "needles")

    def __init__(
        self,
        name: str,
        flags: str,
        needles: str | list[str],
        regex: str,
        example: str,
        *,
        probe: str = "",
        skip: str = "",
    ) -> None:
        """Make a format, as a line of `secrets.toml` describes it.

        Args:
            name: its name.
            flags: the kind of its boundaries, and `loose`.
            needles: texts of which every match has one.
            regex: matches the secret, or has it in a group `secret`.
            example: a text that matches, see `expand`.
            probe: a regex that is tried on raw text in place of `regex`.
            skip: matches a run after a needle in which no other needle can match.
        """
        self.name = name
        self.needles = tuple(needles.split() if isinstance(needles, str) else needles) or ("",)
        self.loose = "loose" in flags
        # No regex is compiled here: that takes longer than reading all formats, and few of them are ever needed.
        self._made_of = (flags.removesuffix("loose").strip(), regex, probe, skip)
        self._example = example
        self._exact: re.Pattern[str] | None = None
        self._probe: re.Pattern[str] | None = None

    def _compiled(self, *, raw: bool) -> re.Pattern[str]:
        kind, regex, probe, skip = self._made_of
        if raw and probe:
            return re.compile(probe, re.ASCII)
        # The empty group stands after the run, so that both alternatives start with the needle, which `re` searches for.
        passed = f"|{skip}(?P<skip>)" if skip else ""
        return re.compile(_bounded(kind, regex, raw=raw) + passed, re.ASCII)

    @property
    def example(self) -> str:
        """A text that it masks."""
        return expand(self._example)

    def near(self, text: str, runs: str | None = None) -> bool:
        """Return whether raw JSON text may have a match in one of its strings; never False for a text that has one.

        Args:
            text: the text.
            runs: the parts of the text in which needles are searched (see `dense_runs`); by default the whole text.
        """
        where = text if runs is None else runs
        for needle in self.needles:
            if needle in where:
                break
        else:
            return False
        if self._probe is None:
            self._probe = self._compiled(raw=True)
        if "skip" not in self._probe.groupindex:
            return self._probe.search(text) is not None
        return any(match["skip"] is None for match in self._probe.finditer(text))

    def mask(self, text: str, runs: str | None = None) -> str:
        """Mask every match in a decoded string; `runs` as in `near`.

        `near` comes first: it is fast for text that has a needle and no match.
        """
        if not self.near(text, runs):
            return text
        if self._exact is None:
            self._exact = self._compiled(raw=False)
        return self._exact.sub(_masked, text)


def _masked(match: re.Match[str]) -> str:
    groups = match.groupdict()
    if groups.get("skip") is not None:
        return match[0]
    if groups.get("secret") is None:
        return MASK
    start, end = match.span("secret")
    text = match.string
    return text[match.start() : start] + MASK + text[end : match.end()]


# What stands between a vendor's name and a value: the rest of the name, an assignment, quotes. Each part has a bound, since
# a text may consist of nothing but names.
_ASSIGN = r"(?:\|\||[:?]?=>?|:{1,3}=?|>|,)"
_VALUE = r"([A-Za-z0-9_=+/.:%-]{14,160}+)(?![A-Za-z0-9_=+/%-])"
_ASSIGNED = late(
    rf"[A-Za-z0-9_. \t-]{{0,32}}+[\s'\"`\]\\]{{0,4}}{_ASSIGN}[\s'\"`=\\]{{0,6}}{_VALUE}", re.ASCII
)
# The same in raw JSON text, where quotes and white space are escaped.
_ESCAPED = r"(?:[\s'\"`=\]]|\\+(?:[nrtbf](?![a-z])|u00[01].)?)"
_ASSIGNED_RAW = late(
    rf"(?:[A-Za-z0-9_. \t-]|\\+t){{0,32}}+{_ESCAPED}{{0,8}}"
    rf"{_ASSIGN}(?:{_ESCAPED}|\\+[nrtbf]){{0,8}}[A-Za-z0-9_=+/.:%-]{{14}}",
    re.ASCII,
)
# Parts of the names of [short-vendor], one for each usual spelling in upper and lower case.
_SHORT_NAMES = "ropbox ROPBOX inked INKED sumo Sumo SUMO"
_CREDENTIAL = late("key|token|secret|client|api|auth|pass")


class VendorPattern(Pattern):
    """Values that only the name of a vendor before them marks as secrets: `ADAFRUIT_IO = "…"`."""

    __slots__ = ("_seen", "_shapes", "_vendors")

    def __init__(self, name: str, vendors: Mapping[str, str], *, loose: bool) -> None:
        # Short values can be in any text, so the names are their needles. For the others `near` searches the text near
        # runs for the names, in any case.
        """Make a format for the values of many vendors.

        Args:
            name: its name.
            vendors: names of vendors, separated by blanks, by the regex that their values match.
            loose: whether the values are shorter than a run.
        """
        flags, needles = ("loose", _SHORT_NAMES) if loose else ("", "")
        super().__init__(name, flags, needles, "", "dropbox_key: {w15}" if loose else "ADAFRUIT_IO = {w32}")
        self._vendors: dict[str, list[str]] = {}
        for shape, words in vendors.items():
            for word in words.split():
                self._vendors.setdefault(word, []).append(shape)
        self._shapes: dict[str, re.Pattern[str]] = {}
        self._seen: dict[bytes, tuple[str, ...]] = {}
        """The names in texts near values. Most bodies have the same as the body before."""

    def near(self, text: str, runs: str | None = None) -> bool:
        words = self._words(text, runs)
        if not words:
            return False
        low, raw = _lowered(text), _ASSIGNED_RAW.match
        return any(raw(text, end) for word in words for _, end in _places(low, word))

    def _words(self, text: str, runs: str | None) -> list[str]:
        """List the names that stand near a possible value."""
        if not self.loose:
            near = (runs if isinstance(runs, Runs) else dense_runs(text)).contexts
            return list(dict.fromkeys(word for context in near for word in self._words_of(context)))
        if not any(needle in text for needle in self.needles):
            return []
        low = _lowered(text)
        return [word for word in self._vendors if word in low]

    def _words_of(self, context: bytes) -> tuple[str, ...]:
        """Return the names in a text near a value. Its letters beyond ASCII become others, which no name has."""
        words = self._seen.get(context)
        if words is None:
            low = context.decode("latin-1").lower()
            words = tuple([word for word in self._vendors if word in low])
            if len(context) <= _CONTEXT:
                if len(self._seen) >= _MOST_SEEN:
                    self._seen.clear()
                self._seen[context] = words
        return words

    def mask(self, text: str, runs: str | None = None) -> str:
        words = self._words(text, runs)
        if not words:
            return text
        low = _lowered(text)
        ends: dict[int, int] = {}
        for word in words:
            for start, end in _places(low, word):
                match = _ASSIGNED.match(text, end)
                if match is not None and self.holds(
                    low[start : match.start(1)], value := match[1].rstrip(".:")
                ):
                    ends[match.start(1)] = match.start(1) + len(value)
        parts: list[str] = []
        position = 0
        for start, end in sorted(ends.items()):
            parts += (text[position:start], MASK)
            position = end
        return "".join((*parts, text[position:])) if parts else text

    def holds(self, name: str, value: str) -> bool:
        """Return whether a value is a secret of a vendor that its name contains.

        A number is an identifier if its name contains no word for a credential. A value of letters only is a word.
        """
        low = name.lower()
        if value.isdigit() and _CREDENTIAL.search(low) is None:
            return False
        return any(
            self._shape(shape).fullmatch(value) is not None
            for word, shapes in self._vendors.items()
            if word in low
            for shape in shapes
            if shape == "[a-z]{24}" or not value.isalpha()
        )

    def _shape(self, shape: str) -> re.Pattern[str]:
        if shape not in self._shapes:
            self._shapes[shape] = re.compile(shape, re.ASCII | re.IGNORECASE)
        return self._shapes[shape]


def _lowered(text: str) -> str:
    """Return a text in lower case at the same length. The only letter with a longer lower case is replaced before."""
    return text.lower() if text.isascii() else text.replace("\u0130", "I").lower()


def _places(text: str, word: str) -> Iterator[tuple[int, int]]:
    at = text.find(word)
    while at >= 0:
        yield at, at + len(word)
        at = text.find(word, at + len(word))


_ALPHABETS = {
    "w": "a0B1c2D3e4F5g6H7i8J9",
    "l": "a0b1c2d3e4f5g6h7i8j9",
    "u": "A0B1C2D3E4F5G6H7I8J9",
    "x": "0123456789" + "abcdef",
    "d": "1234567890",
}


def expand(example: str) -> str:
    """Return an example with each `{w36}` replaced by that many characters of an alphabet, and each `{}` by nothing."""

    def fill(match: re.Match[str]) -> str:
        letters, count = _ALPHABETS[match[1]], int(match[2])
        return (letters * (count // len(letters) + 1))[:count]

    return re.sub(r"\{([wluxd])(\d+)\}", fill, example.replace("{}", ""))


@cache
def load_patterns() -> tuple[Pattern, ...]:
    """Read `secrets.toml`. It is read once, and not before there is something to search."""
    loader = cast("Any", __spec__).loader  # which may be that of a zip file
    data = loader.get_data(os.path.join(os.path.dirname(__file__), "secrets.toml"))
    table = tomllib.loads(data.decode())
    probe, skip = table["probe"], table["skip"]
    return (
        *(
            Pattern(name, flags, needles, regex, example, probe=probe.get(name, ""), skip=skip.get(name, ""))
            for name, (flags, needles, regex, example, _) in table["format"].items()
        ),
        VendorPattern("vendor", table["vendor"], loose=False),
        VendorPattern("short-vendor", table["short-vendor"], loose=True),
    )


# The kind of each byte: 1 for the characters of secrets (letters, digits and some signs), 2 for characters that may stand
# between them, 0 for all others.
_DENSE = bytes(
    1 if code < 128 and (chr(code).isalnum() or chr(code) in "_-+/=~%.") else 2 if chr(code) in ":|" else 0
    for code in range(256)
)
_RUN = b"\1" * 16
# Characters before a run that may be the name of a vendor. The name may also be in the run, before a `=` or `:`.
_CONTEXT = 64
_MOST_SEEN = 4096


class Runs(str):
    """The parts of a text that may hold a secret."""

    __slots__ = ("contexts",)

    contexts: frozenset[bytes]
    """What stands near them, cut at quotes: mostly names of fields, which occur before many values."""


def dense_runs(text: str) -> Runs:
    """Return the parts of a text with sixteen characters of secrets in a row, and the characters attached to them.

    Most text has none. `translate` detects that a hundred times faster than a regex.
    """
    raw = text.encode("utf-8", "surrogatepass")
    kinds = raw.translate(_DENSE)
    at = kinds.find(_RUN)
    if at < 0:
        return _NO_RUNS
    runs, contexts = [], []
    while at >= 0:
        end = kinds.find(b"\0", at)
        if end < 0:
            end = len(raw)
        start = kinds.rfind(b"\0", 0, at) + 1
        run = raw[start:end]
        runs.append(run)
        contexts.append(raw[max(0, start - _CONTEXT) : start])
        if b"=" in run or b":" in run:
            contexts.append(run)
        at = kinds.find(_RUN, end)
    return _runs(b" ".join(runs).decode(), frozenset(b'"'.join(contexts).split(b'"')))


def _runs(text: str, contexts: frozenset[bytes]) -> Runs:
    runs = Runs(text)
    runs.contexts = contexts
    return runs


_NO_RUNS = _runs("", frozenset())
_Needles: TypeAlias = tuple[tuple[str, Pattern], ...]
_BySign: TypeAlias = tuple[tuple[str, tuple[tuple[str, _Needles], ...]], ...]
LOOSE_NEEDLES = (
    *(
        "kind:",
        "AKC",
        "AP",
        ":_authToken=",
        ":_auth=",
        ":_password=",
        "<add key=",
        "<ADD KEY=",
        "secret_key",
        "PRIVATE KEY",
    ),
    *("://", "earer ", "EARER ", "asic ", *_SHORT_NAMES.split()),
)
"""The needles of the formats that need no run of sixteen characters."""
# The length of the shortest format: `://:p@`.
_SHORTEST = 6


@cache
def _needles() -> tuple[_Needles, _BySign]:
    """Return the needles of the loose patterns, and the others grouped by a rare sign in them and its neighbour.

    There are two hundred, and most runs have few signs.
    """
    loose: list[tuple[str, Pattern]] = []
    dense: dict[str, dict[str, list[tuple[str, Pattern]]]] = {}
    for pattern in load_patterns():
        for needle in pattern.needles:
            if pattern.loose:
                loose.append((needle, pattern))
                continue
            at = next((i for i, letter in enumerate(needle) if not letter.isalnum()), -1)
            sign, hint = (needle[at], needle[max(0, at - 1) : at + 1]) if at >= 0 else ("", needle[:2])
            dense.setdefault(sign, {}).setdefault(hint, []).append((needle, pattern))
    return tuple(loose), tuple(
        (sign, tuple((hint, tuple(pairs)) for hint, pairs in hints.items())) for sign, hints in dense.items()
    )


def may_hold_format(text: str) -> bool:
    """Return whether raw JSON text or plain text may hold a secret by its format; never False for a text that does."""
    if len(text) < _SHORTEST:
        return False
    # Loops and not `any`: a generator takes longer than the search.
    for needle in LOOSE_NEEDLES:
        if needle in text:
            if any(needle in text and pattern.near(text) for needle, pattern in _needles()[0]):
                return True
            break
    runs = dense_runs(text)
    # Without runs the table is not read: reading it takes a tenth of the start of a small program.
    return bool(runs) and _any_dense(text, runs, _needles()[1])


def may_hold_needle(text: str) -> bool:
    """Return whether raw JSON text or plain text has a needle of a format. Names of vendors don't count."""
    # A loop and not `any`, as above.
    for needle in LOOSE_NEEDLES:
        if needle in text:
            return True
    runs = dense_runs(text)
    return bool(runs) and any(
        needle and needle in runs
        for sign, hints in _needles()[1]
        if sign in runs
        for hint, pairs in hints
        if hint in runs
        for needle, _ in pairs
    )


def may_hold_vendors(text: str) -> bool:
    """Return whether raw JSON text or plain text may hold a secret that a vendor's name marks, loose ones left out."""
    runs = dense_runs(text)
    return bool(runs) and _vendor_patterns()[0].near(text, runs)


def _any_dense(text: str, runs: Runs, dense: _BySign) -> bool:
    for sign, hints in dense:
        if sign not in runs:
            continue
        for hint, pairs in hints:
            if hint in runs:
                for needle, pattern in pairs:
                    if needle in runs and pattern.near(text, runs):
                        return True
    return False


def is_vendors_secret(name: str, value: str) -> bool:
    """Return whether a field's name contains that of a vendor and its value has the form of that vendor's secrets."""
    return any(pattern.holds(name, value) for pattern in _vendor_patterns())


@cache
def _vendor_patterns() -> tuple[VendorPattern, ...]:
    return tuple(pattern for pattern in load_patterns() if isinstance(pattern, VendorPattern))


def mask_formats(text: str) -> str:
    """Mask every format in a decoded string, one after the other: each works on the text that the last one left."""
    runs = dense_runs(text)
    for pattern in load_patterns():
        if pattern.loose or runs:
            masked = pattern.mask(text, None if pattern.loose else runs)
            if masked is not text and masked != text:
                text = masked
                runs = dense_runs(text)
    return text
