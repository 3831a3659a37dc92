"""The sources that a project's rules name, beside those of the catalogue."""

from __future__ import annotations

from autochron.detect.catalogue import BY_NAME, SOURCES, Argument, Source
from autochron.model import Rules


def sources_of(rules: Rules) -> tuple[Source, ...]:
    """Return the sources that `[[source]]` tables name one by one, with the place where each is patched."""
    return tuple(
        Source(
            call,
            rule.category,
            places=(_place(call),),
            determined_by=None
            if rule.determined_by is None
            else Argument(-1 if rule.position is None else rule.position, rule.determined_by),
        )
        for rule in rules.sources
        for call in rule.calls
        if not call.endswith(".*") and rule.only_with is None and not rule.harmless
    )


def all_sources(rules: Rules) -> tuple[Source, ...]:
    """Return the sources of the catalogue and those of a project's rules."""
    return (*SOURCES, *sources_of(rules)) if rules.sources else SOURCES


def named_sources(rules: Rules) -> dict[str, Source]:
    """Return the same sources by each of their dotted names."""
    return {**BY_NAME, **{source.call: source for source in sources_of(rules)}} if rules.sources else BY_NAME


def _place(call: str) -> str:
    """Return the place of a dotted name as `module:qualname`: the module ends before a class, else before the last name."""
    parts = call.split(".")
    first = next((index for index, part in enumerate(parts) if index and part[:1].isupper()), len(parts) - 1)
    return f"{'.'.join(parts[:first])}:{'.'.join(parts[first:])}"
