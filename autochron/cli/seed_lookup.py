"""Look up the hash seed of the trace that is to be replayed, before most of our modules are imported.

So Python can start anew with that seed early, and imports the modules once. This module handles the common cases and raises
nothing. In all others the replay opens the trace and starts Python anew a little later.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_SEED = b'"hash_seed":"'
"""The field in a header, which is JSON. Inside a string its quotes would be escaped, so it can't be found there."""

_FIRST_LINE = 1 << 16
"""The most bytes of a trace file that are read."""


def seed_of(words: Sequence[str]) -> str:
    """Return the hash seed of the trace that is the first word after `replay`; empty where it can't be told at once."""
    if not words or words[0].startswith("-"):
        return ""
    try:
        header = _first_line(words[0]) if words[0].endswith(".jsonl") else _stored(words[0], words[1:])
    except Exception:  # whatever is wrong, the replay reports it better
        return ""
    _, field, rest = header.partition(_SEED)
    seed = rest.partition(b'"')[0].decode()
    return seed if field and _SEED not in rest and seed.isdecimal() else ""


def _first_line(file: str) -> bytes:
    with open(file, "rb") as trace:
        return trace.readline(_FIRST_LINE)


def _stored(reference: str, words: Sequence[str]) -> bytes:
    import sqlite3  # lazy: not for a file

    from autochron.config import default_store, find_rule_file
    from autochron.store.lookup import find

    store = _value_of("--store", words)
    if not store:
        store = default_store(_value_of("--rules", words) or find_rule_file(os.getcwd()))
    path = os.path.abspath(store.removeprefix("sqlite:///"))
    # Read-write, as the store itself is opened: only such a connection removes the WAL file when it closes.
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(f"file:{quoted}?mode=rw", uri=True)
    try:
        entries = connection.execute(
            "SELECT id, name, created FROM trace ORDER BY created, number"
        ).fetchall()
        number = find(reference, entries, path)
        (header,) = connection.execute("SELECT header FROM trace WHERE id = ?", (number,)).fetchone()
    finally:
        connection.close()
    text: str = header
    return text.encode()


def _value_of(option: str, words: Sequence[str]) -> str:
    """Return the value of one of our options, after `=` or as the next word: the last one, or an empty string."""
    value = ""
    for at, word in enumerate(words):
        if word == "--":
            break
        if word == option and at + 1 < len(words):
            value = words[at + 1]
        elif word.startswith(f"{option}="):
            value = word.removeprefix(f"{option}=")
    return value
