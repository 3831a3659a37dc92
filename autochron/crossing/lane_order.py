"""The order of crossings across lanes: which lane waits for which thread, task or result of a pool."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterator
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from autochron._runtime import unpatched
from autochron._runtime.bare import identity
from autochron.crossing.lanes import CURRENT, LaneRoot

Current: TypeAlias = Callable[[], Any]
"""Returns the innermost open crossing, or the lane's root."""

LANES_OF: WeakKeyDictionary[Any, LaneRoot] = WeakKeyDictionary()
"""The lanes of threads, of tasks, and of futures of pools."""

GIVEN_TO: WeakKeyDictionary[Any, deque[LaneRoot]] = WeakKeyDictionary()
"""The lanes of the calls that a pool was given last."""

LAST_OF: WeakKeyDictionary[Any, LaneRoot] = WeakKeyDictionary()
"""The lane of the last call that a pool with one worker was given."""


def own_lane(current_of: Current | None) -> LaneRoot | None:
    """Return the lane of the running code; None in a pause, in a pool's own code, and where no lane is known yet."""
    current = CURRENT.get(None)
    if current_of is None or (current is not None and current.root.kernel is None):
        return None
    if current is None and unpatched.get_ident() != unpatched.main_thread().ident:
        return None  # `current_of` would begin a lane, and such lanes would be numbered by which thread came first
    root: LaneRoot = current_of().root
    return root


def note_waited(current_of: Current | None, awaited: Any) -> None:
    """Note that the running lane waited for a thread or for a pool's result: its next crossing comes after theirs.

    Args:
        current_of: returns what is current; None while no handler is in force.
        awaited: the thread or the future.
    """
    root = LANES_OF.get(awaited)
    own = None if root is None else own_lane(current_of)
    if root is not None and own is not None and root.kernel is own.kernel:
        own.add_causes(root.latest())


def note_waiting(root: LaneRoot) -> None:
    """Note which tasks wait for the task of a lane: their next crossings come after its own."""
    task = root.task()
    for waiter in () if task is None else _waiting_for(task):
        waiting_root = LANES_OF.get(waiter)
        if waiting_root is not None and waiting_root is not root and root not in waiting_root.awaited:
            waiting_root.awaited[root] = None
            waiting_root.is_ordered = True


def _waiting_for(task: Any) -> Iterator[Any]:
    """Yield the tasks that wait for an asyncio task: by `await`, through `gather`, `wait`, a time limit or a group."""
    seen, waiting = {identity(task)}, [task]
    while waiting and len(seen) < _MOST_WAITING:
        for entry in getattr(waiting.pop(), "_callbacks", None) or ():
            for waiter in _waiters(entry[0]):
                if identity(waiter) not in seen:
                    seen.add(identity(waiter))
                    waiting.append(waiter)
                    if hasattr(type(waiter), "get_coro"):
                        yield waiter


def _waiters(callback: Any) -> Iterator[Any]:
    """Yield the tasks and futures that a future's callback wakes when the future is done."""
    kind = type(callback)
    if kind is FunctionType:  # of gather, wait and shield
        for cell in callback.__closure__ or ():
            if _is_filled(cell) and _is_future(cell.cell_contents):
                yield cell.cell_contents
    elif kind is functools.partial:  # of `wait_for`
        yield from filter(_is_future, callback.args)
    elif kind in _BOUND:
        owner = callback.__self__
        if _is_future(owner):  # the wake-up method of a task that awaits the future
            yield owner
        elif type(owner).__module__ == "asyncio.taskgroups":
            yield owner._parent_task  # noqa: SLF001 - the task that waits for the group


_BOUND = (MethodType, BuiltinMethodType)


def _is_future(value: Any) -> bool:
    """Return whether a value is an asyncio future, by its type alone: asking the object may run the program's code."""
    return hasattr(type(value), "_asyncio_future_blocking")


_MOST_WAITING = 100
"""How many futures are followed from one task to those that wait for it."""


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
