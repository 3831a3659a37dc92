"""Store traces in SQLite, in memory, or in trace files, which people can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autochron.errors import StoreError, UsageError

if TYPE_CHECKING:
    from autochron.ports import Store
    from autochron.store.database import Durability
    from autochron.store.detached import Work
    from autochron.store.memory import MemoryStore

__all__ = ["open_store", "process_of", "read_durability"]

DURABILITIES: tuple[Durability, ...] = ("group", "sync")

SQLITE = "sqlite:///"
MEMORY = "memory:"
TRACE_FILE = ".jsonl"

_memories: dict[str, MemoryStore] = {}


def open_store(
    url: str,
    *,
    durability: Durability = "group",
    look: bool = True,
) -> Store:
    """Open a store.

    Args:
        url: `sqlite:///PATH` or a path; `memory:`, the one store of this process, or `memory:NAME`, another one; or the path
            of an exported trace file (`*.jsonl`), which is read-only. A SQLite store is created when its first trace begins.
        durability: when a commit of a SQLite store returns: with "group", it survives the end of the process; with "sync",
            also a loss of power.
        look: check now whether the file is a store. Otherwise the check comes with the first use, which is soon enough if a
            trace is begun right away.

    Raises:
        StoreError: the URL has another form, or the file is no store.
        UsageError: there is no such durability.
    """
    read_durability(durability)
    # Lazy imports: importing sqlite3 takes longer than the rest of a short run.
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


def read_durability(value: Any) -> Durability:
    """Return a value as a durability. A misspelt one must not mean the weaker of them.

    Raises:
        UsageError: there is no such durability.
    """
    for durability in DURABILITIES:
        if value == durability:
            return durability
    raise UsageError(f"durability={value!r}: it is one of {', '.join(DURABILITIES)}")


def process_of(store: Store) -> tuple[Work, ...]:
    """Return the store process of a store, ready to be started (see `SqliteStore.detach`); other stores have none."""
    detach = getattr(store, "detach", None)
    return () if detach is None else detach()
