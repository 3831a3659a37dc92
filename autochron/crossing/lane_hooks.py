"""Hooks that carry lanes into threads, pools, tasks and through queues, and that note which lane waits for which.

They wrap `Thread.start`, `ThreadPoolExecutor.submit`, the event loop's `create_task` and a few more for as long as code
is woven. While no handler is in force they pass every call through.
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
from autochron._runtime.own_frames import drop_frame
from autochron.crossing.lane_order import GIVEN_TO, LANES_OF, LAST_OF, Current, note_waited, own_lane
from autochron.crossing.lanes import (
    CURRENT,
    HELD,
    MOST_CAUSES,
    QUIET,
    LaneRoot,
    is_context_run,
    label_of,
    spawn,
)


class _InLane:
    """A callable that runs in a lane."""

    __slots__ = ("_before", "_function", "_root")

    def __init__(self, function: Callable[..., Any], root: LaneRoot, before: LaneRoot | None = None) -> None:
        self._function = function
        self._root = root
        self._before = before
        """The lane of the call before it, if the pool has a single worker."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._before is not None:
            self._root.add_causes(self._before.latest())
            self._before = None
        token = CURRENT.set(self._root)
        previous, HELD.root = HELD.root, self._root
        try:
            return self._function(*args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise
        finally:
            HELD.root = previous
            CURRENT.reset(token)


_ROOT_ATTRIBUTE = "_autochron_root"
_HAVE_CONTEXTS = sys.version_info >= (3, 14)
"""Whether a thread's `run` has a context of its own, or one that the program has passed."""

_current_of: list[Current | None] = [None]
"""Returns what is current; None while no handler is in force."""


def carry(current_of: Current | None) -> None:
    """Make the hooks carry lanes from what `current_of` returns; None: they carry nothing."""
    _current_of[0] = current_of


Wrap: TypeAlias = Callable[[Any, Callable[[], Current | None]], Any]
"""Makes a hook from the original and `carried`, which returns how to read what is current; None: carry nothing."""


class MethodHook:
    """Our wrapper of one method.

    Others put wrappers of their own on the same method and take them off again, which can bring back an older wrapper
    of ours. So `hold` makes sure before a session that a wrapper of ours is the outermost, and only that one acts.
    """

    def __init__(self, owner: Any, name: str, wrap: Wrap) -> None:
        self._owner = owner
        self._name = name
        self._wrap = wrap
        self._is_own = name in owner.__dict__
        """Whether the class itself, and no base of it, defines the method."""
        self._original = self._installed()
        self._wrappers: WeakSet[Any] = WeakSet()
        self._active: Any = None
        """The only wrapper of ours that acts."""

    def _installed(self) -> Any:
        return self._owner.__dict__.get(self._name) or getattr(self._owner, self._name)

    def hold(self) -> None:
        """Make one of our wrappers the outermost."""
        installed = self._installed()
        if installed is self._active:
            return
        if installed not in self._wrappers:
            installed = self._make(installed)
            setattr(self._owner, self._name, installed)
        self._active = installed

    def _make(self, inner: Any) -> Any:
        def carried() -> Current | None:
            return _current_of[0] if self._active is wrapper else None

        wrapper: Any = functools.wraps(inner)(self._wrap(inner, carried))
        self._wrappers.add(wrapper)
        return wrapper

    def take_off(self) -> None:
        """Restore what our wrapper wraps.

        If another wrapper was put on ours in the meantime, both stay, and ours does nothing any more.
        """
        self._active = None
        installed = self._owner.__dict__.get(self._name)
        if installed not in self._wrappers:
            return
        # Not `_original`: someone may have taken that off in the meantime.
        while installed in self._wrappers:
            installed = installed.__wrapped__
        if self._is_own or installed is not self._original:
            setattr(self._owner, self._name, installed)
        else:
            delattr(self._owner, self._name)


_HOOKED = (
    "concurrent.futures.thread",
    "asyncio.base_events",
    "uvloop",
    "trio._core._run",
    "queue",
    "asyncio.queues",
    "concurrent.interpreters",
)

MADE_INTERPRETERS: list[bool] = []
"""Not empty once the program has made an interpreter in this process, in which nothing is woven."""


class LaneHooks:
    """The hooks that carry lanes into threads, pools and tasks; `install()` returns their undo."""

    def __init__(self) -> None:
        self._hooks: list[MethodHook] = []
        self._order_hooks: list[MethodHook] = []
        """Hooks that only note an order of lanes; `hold` leaves them where they are."""

    def install(self) -> Callable[[], None]:
        """Put the hooks on threads now, and on pools, queues and event loops now or when their modules are imported."""
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
        elif module == "concurrent.interpreters":
            self._put(sys.modules["_interpreters"], "create", _create_interpreter, is_order=True)
        elif module == "uvloop":
            self._put(sys.modules[module].Loop, "create_task", _create_task)
        elif module == "trio._core._run" and hasattr(sys.modules[module].Runner, "spawn_impl"):
            self._put(sys.modules[module].Runner, "spawn_impl", _spawn_impl)

    def hold(self) -> None:
        """Make our wrappers the outermost again, where someone else has put on or taken off wrappers since."""
        for hook in self._hooks:
            hook.hold()

    def uninstall(self) -> None:
        """Take all hooks off."""
        for hooks in (self._hooks, self._order_hooks):
            while hooks:
                hooks.pop().take_off()

    def _put(self, owner: Any, name: str, wrap: Wrap, *, is_order: bool = False) -> None:
        """Put a hook on; one that only tells of order is not looked after at each session, which would cost more than it."""
        hook = MethodHook(owner, name, wrap)
        hook.hold()
        (self._order_hooks if is_order else self._hooks).append(hook)


# Each of these makes a hook, see `Wrap`.


def _thread_start(original: Any, carried: Callable[[], Current | None]) -> Any:
    def start(thread: Any) -> None:
        starter, current_of = CURRENT.get(None), carried()
        if current_of is not None and (starter is None or not starter.root.quiet):
            current = current_of()
            target: Any = getattr(thread, "_target", None) or type(thread)
            if is_context_run(target):
                target = functools.partial(target, *thread._args)  # noqa: SLF001 - the function that the context is to run
            label = label_of(target)
            root = spawn(current, f"~{label}" if thread.daemon else label)
            setattr(thread, _ROOT_ATTRIBUTE, root)
            LANES_OF[thread] = root
        try:
            original(thread)
        except BaseException as error:
            drop_frame(error)
            raise

    return start


def _thread_run(original: Any, _carried: Callable[[], Current | None]) -> Any:
    def _bootstrap_inner(thread: Any) -> None:
        root, token = thread.__dict__.pop(_ROOT_ATTRIBUTE, None), None
        context = getattr(thread, "_context", None) if _HAVE_CONTEXTS else None
        if root is not None:
            if context is None:
                CURRENT.set(root)
            else:
                # It raises RuntimeError if another thread is in the context, as `original` does then.
                with contextlib.suppress(RuntimeError):
                    token = context.run(CURRENT.set, root)
            if is_context_run(getattr(thread, "_target", None)):
                HELD.root = root
        try:
            original(thread)
        except BaseException as error:
            drop_frame(error)
            raise
        finally:
            if context is not None and token is not None:
                context.run(CURRENT.reset, token)  # the program may have passed it, and go on to use it

    return _bootstrap_inner


def _create_interpreter(original: Any, _carried: Callable[[], Current | None]) -> Any:
    def create(*args: Any, **kwargs: Any) -> Any:
        MADE_INTERPRETERS.append(True)
        try:
            return original(*args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise

    return create


def _thread_join(original: Any, carried: Callable[[], Current | None]) -> Any:
    def join(thread: Any, timeout: float | None = None) -> None:
        try:
            original(thread, timeout)
        except BaseException as error:
            drop_frame(error)
            raise
        if thread in LANES_OF and not thread.is_alive():
            note_waited(carried(), thread)

    return join


def _future_result(original: Any, carried: Callable[[], Current | None]) -> Any:
    def result(future: Any, timeout: float | None = None) -> Any:
        try:
            return original(future, timeout)
        except BaseException as error:
            drop_frame(error)
            raise
        finally:
            if future in LANES_OF and future.done():
                note_waited(carried(), future)

    return result


def _shutdown(original: Any, carried: Callable[[], Current | None]) -> Any:
    def shutdown(pool: Any, *args: Any, **kwargs: Any) -> None:
        try:
            original(pool, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise
        roots = GIVEN_TO.pop(pool, ())
        own = own_lane(carried()) if roots and kwargs.get("wait", args[0] if args else True) else None
        if own is None:
            return
        for root in roots:
            if root.kernel is own.kernel:
                own.add_causes(root.latest())

    return shutdown


def _submit(original: Any, carried: Callable[[], Current | None]) -> Any:
    def submit(pool: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        current_of, given, token, root = carried(), fn, None, None
        if current_of is not None and not _is_of_interpreters(pool):
            root = spawn(current_of(), label_of(functools.partial(fn, *args) if is_context_run(fn) else fn))
            before = LAST_OF.get(pool) if getattr(pool, "_max_workers", 0) == 1 else None
            given = _InLane(fn, root, before)
            # The worker thread that this may start gets no lane: whether one is started depends on timing.
            token = CURRENT.set(QUIET)
        try:
            future = original(pool, given, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise
        finally:
            if token is not None:
                CURRENT.reset(token)
        if root is not None:
            GIVEN_TO.setdefault(pool, deque(maxlen=MOST_CAUSES)).append(root)
            if getattr(pool, "_max_workers", 0) == 1:
                LAST_OF[pool] = root
            LANES_OF[future] = root
        return future

    return submit


def _is_of_interpreters(pool: Any) -> bool:
    """Return whether a pool's workers are interpreters of their own (3.14), to which only data and plain functions go."""
    module = sys.modules.get("concurrent.futures.interpreter")
    return module is not None and isinstance(pool, module.InterpreterPoolExecutor)


class _Feed:
    """The causes of the items in a queue: an item that is taken comes after the crossings of the lane that put it.

    With several producers or consumers it depends on timing which of them meet, so there is no such order.
    """

    __slots__ = ("_consumers", "_producers", "_waiting")

    def __init__(self) -> None:
        self._producers: set[str] = set()
        self._consumers: set[str] = set()
        self._waiting: deque[tuple[int, ...]] = deque(maxlen=100_000)
        """The causes of each item in the queue, in order."""

    def put(self, root: LaneRoot) -> tuple[int, ...]:
        """Note that a lane puts an item into the queue; return the item's causes."""
        _note_lane(self._producers, root)
        causes = (root.begun, *root.causes)
        self._waiting.append(causes)
        return causes

    def take_back(self, causes: tuple[int, ...]) -> None:
        """Undo `put` for an item that the queue did not take."""
        with contextlib.suppress(ValueError):
            self._waiting.remove(causes)

    def take(self, root: LaneRoot) -> None:
        """Note that a lane has taken an item: its next crossing comes after the item's causes."""
        _note_lane(self._consumers, root)
        causes = self._waiting.popleft() if self._waiting else ()
        if len(self._producers) == len(self._consumers) == 1 and self._producers != self._consumers:
            root.add_causes(tuple(filter(None, causes)))


def _note_lane(lanes: set[str], root: LaneRoot) -> None:
    if len(lanes) < 2:  # only whether there are several counts, and a service begins a lane for each request
        lanes.add(root.lane)


_feeds: WeakKeyDictionary[Any, _Feed] = WeakKeyDictionary()


def _feed_of(queue: Any, current_of: Current | None) -> tuple[_Feed | None, LaneRoot | None]:
    """Return the feed of a queue that keeps its items in order, with the running lane; (None, None) for others."""
    root = own_lane(current_of) if type(queue).__name__ == "Queue" else None
    return (None, None) if root is None or root.quiet else (_feeds.setdefault(queue, _Feed()), root)


def _put_into(original: Any, carried: Callable[[], Current | None]) -> Any:
    def put(queue: Any, item: Any, *args: Any, **kwargs: Any) -> Any:
        feed, root = _feed_of(queue, carried())
        causes = (
            None if feed is None or root is None else feed.put(root)
        )  # before a consumer can take the item
        try:
            return original(queue, item, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            if feed is not None and causes is not None:
                feed.take_back(causes)
            raise

    return put


def _get_from(original: Any, carried: Callable[[], Current | None]) -> Any:
    def get(queue: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            item = original(queue, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise
        feed, root = _feed_of(queue, carried())
        if feed is not None and root is not None:
            feed.take(root)
        return item

    return get


def _create_task(original: Any, carried: Callable[[], Current | None]) -> Any:
    def create_task(loop: Any, coro: Any, **kwargs: Any) -> Any:
        current_of, context, root, token = carried(), kwargs.get("context"), None, None
        if current_of is not None and context is None:
            root = spawn(current_of(), label_of(coro))
            token = CURRENT.set(root)
        try:
            task = original(loop, coro, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise
        finally:
            if token is not None:
                CURRENT.reset(token)
        if root is not None:
            if _know_lane(task, root):
                root.task = ref(task)
                root.is_ordered = True
        elif current_of is not None and context is not None:
            # A context of the caller's own: the task goes on in the lane that it carries.
            current = context.get(CURRENT)
            _know_lane(task, current_of().root if current is None else current.root)
        return task

    return create_task


def _know_lane(task: Any, root: LaneRoot) -> bool:
    """Note the lane of a task. Return False for an object of a program's task factory that can't be noted."""
    try:
        LANES_OF[task] = root
    except TypeError:
        return False
    return True


def _spawn_impl(original: Any, carried: Callable[[], Current | None]) -> Any:
    def spawn_impl(runner: Any, async_fn: Any, *args: Any, **kwargs: Any) -> Any:
        current_of, token = carried(), None
        if current_of is not None and kwargs.get("context") is None and not kwargs.get("system_task"):
            token = CURRENT.set(spawn(current_of(), label_of(async_fn)))
        try:
            return original(runner, async_fn, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise
        finally:
            if token is not None:
                CURRENT.reset(token)

    return spawn_impl
