"""Look up the hash seed of the trace that is to be replayed, before most of our modules are imported.

Python is started anew with that seed, and imports them then. This module handles the plain cases and refuses nothing. In all
others the replay reads the whole trace and starts Python anew a little later.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_SEED = b'"hash_seed":"'
"""In a header, which is JSON: within a string its quotes would stand behind backslashes."""

_FIRST_LINE = 1 << 16


def seed_of(words: Sequence[str]) -> str:
    """Return the hash seed for the words after `replay`; empty where there is none, or where the case isn't plain."""
    if not words or words[0].startswith("-"):
        return ""
    try:
        header = _first_line(words[0]) if words[0].endswith(".jsonl") else _stored(words[0], words[1:])
    except Exception:  # whatever is wrong, the replay says it best
        return ""
    _, found, rest = header.partition(_SEED)
    seed = rest.partition(b'"')[0].decode()
    return seed if found and _SEED not in rest and seed.isdecimal() else ""


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
    # Read-write, as who reads a store does: only such a connection tidies the WAL away when it closes.
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
    """Return the value of an option of ours, with `=` or as the next word; the last one counts."""
    value = ""
    for at, word in enumerate(words):
        if word == "--":
            break
        if word == option and at + 1 < len(words):
            value = words[at + 1]
        elif word.startswith(f"{option}="):
            value = word.removeprefix(f"{option}=")
    return value
