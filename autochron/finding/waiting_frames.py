"""Find the frames that wait for a model call: its callers, and those that handed it to a task or a thread of their own.

Many frameworks make a model call in a task or a thread of their own. What the program gave them is then a variable of a
coroutine that waits, or of a thread that does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import CoroutineType, FrameType
from typing import Any

from autochron._runtime import unpatched

_MOST_TASKS = 256
"""Tasks and threads that are searched at most. A server may have many, and few of them wait for this call."""


def frames_from(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame and its callers from the inside out, then the frames of tasks of this loop, and of other threads."""
    yield from callers_of(frame)
    for coroutine in _coroutines():
        yield from _inward(coroutine)
    this = unpatched.get_ident()
    threads = list(sys._current_frames().items())  # noqa: SLF001 - the only way to see what other threads do
    for ident, other in threads[:_MOST_TASKS]:
        if ident != this:
            yield from callers_of(other)


def callers_of(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame and its callers from the inside out."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def _coroutines() -> list[Any]:
    """Return the coroutines of the tasks in the event loop that runs in this thread.

    Not by `asyncio.all_tasks`, which asks tasks of the program's own classes.
    """
    asyncio = sys.modules.get("asyncio")
    loop = None if asyncio is None else asyncio._get_running_loop()  # noqa: SLF001 - the public form raises
    if asyncio is None or loop is None:
        return []
    known = getattr(asyncio.tasks, "_scheduled_tasks", None)  # Python 3.12
    known = getattr(asyncio.tasks, "_all_tasks", None) if known is None else known
    kind = asyncio.Task
    tasks = [reference() for reference in list(getattr(known, "data", ()))]
    if (
        sys.version_info >= (3, 14) and not tasks
    ):  # these are in a list of C code, which asks only other tasks
        tasks = list(asyncio.tasks._c_all_tasks(loop))  # type: ignore[attr-defined]  # noqa: SLF001 - as above
    waiting = [task for task in tasks if type(task) is kind and kind.get_loop(task) is loop]
    return [kind.get_coro(task) for task in waiting[:_MOST_TASKS]]


def _inward(coroutine: Any) -> Iterator[FrameType]:
    """Yield the frame of a coroutine and those of the coroutines that it waits for."""
    while type(coroutine) is CoroutineType:
        if coroutine.cr_frame is not None:
            yield coroutine.cr_frame
        coroutine = coroutine.cr_await
