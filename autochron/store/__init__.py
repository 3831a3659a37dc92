"""Keep traces: in SQLite, in memory, or in a file that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from autochron.errors import StoreError

if TYPE_CHECKING:
    from autochron.ports import Store
    from autochron.store.detached import Work
    from autochron.store.memory import MemoryStore

__all__ = ["open_store", "process_of"]

SQLITE = "sqlite:///"
MEMORY = "memory:"
TRACE_FILE = ".jsonl"

_memories: dict[str, MemoryStore] = {}


def open_store(
    url: str,
    *,
    durability: Literal["group", "sync"] = "group",
    look: bool = True,
) -> Store:
    """Open `sqlite:///path`, a path, `memory:` or an exported trace file (`*.jsonl`, to read only).

    A SQLite store is made at its first `begin`. `memory:` is one store a process, `memory:NAME` another. With
    `durability="sync"` a commit of a SQLite store outlives a loss of power and not just one of the process. Whether what is
    there is a store is seen at once, or without `look` when it is first used: soon, where a trace is begun right away.
    """
    # The imports are lazy: sqlite3 takes longer to import than the rest of a short run takes.
    if url.startswith(MEMORY):
        from autochron.store.memory import MemoryStore

        return _memories.setdefault(url, MemoryStore())
    path = url.removeprefix(SQLITE)
    if "://" in path or not path:
        raise StoreError(f"{url!r} is no store that autochron knows; give a path, sqlite:///PATH or memory:")
    if path.endswith(TRACE_FILE):
        from autochron.store.tracefile import TraceFileStore

        return TraceFileStore(path)
    from autochron.store.sqlite import SqliteStore

    return SqliteStore(path, durability=durability, look=look)


def process_of(store: Store) -> tuple[Work, ...]:
    """Return the process that writes for a store, to be started; see `SqliteStore.detach`. Other stores have none."""
    detach = getattr(store, "detach", None)
    return () if detach is None else detach()
