"""In which order crossings of different lanes had to begin: who waits for which thread, task or result of a pool."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterator
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from autochron._runtime import unpatched
from autochron._runtime.bare import identity
from autochron.crossing.lanes import CURRENT, Root

Current: TypeAlias = Callable[[], Any]
"""Returns the current crossing, or the ground of its lane."""

LANES_OF: WeakKeyDictionary[Any, Root] = WeakKeyDictionary()
"""The lanes of threads, of tasks, and of what pools were given."""

GIVEN_TO: WeakKeyDictionary[Any, deque[Root]] = WeakKeyDictionary()
"""The lanes of what a pool was given last."""

LAST_OF: WeakKeyDictionary[Any, Root] = WeakKeyDictionary()
"""The lane of what a pool with one worker was given last."""


def own_lane(current_of: Current | None) -> Root | None:
    """Return the lane of what runs now; None in a pause, in what a pool does for itself, and where no lane is known yet."""
    current = CURRENT.get(None)
    if current_of is None or (current is not None and current.root.kernel is None):
        return None
    if current is None and unpatched.get_ident() != unpatched.main_thread().ident:
        return None  # to ask would give the thread a lane, and others their numbers by who was first
    root: Root = current_of().root
    return root


def note_waited(current_of: Current | None, awaited: Any) -> None:
    """Note that what runs now waited for a thread or for a result of a pool: its next crossing comes after those of it."""
    root = LANES_OF.get(awaited)
    own = None if root is None else own_lane(current_of)
    if root is not None and own is not None and root.kernel is own.kernel:
        own.add_causes(root.latest())


def note_waiting(root: Root) -> None:
    """Note which tasks wait for the one of a lane: their next crossings come after those of it."""
    task = root.task()
    for each in () if task is None else _waiting_for(task):
        other = LANES_OF.get(each)
        if other is not None and other is not root and root not in other.awaited:
            other.awaited[root] = None
            other.is_ordered = True


def _waiting_for(task: Any) -> Iterator[Any]:
    """Yield the tasks of asyncio that wait for one: by `await`, or through `gather`, `wait`, a time limit or a group."""
    seen, waiting = {identity(task)}, [task]
    while waiting and len(seen) < _MOST_WAITING:
        for entry in getattr(waiting.pop(), "_callbacks", None) or ():
            for each in _told(entry[0]):
                if identity(each) not in seen:
                    seen.add(identity(each))
                    waiting.append(each)
                    if hasattr(type(each), "get_coro"):
                        yield each


def _told(callback: Any) -> Iterator[Any]:
    """Yield the tasks and futures that a callback of a future tells of its end."""
    kind = type(callback)
    if kind is FunctionType:  # of gather, wait and shield
        for cell in callback.__closure__ or ():
            if _is_filled(cell) and _is_future(cell.cell_contents):
                yield cell.cell_contents
    elif kind is functools.partial:  # of a time limit
        yield from filter(_is_future, callback.args)
    elif kind in _BOUND:
        owner = callback.__self__
        if _is_future(owner):  # it is woken up by what it awaits
            yield owner
        elif type(owner).__module__ == "asyncio.taskgroups":
            yield owner._parent_task  # noqa: SLF001 - the one that waits for its group


_BOUND = (MethodType, BuiltinMethodType)


def _is_future(value: Any) -> bool:
    """Return whether this is one of asyncio's, by its type: an object of the program's may do anything when it is asked."""
    return hasattr(type(value), "_asyncio_future_blocking")


_MOST_WAITING = 100
"""Futures between two tasks that are looked at."""


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
