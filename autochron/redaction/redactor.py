"""Masking of secrets, before anything is stored.

A field is masked by its name (see `names`), a string also by what it contains (see `secrets.toml`). The mask
is the string
`[masked]`; a container under a secret name is masked whole. Null, booleans, most numbers, empty strings and empty containers
stay: a program may count with them. Everything else stays as it was, byte by byte.

A string is also masked by what stands around a secret in it (see `contexts`), and whole where it is encoded and holds one
(see `encoded`). A whole number is masked under the name of a code only: `pin`, `otp`, `cvv`.

What can't be seen: a secret that is encoded twice, and one in a number under any other name.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, structs

from autochron._runtime.growing_bodies import GrowingBody, Latest
from autochron._runtime.lazy import late, late_modules
from autochron.envelope.tags import has_tag
from autochron.model import Rules
from autochron.redaction.commands import mask_sequence
from autochron.redaction.scanner import Scanner
from autochron.redaction.secret_names import SecretNames
from autochron.redaction.secret_patterns import MASK, load_patterns
from autochron.redaction.spans import Span, apply

if TYPE_CHECKING:
    from autochron.redaction import json_paths
    from autochron.redaction.joined import StreamMasker
else:
    late_modules(globals(), json_paths="autochron.redaction.json_paths")

T = TypeVar("T")

__all__ = ["MASK", "Redactor"]

_MAX_KEYS = 1024
_LARGEST_KEPT = 16 << 20
"""Bytes of a body from which on the next one is masked whole."""
_MOST_KEPT = 64 << 20
"""Bytes that are kept of all bodies."""
_MAX_TRIES = 16
# Bytes of a body below which to scan it takes no longer than to find what of it is new.
_SMALL = 512
_PAIRS = b'$dict"'
_CUT = b"},{"
_MEMBERS = late(rb'\{"(events|lines|frames)":\[')
"""How stored bodies begin that a stream was read from."""
_BETWEEN = late(rb"(?:\},|\[)(?=\{)")
"""Where an array has an object: no key that stands before it says what the object means."""
# Names that are secret in the query of a URL only.
_QUERY_NAMES = frozenset(
    {"key", "sig", "signature", "x-amz-signature", "x-amz-security-token", "x-goog-signature"}
)
_PARAMETER = late(r"(?<=[?&])([^=&#?\s]++)=([^&#\s]*+)")
_USERINFO = late(r"\A([A-Za-z][A-Za-z0-9+.-]*://)([^/?#@]*)@")
_OURS = frozenset({"digest", "digests", "hash", "id", "key", "kind", "mode", "lines", "rough", "slug"})
"""Fields of our structs that hold nothing of the program's."""
_WITHOUT_TEXT = frozenset({bool, bytes, float, int})
_HEADERS = frozenset(
    {"x-amz-signature", "x-goog-iam-authorization-token", "www-authenticate", "proxy-authenticate"}
)


class _Previous(GrowingBody, frozen=True):
    """The last body under a key: raw, masked, and where the two differ.

    `head` and `tail` are how much of it was taken over from the body before. With `pairs` it holds a dictionary as pairs,
    whose keys a part of the text doesn't tell.
    """

    masked: bytes
    spans: list[Span]
    pairs: bool


class Redactor:
    """Masks JSON bodies, text, headers and URLs. Raw bodies of inputs stay in memory, for comparison only."""

    def __init__(
        self, field_names: Iterable[str] = (), extra_paths: Iterable[str] = (), patterns: Iterable[str] = ()
    ) -> None:
        """Make one.

        Args:
            field_names: names that are secret beside the built-in ones.
            extra_paths: what stands there is masked as well.
            patterns: regular expressions of more secrets; see `RedactRule`.
        """
        self._scanner = _scanner(tuple(field_names), tuple(patterns))
        self._names = self._scanner.names
        self._paths = tuple(extra_paths)
        self._previous: Latest[object, _Previous] = Latest(_MAX_KEYS, _MOST_KEPT)
        self._clean: Latest[object, bytes] = Latest(_MAX_KEYS)
        """Digests of the last inputs that were too large to be kept and had nothing to mask."""

    @classmethod
    def of(cls, rules: Rules) -> Redactor:
        """Make one that knows what the rules say is a secret."""
        return cls(rules.redact.names, patterns=rules.redact.patterns)

    def load(self) -> None:
        """Read what masking reads from files, which is otherwise done when it is first needed."""
        load_patterns()

    def mask_input(self, key: object, body: bytes) -> bytes:
        """Mask an input, scanning only what is new since the last one under the same key."""
        previous = self._previous.get(key)
        if previous is not None and previous.raw == body:
            return self._finish(previous.masked)
        if len(body) > _LARGEST_KEPT:
            return self._finish(self._mask_large(key, body))
        masked = self._mask_new(previous, body)
        size = len(body) + (0 if masked.masked is body else len(masked.masked))
        if size <= _LARGEST_KEPT:
            self._previous.put(key, masked, size)
        else:
            self._previous.pop(key)
        return self._finish(masked.masked)

    def _mask_large(self, key: object, body: bytes) -> bytes:
        """Mask a body of which the next one keeps no more than a digest, where there was nothing to mask."""
        from hashlib import blake2b  # lazy: hardly any input is so large

        digest = blake2b(body).digest()
        if self._clean.get(key) == digest:
            return body
        self._clean.pop(key)
        masked = self._mask_whole(body).masked
        if masked is body:
            self._clean.put(key, digest)
        return masked

    def _finish(self, masked: bytes) -> bytes:
        return json_paths.redact_paths(masked, self._paths) if self._paths else masked

    def mask(self, body: bytes) -> bytes:
        """Mask JSON text."""
        return self.mask_outcome(body)[0]

    def mask_outcome(self, body: bytes) -> tuple[bytes, tuple[str, ...]]:
        """Mask JSON text, and list the paths that were masked."""
        spans = self._scan(body)
        masked = _apply(body, spans) if spans else body
        held = _MEMBERS.match(masked)
        if held is not None:
            together = self._mask_members(masked, held[1].decode())
            if together != masked:
                spans = [*spans, Span(0, 0, "", held[1].decode())]
                masked = together
        if self._paths:
            redacted = json_paths.redact_paths(masked, self._paths)
            if redacted != masked:
                return redacted, tuple(dict.fromkeys([*(span.path for span in spans), *self._paths]))
        return masked, tuple(dict.fromkeys([span.path for span in spans])) if spans else ()

    def _mask_members(self, body: bytes, key: str) -> bytes:
        from autochron.redaction.joined import mask_members  # lazy: many programs read no stream

        return mask_members(body, key, self._scanner)

    def mask_items(self, bodies: Iterable[bytes]) -> list[tuple[bytes, tuple[str, ...]]]:
        """Mask the items of a stream, each and together, and list the paths that were masked in each."""
        from autochron.redaction.joined import mask_together  # lazy: as above

        found = [self.mask_outcome(body) for body in bodies]
        if len(found) > 1:
            together = mask_together([body for body, _ in found], self._scanner)
            found = [
                (now, paths if now == body else (*paths, "(value)"))
                for now, (body, paths) in zip(together, found, strict=True)
            ]
        return found

    def begin_stream(self) -> StreamMasker:
        """Return what masks the items of a stream together as they come; each is to be masked for itself before."""
        from autochron.redaction.joined import StreamMasker  # lazy: as above

        return StreamMasker(self._scanner)

    def mask_text(self, text: str) -> str:
        """Mask plain text, such as what a program printed."""
        return self._scanner.mask_string(text)

    def mask_name(self, name: str) -> str:
        """Mask the name of a crossing, which is mostly that of another one before."""
        return self._scanner.mask_name(name)

    def mask_texts(self, value: T) -> T:
        """Mask every text in a struct of the model, and in its tuples."""
        return self._mask_texts(value)  # type: ignore[no-any-return]

    def _mask_texts(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.mask_text(value)
        if isinstance(value, tuple):
            masked = tuple([self._mask_texts(each) for each in value])
            return value if masked == value else masked
        if isinstance(value, Struct):
            changed = {}
            for name in value.__struct_fields__:
                was = getattr(value, name)
                # Most fields are empty, or numbers.
                if was and type(was) not in _WITHOUT_TEXT and name not in _OURS:
                    now = self._mask_texts(was)
                    if now != was:
                        changed[name] = now
            return structs.replace(value, **changed) if changed else value
        return value

    def mask_headers(self, headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Mask headers by name and value."""
        return tuple((name, self._mask_header(name, value)) for name, value in headers)

    def _mask_header(self, name: str, value: str) -> str:
        if name in self._names or name.lower() in _HEADERS:
            return MASK if value else value
        return self.mask_text(value)

    def mask_arguments(self, arguments: Iterable[str]) -> tuple[str, ...]:
        """Mask a command line: the values of options with secret names, URLs, and what looks like a secret."""
        masked: list[str] = []
        is_secret = False
        for argument in arguments:
            option = argument.startswith("-")
            name, equals, value = argument.partition("=")
            named = name.lstrip("-") in self._names
            if is_secret and not option:
                masked.append(MASK)
            elif value and named and "://" not in name:
                masked.append(f"{name}={MASK}")
            else:
                masked.append(
                    f"{name}={self.mask_url(value)}" if equals and option else self.mask_url(argument)
                )
            is_secret = option and named and not equals
        for index, argument in mask_sequence(masked, self._names, "arguments").items():
            masked[index] = argument
        return tuple(masked)

    def mask_url(self, url: str) -> str:
        """Mask the user information and the secret query parameters of a URL."""
        url = _USERINFO.sub(lambda match: f"{match[1]}{_userinfo(match[2])}@", url)
        return self.mask_text(_PARAMETER.sub(self._mask_parameter, url))

    def _mask_parameter(self, match: re.Match[str]) -> str:
        name = match[1]
        secret = name in self._names or name.lower() in _QUERY_NAMES
        return f"{name}={MASK}" if secret and match[2] else match[0]

    # --- scanning what is new ---

    def _scan(self, body: bytes) -> list[Span]:
        return self._scanner.spans(body.decode("latin-1")) if self._scanner.suspicious_body(body) else []

    def _mask_new(self, previous: _Previous | None, body: bytes) -> _Previous:
        """Mask a body by way of the previous one, or whole where nothing can be shared safely."""
        if previous is None or previous.pairs or len(body) < _SMALL:
            return self._mask_whole(body)
        start = _safe_prefix(previous, body)
        end, old_end = _safe_suffix(previous, body, start)
        if has_tag(body[start:end], _PAIRS):
            return self._mask_whole(body)
        fresh = self._scan(body[start:end])
        if (
            fresh and fresh[-1].end == end - start and end < len(body)
        ):  # a masked container may go on after the cut
            end = old_end = -1
            fresh = self._scan(body[start:])
        shifted = [structs.replace(s, start=s.start + start, end=s.end + start) for s in fresh]
        head = [span for span in previous.spans if span.end <= start]
        tail: list[Span] = []
        if end >= 0:
            by = end - old_end
            tail = [
                structs.replace(s, start=s.start + by, end=s.end + by)
                for s in previous.spans
                if s.start >= old_end
            ]
        spans = [*head, *shifted, *tail]
        kept = len(body) - end if end >= 0 else 0
        return _Previous(body, start, kept, _apply(body, spans), spans, pairs=False)

    def _mask_whole(self, body: bytes) -> _Previous:
        spans = self._scan(body)
        return _Previous(body, 0, 0, _apply(body, spans), spans, has_tag(body, _PAIRS))


@lru_cache(maxsize=16)
def _scanner(field_names: tuple[str, ...], patterns: tuple[str, ...]) -> Scanner:
    """Return the scanner of some names and patterns: what it learnt of harmless ones serves every session."""
    return Scanner(SecretNames(field_names), patterns)


def _userinfo(text: str) -> str:
    user, colon, _ = text.partition(":")
    return f"{user}:{MASK}" if colon else MASK


def _apply(body: bytes, spans: list[Span]) -> bytes:
    return apply(body.decode("latin-1"), spans).encode("latin-1") if spans else body


def _inside_string(text: bytes) -> bool:
    """Return whether text that starts outside a string ends inside one, at C speed."""
    if b"\\" in text:
        text = text.replace(b"\\\\", b"")
        return (text.count(b'"') - text.count(b'\\"')) % 2 == 1
    return text.count(b'"') % 2 == 1


def _inside_mask(spans: list[Span], at: int) -> Span | None:
    position = bisect_left(spans, at, key=lambda span: span.start) - 1
    if position >= 0 and spans[position].start < at < spans[position].end:
        return spans[position]
    return None


def _safe_prefix(previous: _Previous, body: bytes) -> int:
    """Return how much of the start can be taken over: up to a comma between two objects of an array.

    There the scan has no state: no key waits for its value, and the cut is in no string and in nothing that
    is masked.
    """
    limit = previous.shared_prefix(body, min(len(previous.raw), len(body)))
    known = previous.head if previous.head <= limit else 0
    for _ in range(_MAX_TRIES):
        at = body.rfind(_CUT, known, limit) + 2
        if at < 2:
            return known
        inside = _inside_mask(previous.spans, at)
        if inside is not None:
            limit = inside.start
        elif not _inside_string(body[known:at]):
            return at
        else:
            limit = at - 2
    return known


def _safe_suffix(previous: _Previous, body: bytes, start: int) -> tuple[int, int]:
    """Return where the end that can be taken over starts, in the body and in the previous one."""
    raw, tail = previous.raw, previous.tail
    shared = previous.shared_suffix(body, min(len(raw), len(body)) - start)
    # Where it was cut last it can mostly be cut again.
    at = len(body) - (tail + 2 if 0 < tail <= shared else shared)
    for _ in range(_MAX_TRIES):
        found = _BETWEEN.search(body, max(at, start))
        if found is None:
            break
        at = found.end()
        old = at - len(body) + len(raw)
        inside = _inside_mask(previous.spans, old)
        if inside is not None:
            at += inside.end - old
        elif not _inside_string(body[start:at]) and not _inside_string(raw[start:old]):
            return at, old
    return len(body), len(raw)
