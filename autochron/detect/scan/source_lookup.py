"""Look up which source a dotted name stands for, or which library call that reaches one."""

from __future__ import annotations

from autochron.detect.catalogue import BY_NAME, COLLECTED, Source
from autochron.detect.scan.libraries import ENVIRONMENT, LIBRARY_CALLS, READS
from autochron.detect.scan.library_call import LibraryCall


def source_of(name: str) -> Source | LibraryCall | None:
    """Return the source that a dotted name stands for, or the library call that reaches one; None if it is neither."""
    if name in COLLECTED:
        return None  # their use decides: see `set_order`
    bare = name.removeprefix("builtins.")
    source: Source | LibraryCall | None = BY_NAME.get(bare) or LIBRARY_CALLS.get(name)
    if source is not None and name != ENVIRONMENT:
        return source
    base, _, last = name.rpartition(".")
    if base == ENVIRONMENT and last in READS:
        return BY_NAME[ENVIRONMENT]
    return LIBRARY_CALLS.get(f"{base}.*") if base else None


def is_class(name: str) -> bool:
    """Return whether a name is that of a class, by the convention of a capital letter."""
    last = name.rpartition(".")[2]
    return last[:1].isupper()
