"""List the running threads and tasks of a program, in which a tool may go on after its call has ended."""

from __future__ import annotations

import re
import sys
import threading
from typing import Any


def at_work() -> dict[int, str]:
    """Return the names of the running threads and tasks by `id()`, without the current ones.

    A name is the same in every run. Workers of thread pools, which outlive the work, and our own threads are left out.
    """
    names: dict[int, str] = {}
    current = threading.current_thread()
    for thread in threading.enumerate():
        if thread is not current and not _is_worker(thread):
            names[id(thread)] = f"the thread {_named(thread)}"
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return names
    try:
        current_task = asyncio.current_task()
    except RuntimeError:  # no loop runs here
        return names
    for task in asyncio.all_tasks():
        if task is not current_task:
            name = getattr(task.get_coro(), "__qualname__", type(task).__name__)
            names[id(task)] = f"the task {name}"
    return names


def _is_worker(thread: threading.Thread) -> bool:
    pools = sys.modules.get("concurrent.futures.thread")
    workers = getattr(pools, "_threads_queues", ())
    return (
        thread in workers
        or type(thread).__module__.startswith("anyio.")
        or str(getattr(_target(thread), "__module__", "")).startswith("autochron.")
    )


def _target(thread: threading.Thread) -> Any:
    return getattr(thread, "_target", None)


def _named(thread: threading.Thread) -> str:
    """Return the qualified name of the function that a thread runs, or the thread's name without digits."""
    name = getattr(_target(thread), "__qualname__", None) or getattr(thread, "function", None)
    return str(getattr(name, "__qualname__", name) or re.sub(r"\d+", "", thread.name))
