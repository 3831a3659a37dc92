"""Find the trace that a user's reference means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from autochron.errors import TraceNotFoundError

Entry: TypeAlias = tuple[str, str | None, str]
"""(id, name, created) of a trace."""

SHOWN = 8
"""Traces that a message lists at most."""


def find(reference: str, entries: Sequence[Entry], place: str) -> str:
    """Return the id of the trace that `reference` means.

    A reference is, in this order: `last`, an id, the beginning of exactly one id, or a name (its latest trace).

    Args:
        reference: what the user wrote.
        entries: the traces, oldest first.
        place: the store, for messages.

    Raises:
        TraceNotFoundError: the reference means no trace, or several.
    """
    if not entries:
        raise TraceNotFoundError(f"{place} holds no trace; record one with `autochron run`")
    if reference == "last":
        return entries[-1][0]
    prefix = reference.upper()
    candidates = [entry for entry in entries if prefix and entry[0].upper().startswith(prefix)]
    for entry in candidates:
        if entry[0].upper() == prefix:
            return entry[0]
    if len(candidates) == 1:
        return candidates[0][0]
    for entry in reversed(entries):
        if entry[1] == reference:
            return entry[0]
    if candidates:
        raise TraceNotFoundError(
            f"{reference} begins {len(candidates)} ids in {place}: {_format_entries(candidates)}; give more of the id"
        )
    raise TraceNotFoundError(_not_found_message(reference, entries, place))


def _not_found_message(reference: str, entries: Sequence[Entry], place: str) -> str:
    import difflib

    known = {"last": None} | {name: None for _, name, _ in reversed(entries) if name}
    known |= {entry[0]: None for entry in entries}
    near = difflib.get_close_matches(reference, list(known), n=3, cutoff=0.5)
    hint = (
        f"did you mean {' or '.join(near)}?"
        if near
        else f"the latest are {_format_entries(entries[-SHOWN:])}"
    )
    return f"{place} holds no trace {reference}; {hint}"


def _format_entries(entries: Sequence[Entry]) -> str:
    shown = [f"{number} ({name or 'unnamed'}, {created})" for number, name, created in entries[-SHOWN:]]
    more = len(entries) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
