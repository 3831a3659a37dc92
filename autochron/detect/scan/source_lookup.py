"""Look up which source a dotted name stands for, or which library call that reaches one.

What is known of a library is in a table of its own, `tables/LIBRARY.toml`, in the form of a `[[source]]` of a rule file. A
table is read when a name of its library is first met.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache

import msgspec
from msgspec import Struct

from autochron._runtime.unpatched import os
from autochron.detect.catalogue import BY_NAME, COLLECTED, Argument, Source
from autochron.detect.scan.libraries import ENVIRONMENT, OPENING, READS
from autochron.detect.scan.library_call import LibraryCall
from autochron.model import SourceRule

TABLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tables")
_KEYWORD_ONLY = 99
"""The position of an argument that no call passes without its keyword."""


class LibraryTable(Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of one library."""

    source: list[SourceRule]


class SourceLookup:
    """The sources that are known: those of the catalogue, of the tables of libraries, and of a project's rules."""

    def __init__(self, rules: Iterable[SourceRule] = ()) -> None:
        """Take the `[[source]]` tables of a project."""
        rules = tuple(rules)
        self._own = calls_of(rules)
        self.opening = OPENING | {call for rule in rules if rule.opens for call in rule.calls}
        """The calls whose result is read later."""
        self.digest = hashlib.sha256(msgspec.json.encode(rules)).digest() if rules else b""
        """Differs between lookups that may find something else; empty for one without rules of a project."""

    def find(self, name: str) -> Source | LibraryCall | None:
        """Return the source that a dotted name stands for, or the library call that reaches one; None if it is neither."""
        if name in COLLECTED:
            return None  # their use decides: see `set_order`
        base, _, last = name.rpartition(".")
        every = f"{base}.*"
        if self._own:
            own = self._own.get(name) or self._own.get(every)
            if own is not None:
                return own
        source = BY_NAME.get(name.removeprefix("builtins."))
        if source is not None and name != ENVIRONMENT:
            return source
        if base == ENVIRONMENT and last in READS:
            return BY_NAME[ENVIRONMENT]
        if not base:
            return None
        table = table_of(name.partition(".")[0])
        return table.get(name) or table.get(every)


def calls_of(rules: Iterable[SourceRule]) -> dict[str, Source | LibraryCall]:
    """Return what `[[source]]` tables know, by dotted name."""
    return {call: _known(rule, call) for rule in rules for call in rule.calls}


def _known(rule: SourceRule, call: str) -> Source | LibraryCall:
    determined_by = _argument(rule.determined_by, rule.position)
    if rule.reaches is None and not (rule.only_with or call.endswith(".*")):
        return Source(call, rule.category, determined_by=determined_by, harmless=rule.harmless)
    return LibraryCall(
        rule.category,
        rule.reaches or call.removesuffix(".*"),
        determined_by,
        only_with=_argument(rule.only_with, rule.only_with_position),
        if_keyword=rule.if_keyword,
        if_text=rule.if_text,
        if_attribute=rule.if_attribute,
        if_call=rule.if_call,
        if_concurrent=rule.if_concurrent,
        unless_call=rule.unless_call,
        harmless=rule.harmless,
        only_of=rule.only_of,
        unless_of=rule.unless_of,
    )


def _argument(name: str | None, position: int | None) -> Argument | None:
    if name is None and position is None:
        return None
    return Argument(_KEYWORD_ONLY if position is None else position, name)


@lru_cache(maxsize=1)
def libraries() -> frozenset[str]:
    """Return the names of the libraries that have a table, by their top-level module."""
    return frozenset(name.removesuffix(".toml") for name in os.listdir(TABLES) if name.endswith(".toml"))


@lru_cache(maxsize=256)
def table_of(library: str) -> Mapping[str, Source | LibraryCall]:
    """Return what the table of a library has, by dotted name; nothing where there is none."""
    return calls_of(read_table(library)) if library in libraries() else {}


def read_table(library: str) -> list[SourceRule]:
    """Read the table of a library."""
    import tomli  # lazy: a module that uses no such library needs none

    with open(os.path.join(TABLES, f"{library}.toml"), encoding="utf-8") as file:
        return msgspec.convert(tomli.loads(file.read()), LibraryTable).source


def is_class(name: str) -> bool:
    """Return whether a name is that of a class, by the convention of a capital letter."""
    return name.rpartition(".")[2][:1].isupper()
