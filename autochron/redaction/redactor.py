"""Masking of secrets, before anything is stored.

A field is masked if its name is secret (see `secret_names`). A part of a string is masked if it looks like a secret (see
`secrets.toml`), or if the text around it says that it is one (see `contexts`). A string that is encoded and contains a
secret is masked as a whole (see `encoded`). A whole number is masked only under the name of a code: `pin`, `otp`, `cvv`.

The mask is the string `[masked]`. A container under a secret name is masked as a whole. Null, booleans, other numbers, empty
strings and empty containers are kept, since a program may compute with them. All other bytes stay as they are.

Two kinds of secrets are not found: one that is encoded twice, and one in a number under any other name.
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
"""The largest number of keys of which the last input is kept."""
_LARGEST_KEPT = 16 << 20
"""The size in bytes of a body and its masked form above which they are not kept, so that the next one is scanned whole."""
_MOST_KEPT = 64 << 20
"""The size in bytes of all bodies that are kept."""
_MAX_TRIES = 16
"""How often a place for the cut between shared and new parts is tried."""
# Bytes of a body below which a scan takes no longer than the search for its new part.
_SMALL = 512
_PAIRS = b'$dict"'
"""In a body that has a dictionary as pairs of key and value."""
_CUT = b"},{"
_MEMBERS = late(rb'\{"(events|lines|frames)":\[')
"""The beginning of a stored body that was read as a stream."""
_BETWEEN = late(rb"(?:\},|\[)(?=\{)")
"""What comes before an object in an array. No key before it has a meaning for the object."""
# Names that are secret in the query of a URL only.
_QUERY_NAMES = frozenset(
    {"key", "sig", "signature", "x-amz-signature", "x-amz-security-token", "x-goog-signature"}
)
_PARAMETER = late(r"(?<=[?&])([^=&#?\s]++)=([^&#\s]*+)")
_USERINFO = late(r"\A([A-Za-z][A-Za-z0-9+.-]*://)([^/?#@]*)@")
_OURS = frozenset({"digest", "digests", "hash", "id", "key", "kind", "mode", "lines", "rough", "slug"})
"""Fields of our structs that never hold text of the program."""
_WITHOUT_TEXT = frozenset({bool, bytes, float, int})
_HEADERS = frozenset(
    {"x-amz-signature", "x-goog-iam-authorization-token", "www-authenticate", "proxy-authenticate"}
)


class _Previous(GrowingBody, frozen=True):
    """The last body under a key.

    Attributes:
        head, tail: how many bytes of its beginning and its end were shared with the body before.
        masked: the body, masked.
        spans: the ranges that were masked.
        pairs: whether it has a dictionary as pairs of key and value. Then a part of the text does not show the keys, so the
            next body can't be compared with it.
    """

    masked: bytes
    spans: list[Span]
    pairs: bool


class Redactor:
    """Masks JSON bodies, text, headers and URLs. Raw bodies of inputs stay in memory, for comparison only."""

    def __init__(
        self, field_names: Iterable[str] = (), extra_paths: Iterable[str] = (), patterns: Iterable[str] = ()
    ) -> None:
        """Prepare a redactor.

        Args:
            field_names: names of secret fields, besides the built-in ones.
            extra_paths: paths of JSON values that are masked, too.
            patterns: regular expressions of further secrets; see `RedactRule`.
        """
        self._scanner = _scanner(tuple(field_names), tuple(patterns))
        self._names = self._scanner.names
        self._paths = tuple(extra_paths)
        self._previous: Latest[object, _Previous] = Latest(_MAX_KEYS, _MOST_KEPT)
        self._clean: Latest[object, bytes] = Latest(_MAX_KEYS)
        """By key the digest of the last input, if it was too large to be kept and had no secret."""

    @classmethod
    def of(cls, rules: Rules) -> Redactor:
        """Return the redactor for the secret names and patterns of the rules."""
        return cls(rules.redact.names, patterns=rules.redact.patterns)

    def load(self) -> None:
        """Load the patterns from their file now. Otherwise that happens at the first use."""
        load_patterns()

    def mask_input(self, key: object, body: bytes) -> bytes:
        """Return an input with its secrets masked. Only the part is scanned that is new since the last one of the key.

        Args:
            key: identifies inputs that probably share most of their text, as those of one boundary in one lane.
            body: the input as JSON.
        """
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
        """Mask a body that is too large to be kept. Only its digest is kept, if it has no secret."""
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
        """Return JSON text with its secrets masked."""
        return self.mask_outcome(body)[0]

    def mask_outcome(self, body: bytes) -> tuple[bytes, tuple[str, ...]]:
        """Mask the secrets in JSON text.

        Returns:
            The masked text, and the paths at which something was masked.
        """
        spans = self._scan(body)
        masked = _apply(body, spans) if spans else body
        members = _MEMBERS.match(masked)
        if members is not None:
            key = members[1].decode()
            joined = self._mask_members(masked, key)
            if joined != masked:
                spans = [*spans, Span(0, 0, "", key)]
                masked = joined
        if self._paths:
            redacted = json_paths.redact_paths(masked, self._paths)
            if redacted != masked:
                return redacted, tuple(dict.fromkeys([*(span.path for span in spans), *self._paths]))
        return masked, tuple(dict.fromkeys([span.path for span in spans])) if spans else ()

    def _mask_members(self, body: bytes, key: str) -> bytes:
        from autochron.redaction.joined import mask_members  # lazy: many programs read no stream

        return mask_members(body, key, self._scanner)

    def mask_items(self, bodies: Iterable[bytes]) -> list[tuple[bytes, tuple[str, ...]]]:
        """Mask the secrets in the items of a stream, also those that are spread over several items.

        Args:
            bodies: the items as JSON.

        Returns:
            For each item the masked text, and the paths at which something was masked.
        """
        from autochron.redaction.joined import mask_together  # lazy: as above

        items = [self.mask_outcome(body) for body in bodies]
        if len(items) > 1:
            joined = mask_together([body for body, _ in items], self._scanner)
            items = [
                (masked, paths if masked == body else (*paths, "(value)"))
                for masked, (body, paths) in zip(joined, items, strict=True)
            ]
        return items

    def begin_stream(self) -> StreamMasker:
        """Return the masker of secrets that are spread over items of a stream, for items that come one by one.

        Each item has to be masked by itself first.
        """
        from autochron.redaction.joined import StreamMasker  # lazy: as above

        return StreamMasker(self._scanner)

    def mask_text(self, text: str) -> str:
        """Return plain text with its secrets masked, such as the output of a program."""
        return self._scanner.mask_string(text)

    def mask_name(self, name: str) -> str:
        """Return the name of a crossing with its secrets masked. Results are cached, since names are repeated."""
        return self._scanner.mask_name(name)

    def mask_texts(self, value: T) -> T:
        """Return a struct of the model with the secrets masked in all its texts, nested ones included."""
        return self._mask_texts(value)  # type: ignore[no-any-return]

    def _mask_texts(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.mask_text(value)
        if isinstance(value, tuple):
            masked = tuple([self._mask_texts(member) for member in value])
            return value if masked == value else masked
        if isinstance(value, Struct):
            changed = {}
            for name in value.__struct_fields__:
                field = getattr(value, name)
                # Most fields are empty, or numbers.
                if field and type(field) not in _WITHOUT_TEXT and name not in _OURS:
                    masked_field = self._mask_texts(field)
                    if masked_field != field:
                        changed[name] = masked_field
            return structs.replace(value, **changed) if changed else value
        return value

    def mask_headers(self, headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Return HTTP headers with their secrets masked, by name and by value."""
        return tuple((name, self._mask_header(name, value)) for name, value in headers)

    def _mask_header(self, name: str, value: str) -> str:
        if name in self._names or name.lower() in _HEADERS:
            return MASK if value else value
        return self.mask_text(value)

    def mask_arguments(self, arguments: Iterable[str]) -> tuple[str, ...]:
        """Return a command line with its secrets masked: values of options with secret names, URLs, and other secrets."""
        masked: list[str] = []
        is_secret = False
        for argument in arguments:
            is_option = argument.startswith("-")
            name, equals, value = argument.partition("=")
            has_secret_name = name.lstrip("-") in self._names
            if is_secret and not is_option:
                masked.append(MASK)
            elif value and has_secret_name and "://" not in name:
                masked.append(f"{name}={MASK}")
            else:
                masked.append(
                    f"{name}={self.mask_url(value)}" if equals and is_option else self.mask_url(argument)
                )
            is_secret = is_option and has_secret_name and not equals
        for index, argument in mask_sequence(masked, self._names, "arguments").items():
            masked[index] = argument
        return tuple(masked)

    def mask_url(self, url: str) -> str:
        """Return a URL with its user information, secret query parameters and other secrets masked."""
        url = _USERINFO.sub(lambda match: f"{match[1]}{_userinfo(match[2])}@", url)
        return self.mask_text(_PARAMETER.sub(self._mask_parameter, url))

    def _mask_parameter(self, match: re.Match[str]) -> str:
        name = match[1]
        is_secret = name in self._names or name.lower() in _QUERY_NAMES
        return f"{name}={MASK}" if is_secret and match[2] else match[0]

    # --- scanning only the new part ---

    def _scan(self, body: bytes) -> list[Span]:
        return self._scanner.spans(body.decode("latin-1")) if self._scanner.suspicious_body(body) else []

    def _mask_new(self, previous: _Previous | None, body: bytes) -> _Previous:
        """Mask a body with the parts that it shares with the previous one copied; whole if nothing can be shared safely."""
        if previous is None or previous.pairs or len(body) < _SMALL:
            return self._mask_whole(body)
        start = _safe_prefix(previous, body)
        end, old_end = _safe_suffix(previous, body, start)
        if has_tag(body[start:end], _PAIRS):
            return self._mask_whole(body)
        new_spans = self._scan(body[start:end])
        if (
            new_spans and new_spans[-1].end == end - start and end < len(body)
        ):  # a masked container may go on after the cut
            end = old_end = -1
            new_spans = self._scan(body[start:])
        middle = [structs.replace(span, start=span.start + start, end=span.end + start) for span in new_spans]
        head = [span for span in previous.spans if span.end <= start]
        tail: list[Span] = []
        if end >= 0:
            shift = end - old_end
            tail = [
                structs.replace(span, start=span.start + shift, end=span.end + shift)
                for span in previous.spans
                if span.start >= old_end
            ]
        spans = [*head, *middle, *tail]
        tail_size = len(body) - end if end >= 0 else 0
        return _Previous(body, start, tail_size, _apply(body, spans), spans, pairs=False)

    def _mask_whole(self, body: bytes) -> _Previous:
        spans = self._scan(body)
        return _Previous(body, 0, 0, _apply(body, spans), spans, has_tag(body, _PAIRS))


@lru_cache(maxsize=16)
def _scanner(field_names: tuple[str, ...], patterns: tuple[str, ...]) -> Scanner:
    """Return the scanner of these names and patterns. All sessions share it, and what it has cached."""
    return Scanner(SecretNames(field_names), patterns)


def _userinfo(text: str) -> str:
    user, colon, _ = text.partition(":")
    return f"{user}:{MASK}" if colon else MASK


def _apply(body: bytes, spans: list[Span]) -> bytes:
    return apply(body.decode("latin-1"), spans).encode("latin-1") if spans else body


def _inside_string(text: bytes) -> bool:
    """Return whether text that starts outside a string ends inside one. Counting quotes is fast, as it is done in C."""
    if b"\\" in text:
        text = text.replace(b"\\\\", b"")
        return (text.count(b'"') - text.count(b'\\"')) % 2 == 1
    return text.count(b'"') % 2 == 1


def _inside_mask(spans: list[Span], at: int) -> Span | None:
    """Return the span that a position is inside of; None if it is in none."""
    position = bisect_left(spans, at, key=lambda span: span.start) - 1
    if position >= 0 and spans[position].start < at < spans[position].end:
        return spans[position]
    return None


def _safe_prefix(previous: _Previous, body: bytes) -> int:
    """Return how many bytes at the start can be copied from the previous body.

    They end at a comma between two objects of an array, outside of strings and masked values. There the scan has no state:
    no key waits for its value.
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
    """Return where the end starts that can be copied from the previous body.

    Args:
        previous: the previous body.
        body: the new one.
        start: the end of what can be copied at the start.

    Returns:
        The positions in the new body and in the previous one; their lengths if nothing can be copied.
    """
    raw, tail = previous.raw, previous.tail
    shared = previous.shared_suffix(body, min(len(raw), len(body)) - start)
    # The place of the last cut can usually be used again.
    at = len(body) - (tail + 2 if 0 < tail <= shared else shared)
    for _ in range(_MAX_TRIES):
        match = _BETWEEN.search(body, max(at, start))
        if match is None:
            break
        at = match.end()
        old = at - len(body) + len(raw)
        inside = _inside_mask(previous.spans, old)
        if inside is not None:
            at += inside.end - old
        elif not _inside_string(body[start:at]) and not _inside_string(raw[start:old]):
            return at, old
    return len(body), len(raw)
