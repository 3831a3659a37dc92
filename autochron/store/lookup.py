"""Find which trace a person means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from autochron.errors import TraceNotFoundError

Entry: TypeAlias = tuple[str, str | None, str]
"""(id, name, created) of a trace."""

SHOWN = 8


def find(reference: str, entries: Sequence[Entry], place: str) -> str:
    """Return the id that `reference` means among traces that are listed oldest first.

    In this order: `last`, an id, the beginning of exactly one id, a name (the latest trace of that name).
    """
    if not entries:
        raise TraceNotFoundError(f"{place} holds no trace; record one with `autochron run`")
    if reference == "last":
        return entries[-1][0]
    prefix = reference.upper()
    begun = [entry for entry in entries if prefix and entry[0].upper().startswith(prefix)]
    for entry in begun:
        if entry[0].upper() == prefix:
            return entry[0]
    if len(begun) == 1:
        return begun[0][0]
    for entry in reversed(entries):
        if entry[1] == reference:
            return entry[0]
    if begun:
        raise TraceNotFoundError(
            f"{reference} begins {len(begun)} ids in {place}: {_listed(begun)}; give more of the id"
        )
    raise TraceNotFoundError(_nothing(reference, entries, place))


def _nothing(reference: str, entries: Sequence[Entry], place: str) -> str:
    import difflib

    known = {name: None for _, name, _ in reversed(entries) if name} | {entry[0]: None for entry in entries}
    near = difflib.get_close_matches(reference, list(known), n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"the latest are {_listed(entries[-SHOWN:])}"
    return f"{place} holds no trace {reference}; {hint}"


def _listed(entries: Sequence[Entry]) -> str:
    shown = [f"{number} ({name or 'unnamed'}, {created})" for number, name, created in entries[-SHOWN:]]
    more = len(entries) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
