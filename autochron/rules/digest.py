"""The digest of rules: the same for files that mean the same, whatever their comments and order of keys."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import msgspec

from autochron.model import AmbientRule, BoundaryRule, Place, RedactRule, Rules

# Not hashlib: it loads OpenSSL, 3 ms at the start of every run. `random` does the same.
if sys.version_info >= (3, 12):
    from _sha2 import sha256  # type: ignore[import-not-found,unused-ignore]  # typeshed has no stub for it
else:
    from _sha256 import sha256  # type: ignore[import-not-found,unused-ignore]

_VERSION = "rules-1"


def digest(rules: Rules, packs: Iterable[tuple[str, str]]) -> str:
    """Return SHA-256 in hex over what the rules say; `packs` are the (name, digest of its text) in question."""
    said = (
        _VERSION,
        [_said(rule) for rule in rules.boundaries],
        [str(rule.target) for rule in rules.traces],
        [(rule.call, rule.category, rule.site, rule.hash) for rule in rules.ignores],
        rules.project,
        rules.auto,
        sorted(rules.disable),
        sorted(packs),
        # Only where there are any, so that the digest of rules without them is what it always was.
        *(
            [(sorted(rules.ambient), [_asked(rule) for rule in rules.ambients])]
            if rules.ambient or rules.ambients
            else ()
        ),
        *(
            [("redact", sorted(rules.redact.patterns), sorted(rules.redact.names))]
            if rules.redact != RedactRule()
            else ()
        ),
    )
    rules_digest: str = sha256(msgspec.json.encode(said, order="deterministic")).hexdigest()
    return rules_digest


def digest_text(text: str) -> str:
    """Return SHA-256 in hex over the lines of a pack that are neither blank nor comments.

    Without what names senders of telemetry, which changes nothing that is recorded. Not over its parsed rules: a pack that
    waits for its library is not parsed.
    """
    lines = [
        line
        for each in text.splitlines()
        if (line := each.strip()) and line[0] != "#" and not line.startswith("telemetry =")
    ]
    text_digest: str = sha256("\n".join(lines).encode()).hexdigest()
    return text_digest


def _asked(rule: AmbientRule) -> tuple[str | None, ...]:
    return rule.call, rule.site, rule.hash, rule.name


def _said(rule: BoundaryRule) -> BoundaryRule:
    """Blank out where a rule stands; a project's ids are places too."""
    return msgspec.structs.replace(rule, id="", place=Place("", 0), when=tuple(sorted(rule.when)))
