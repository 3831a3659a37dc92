"""Hooks that carry lanes into threads, pools, tasks and through queues, and note who waits for whom.

They stand on `Thread.start`, `ThreadPoolExecutor.submit`, the event loop's `create_task` and a few more as long as weaving
does, and pass everything on as it is while no handler is in force.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary, WeakSet, ref

from autochron._runtime import unpatched
from autochron.crossing.lane_order import GIVEN_TO, LANES_OF, LAST_OF, Current, note_waited, own_lane
from autochron.crossing.lanes import (
    CURRENT,
    HELD,
    MOST_CAUSES,
    QUIET,
    Root,
    is_context_run,
    label_of,
    spawn,
)


class _InLane:
    """A callable that runs in a lane."""

    __slots__ = ("_before", "_function", "_root")

    def __init__(self, function: Callable[..., Any], root: Root, before: Root | None = None) -> None:
        self._function = function
        self._root = root
        self._before = before
        """The lane of what the only worker of a pool did before it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._before is not None:
            self._root.add_causes(self._before.latest())
            self._before = None
        token = CURRENT.set(self._root)
        held, HELD.root = HELD.root, self._root
        try:
            return self._function(*args, **kwargs)
        finally:
            HELD.root = held
            CURRENT.reset(token)


_ROOT_ATTRIBUTE = "_autochron_root"

_in_force: list[Callable[[], Any] | None] = [None]
"""What gives the current crossing or root; None while no handler is in force."""


def carry(current: Callable[[], Any] | None) -> None:
    """Have lanes carried on from what `current` gives, where hooks stand; None: nothing is carried on."""
    _in_force[0] = current


Wrap: TypeAlias = Callable[[Any, Callable[[], Current | None]], Any]


class MethodHook:
    """What stands in the place of one method.

    Others put wrappers of their own on the same method, and take them off again, which can bring back what they found. So
    before a session `hold` sees to it that one of ours is the outermost, and only that one acts.
    """

    def __init__(self, owner: Any, name: str, wrap: Wrap) -> None:
        self._owner = owner
        self._name = name
        self._wrap = wrap
        self._own = name in owner.__dict__
        self._original = self._standing()
        self._made: WeakSet[Any] = WeakSet()
        self._acting: Any = None

    def _standing(self) -> Any:
        return self._owner.__dict__.get(self._name) or getattr(self._owner, self._name)

    def hold(self) -> None:
        """Make one of ours the outermost."""
        standing = self._standing()
        if standing is self._acting:
            return
        if standing not in self._made:
            standing = self._make(standing)
            setattr(self._owner, self._name, standing)
        self._acting = standing

    def _make(self, inner: Any) -> Any:
        def current() -> Current | None:
            return _in_force[0] if self._acting is made else None

        made: Any = functools.wraps(inner)(self._wrap(inner, current))
        self._made.add(made)
        return made

    def take_off(self) -> None:
        """Put back what ours stands on; what someone else has put on ours since stays, and ours does nothing more."""
        self._acting = None
        standing = self._owner.__dict__.get(self._name)
        if standing not in self._made:
            return
        # Not what stood there at first: someone may have taken that off since.
        while standing in self._made:
            standing = standing.__wrapped__
        if self._own or standing is not self._original:
            setattr(self._owner, self._name, standing)
        else:
            delattr(self._owner, self._name)


_HOOKED = (
    "concurrent.futures.thread",
    "asyncio.base_events",
    "uvloop",
    "trio._core._run",
    "queue",
    "asyncio.queues",
)


class LaneHooks:
    """The hooks that carry lanes into threads, pools and tasks: `install()` returns their undo."""

    def __init__(self) -> None:
        self._hooks: list[MethodHook] = []
        self._of_order: list[MethodHook] = []

    def install(self) -> Callable[[], None]:
        """Put the hooks on: on threads now, on pools and event loops now or when they are imported."""
        self._put(unpatched.Thread, "start", _thread_start)
        self._put(unpatched.Thread, "_bootstrap_inner", _thread_run)
        self._put(unpatched.Thread, "join", _thread_join, is_order=True)
        for name in _HOOKED:
            if name in sys.modules:
                self.imported(name)
        return self.uninstall

    def imported(self, module: str) -> None:
        """Put the hooks on a module that has just been imported."""
        if module == "concurrent.futures.thread":
            self._put(sys.modules[module].ThreadPoolExecutor, "submit", _submit)
            self._put(sys.modules["concurrent.futures._base"].Future, "result", _future_result, is_order=True)
            self._put(sys.modules[module].ThreadPoolExecutor, "shutdown", _shutdown, is_order=True)
        elif module == "asyncio.base_events":
            self._put(sys.modules[module].BaseEventLoop, "create_task", _create_task)
        elif module == "queue":
            self._put(sys.modules[module].Queue, "put", _put_into, is_order=True)
            self._put(sys.modules[module].Queue, "get", _get_from, is_order=True)
        elif module == "asyncio.queues":
            self._put(sys.modules[module].Queue, "put_nowait", _put_into, is_order=True)
            self._put(sys.modules[module].Queue, "get_nowait", _get_from, is_order=True)
        elif module == "uvloop":
            self._put(sys.modules[module].Loop, "create_task", _create_task)
        elif module == "trio._core._run" and hasattr(sys.modules[module].Runner, "spawn_impl"):
            self._put(sys.modules[module].Runner, "spawn_impl", _spawn_impl)

    def hold(self) -> None:
        """Make ours the outermost again, where someone else has put on or taken off something since."""
        for hook in self._hooks:
            hook.hold()

    def uninstall(self) -> None:
        """Take every hook off again."""
        for hooks in (self._hooks, self._of_order):
            while hooks:
                hooks.pop().take_off()

    def _put(self, owner: Any, name: str, wrap: Wrap, *, is_order: bool = False) -> None:
        """Put a hook on; one that only tells of order is not looked after at each session, which would cost more than it."""
        hook = MethodHook(owner, name, wrap)
        hook.hold()
        (self._of_order if is_order else self._hooks).append(hook)


# Each is given `carried`: it gives what tells the current crossing or root, or None while nothing is to be carried on.


def _thread_start(original: Any, carried: Callable[[], Current | None]) -> Any:
    def start(thread: Any) -> None:
        held, current_of = CURRENT.get(None), carried()
        if current_of is not None and (held is None or not held.root.quiet):
            current = current_of()
            target: Any = getattr(thread, "_target", None) or type(thread)
            if is_context_run(target):
                target = functools.partial(target, *thread._args)  # noqa: SLF001 - what the context is to run
            label = label_of(target)
            root = spawn(current, f"~{label}" if thread.daemon else label)
            setattr(thread, _ROOT_ATTRIBUTE, root)
            LANES_OF[thread] = root
        original(thread)

    return start


def _thread_run(original: Any, _carried: Callable[[], Current | None]) -> Any:
    def _bootstrap_inner(thread: Any) -> None:
        root = thread.__dict__.pop(_ROOT_ATTRIBUTE, None)
        if root is not None:
            CURRENT.set(root)
            if is_context_run(getattr(thread, "_target", None)):
                HELD.root = root
        original(thread)

    return _bootstrap_inner


def _thread_join(original: Any, carried: Callable[[], Current | None]) -> Any:
    def join(thread: Any, timeout: float | None = None) -> None:
        original(thread, timeout)
        if thread in LANES_OF and not thread.is_alive():
            note_waited(carried(), thread)

    return join


def _future_result(original: Any, carried: Callable[[], Current | None]) -> Any:
    def result(future: Any, timeout: float | None = None) -> Any:
        try:
            return original(future, timeout)
        finally:
            if future in LANES_OF and future.done():
                note_waited(carried(), future)

    return result


def _shutdown(original: Any, carried: Callable[[], Current | None]) -> Any:
    def shutdown(pool: Any, *args: Any, **kwargs: Any) -> None:
        original(pool, *args, **kwargs)
        given = GIVEN_TO.pop(pool, ())
        own = own_lane(carried()) if given and kwargs.get("wait", args[0] if args else True) else None
        if own is None:
            return
        for root in given:
            if root.kernel is own.kernel:
                own.add_causes(root.latest())

    return shutdown


def _submit(original: Any, carried: Callable[[], Current | None]) -> Any:
    def submit(pool: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        current_of = carried()
        if current_of is None:
            return original(pool, fn, *args, **kwargs)
        root = spawn(current_of(), label_of(functools.partial(fn, *args) if is_context_run(fn) else fn))
        # The worker thread that this may start is the pool's own business: whether one is started depends on timing.
        token = CURRENT.set(QUIET)
        try:
            before = LAST_OF.get(pool) if getattr(pool, "_max_workers", 0) == 1 else None
            future = original(pool, _InLane(fn, root, before), *args, **kwargs)
            GIVEN_TO.setdefault(pool, deque(maxlen=MOST_CAUSES)).append(root)
            if getattr(pool, "_max_workers", 0) == 1:
                LAST_OF[pool] = root
            LANES_OF[future] = root
            return future
        finally:
            CURRENT.reset(token)

    return submit


class _Feed:
    """What one lane puts into a queue for another: each item comes after what its producer had crossed.

    With several producers or consumers it depends on timing who meets whom, and there is no such order.
    """

    __slots__ = ("_lanes", "_waiting")

    def __init__(self) -> None:
        self._lanes: tuple[set[str], set[str]] = (set(), set())
        self._waiting: deque[tuple[int, ...]] = deque(maxlen=100_000)

    def put(self, root: Root) -> tuple[int, ...]:
        _note_lane(self._lanes[0], root)
        causes = (root.begun, *root.causes)
        self._waiting.append(causes)
        return causes

    def take_back(self, causes: tuple[int, ...]) -> None:
        with contextlib.suppress(ValueError):
            self._waiting.remove(causes)

    def got(self, root: Root) -> None:
        _note_lane(self._lanes[1], root)
        causes = self._waiting.popleft() if self._waiting else ()
        if all(len(each) == 1 for each in self._lanes) and self._lanes[0] != self._lanes[1]:
            root.add_causes(tuple(filter(None, causes)))


def _note_lane(lanes: set[str], root: Root) -> None:
    if len(lanes) < 2:  # whether there is more than one is all that counts: a service has one a request
        lanes.add(root.lane)


_feeds: WeakKeyDictionary[Any, _Feed] = WeakKeyDictionary()


def _feed_of(queue: Any, current_of: Current | None) -> tuple[_Feed, Root] | None:
    """Return what is known of a queue that gives its items in order, with the lane that asks; None for any other."""
    root = own_lane(current_of) if type(queue).__name__ == "Queue" else None
    return None if root is None or root.quiet else (_feeds.setdefault(queue, _Feed()), root)


def _put_into(original: Any, carried: Callable[[], Current | None]) -> Any:
    def put(queue: Any, item: Any, *args: Any, **kwargs: Any) -> Any:
        found = _feed_of(queue, carried())
        if found is None:
            return original(queue, item, *args, **kwargs)
        feed, root = found
        causes = feed.put(root)  # before the consumer can have it
        try:
            return original(queue, item, *args, **kwargs)
        except BaseException:
            feed.take_back(causes)
            raise

    return put


def _get_from(original: Any, carried: Callable[[], Current | None]) -> Any:
    def get(queue: Any, *args: Any, **kwargs: Any) -> Any:
        item = original(queue, *args, **kwargs)
        found = _feed_of(queue, carried())
        if found is not None:
            feed, root = found
            feed.got(root)
        return item

    return get


def _create_task(original: Any, carried: Callable[[], Current | None]) -> Any:
    def create_task(loop: Any, coro: Any, **kwargs: Any) -> Any:
        current_of = carried()
        if current_of is None:
            return original(loop, coro, **kwargs)
        context = kwargs.get("context")
        if (
            context is not None
        ):  # a caller's own context is not ours: it goes on in the lane that stands there
            task = original(loop, coro, **kwargs)
            current = context.get(CURRENT)
            _know_lane(task, current_of().root if current is None else current.root)
            return task
        root = spawn(current_of(), label_of(coro))
        token = CURRENT.set(root)
        try:
            task = original(loop, coro, **kwargs)
        finally:
            CURRENT.reset(token)
        if _know_lane(task, root):
            root.task = ref(task)
            root.is_ordered = True
        return task

    return create_task


def _know_lane(task: Any, root: Root) -> bool:
    """Note the lane of a task; return False for what a factory of the program's made that can't be noted."""
    try:
        LANES_OF[task] = root
    except TypeError:
        return False
    return True


def _spawn_impl(original: Any, carried: Callable[[], Current | None]) -> Any:
    def spawn_impl(runner: Any, async_fn: Any, *args: Any, **kwargs: Any) -> Any:
        current_of = carried()
        if current_of is None or kwargs.get("context") is not None or kwargs.get("system_task"):
            return original(runner, async_fn, *args, **kwargs)
        token = CURRENT.set(spawn(current_of(), label_of(async_fn)))
        try:
            return original(runner, async_fn, *args, **kwargs)
        finally:
            CURRENT.reset(token)

    return spawn_impl
