"""The digest of rules. It does not depend on comments, and not on the order of keys in a file."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import msgspec

from autochron.model import AmbientRule, BoundaryRule, Place, RedactRule, Rules

# Not hashlib: it loads OpenSSL, which takes 3 ms at the start of every run. `random` imports these modules as well.
if sys.version_info >= (3, 12):
    from _sha2 import sha256  # type: ignore[import-not-found,unused-ignore]  # typeshed has no stub for it
else:
    from _sha256 import sha256  # type: ignore[import-not-found,unused-ignore]

_VERSION = "rules-1"

_UNRECORDED = ("telemetry =", "declared =", "results =", "forced =")
"""How the lines of a pack begin that do not count."""


def digest(rules: Rules, packs: Iterable[tuple[str, str]]) -> str:
    """Return the SHA-256 of rules, in hex.

    Args:
        rules: the rules; their packs do not count.
        packs: (name, digest of its text) of the packs that may apply.
    """
    content = (
        _VERSION,
        [_without_place(rule) for rule in rules.boundaries],
        [str(rule.target) for rule in rules.traces],
        [(rule.call, rule.category, rule.site, rule.hash) for rule in rules.ignores],
        rules.project,
        rules.auto,
        sorted(rules.disable),
        sorted(packs),
        # Only if there are any, so that the digest of rules without them is that of earlier versions.
        *(
            [(sorted(rules.ambient), [_ambient_fields(rule) for rule in rules.ambients])]
            if rules.ambient or rules.ambients
            else ()
        ),
        *(
            [("source", [msgspec.structs.replace(rule, place=Place("", 0)) for rule in rules.sources])]
            if rules.sources
            else ()
        ),
        *(
            [("redact", sorted(rules.redact.patterns), sorted(rules.redact.names))]
            if rules.redact != RedactRule()
            else ()
        ),
    )
    rules_digest: str = sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()
    return rules_digest


def digest_text(text: str) -> str:
    """Return the SHA-256 of a pack's lines without blank lines and comments, in hex.

    The lines `telemetry = …`, `declared = …`, `results = …` and `forced = …` do not count, because they change nothing that a
    rule records.
    Not the digest of parsed rules: a pack that waits for its library is not parsed.
    """
    lines = [
        line
        for raw in text.splitlines()
        if (line := raw.strip()) and line[0] != "#" and not line.startswith(_UNRECORDED)
    ]
    text_digest: str = sha256("\n".join(lines).encode()).hexdigest()
    return text_digest


def _ambient_fields(rule: AmbientRule) -> tuple[str | None, ...]:
    return rule.call, rule.site, rule.hash, rule.name


def _without_place(rule: BoundaryRule) -> BoundaryRule:
    """Return a rule without its place and its id, which is a place as well in a project's file."""
    return msgspec.structs.replace(rule, id="", place=Place("", 0), when=tuple(sorted(rule.when)))
