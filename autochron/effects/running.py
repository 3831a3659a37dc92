"""Threads and tasks of a program that are at work, by which a tool may go on after it has ended."""

from __future__ import annotations

import re
import sys
import threading
from typing import Any


def at_work() -> dict[int, str]:
    """Return the threads and tasks besides the current ones, by id, each with a name that is the same in each run.

    Left out are the workers of pools, which wait for work, and threads of our own.
    """
    found: dict[int, str] = {}
    current = threading.current_thread()
    for thread in threading.enumerate():
        if thread is not current and not _is_worker(thread):
            found[id(thread)] = f"the thread {_named(thread)}"
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return found
    try:
        now = asyncio.current_task()
    except RuntimeError:  # no loop runs here
        return found
    for task in asyncio.all_tasks():
        if task is not now:
            name = getattr(task.get_coro(), "__qualname__", type(task).__name__)
            found[id(task)] = f"the task {name}"
    return found


def _is_worker(thread: threading.Thread) -> bool:
    pools = sys.modules.get("concurrent.futures.thread")
    workers = getattr(pools, "_threads_queues", ())
    return thread in workers or str(getattr(_target(thread), "__module__", "")).startswith("autochron.")


def _target(thread: threading.Thread) -> Any:
    return getattr(thread, "_target", None)


def _named(thread: threading.Thread) -> str:
    """Return what a thread runs, else its name without the number."""
    name = getattr(_target(thread), "__qualname__", None) or getattr(thread, "function", None)
    return str(getattr(name, "__qualname__", name) or re.sub(r"\d+", "", thread.name))
