"""Lanes: which logical task or thread a crossing belongs to, by how it was started and not by its id.

A lane's name is its parent's, a slash, the name of what was started and how many of that name the parent had started
before: `0/main.1/fetch.2`. Not a bare count of spawns: an SDK or an event loop starts tasks and worker threads of its own,
fewer of them when a transport is served, and a bare count would shift with each.

The context is carried by a `ContextVar`. Tasks copy it by themselves; threads and pools get it here, by hooks on
`Thread.start`, `ThreadPoolExecutor.submit` and the event loop's `create_task`. They stand as long as weaving does, and pass
everything on as it is while no handler is in force.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import Context, ContextVar
from types import BuiltinMethodType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary, WeakSet, ref

from autochron._runtime import unpatched
from autochron._runtime.bare import identity

if TYPE_CHECKING:
    from autochron.crossing.kernel import Crossing

DAEMON = "/~"
"""Stands in the name of a lane that is a daemon thread: how far those get depends on timing."""

MAIN = "0"

CHILD = "child:"
"""Stands before the name of what runs in another process: `0/child:worker.py.1`."""


def process_of(lane: str) -> str:
    """Return the lane that a lane's process began in, or that of the task which another process works on."""
    at = lane.rfind(f"/{CHILD}")
    end = lane.find("/", at + 1) if at >= 0 else -1
    return MAIN if at < 0 else lane if end < 0 else lane[:end]


class Root:
    """The ground of a lane: what is current there while no crossing is open.

    It looks like a crossing as far as the kernel needs that. The name of a daemon thread's lane has a `~`: how far those get
    depends on when the program ends.
    """

    __slots__ = (
        "awaited", "begun", "causes", "collapses", "counts", "is_ordered", "kernel", "lane", "parent", "quiet", "spawned",
        "task", "unsettled",
    )  # fmt: skip

    def __init__(
        self, kernel: object, lane: str, parent: Crossing | Remote | None = None, *, quiet: bool = False
    ) -> None:
        self.kernel = kernel
        self.lane = lane
        self.parent = parent
        self.counts: dict[str, int] = {}
        self.spawned: dict[str, int] = {}
        self.collapses = parent is not None and parent.collapses
        self.quiet = quiet
        self.begun = 0
        """The crossing that began last in it, by its number."""
        self.causes: tuple[int, ...] = ()
        """Crossings of other lanes without which its next one would not begin: what it was started after, or waited for."""
        self.awaited: dict[Root, None] = {}
        """Lanes of tasks that it is waiting for, or was until now: in the order in which they crossed first."""
        self.unsettled = 0
        """How many of them there must be before it is looked again for those that have ended."""
        self.task: Any = None
        """A weak reference to its task of asyncio, if it is one's."""
        self.is_ordered = False
        """Whether it has causes, waits for lanes, or is a task's."""

    @property
    def root(self) -> Root:
        """It itself. Not an attribute: that would be a cycle, and each task's lane would wait for the collector."""
        return self

    def latest(self) -> tuple[int, ...]:
        """Return what has begun before what waits for this lane goes on: what it waited for, and last its last crossing.

        As many as are kept as causes: the lanes that it waited for last, where there are more.
        """
        found: dict[int, None] = {}
        seen = {self: None}
        waiting = [self]
        while waiting and len(found) <= _MOST_CAUSES:
            root = waiting.pop()
            if root.begun:
                found[root.begun] = None
            found |= dict.fromkeys(reversed(root.causes))
            for each in tuple(itertools.islice(reversed(root.awaited), _MOST_CAUSES))[::-1]:
                if each not in seen:
                    seen[each] = None
                    waiting.append(each)
        return tuple(reversed(found))

    def take_causes(self) -> tuple[int, ...]:
        """Return what its next crossing comes after; the one after that no more does."""
        found = dict.fromkeys(self.causes)
        for each in self.awaited:
            found |= dict.fromkeys(each.latest())
        self.causes, self.awaited, self.unsettled = (), {}, 0
        self.is_ordered = self.task is not None
        found.pop(self.begun, None)
        return tuple(found)

    def settle(self) -> None:
        """Keep of the tasks that it waited for and that have ended their crossings alone: a loop may start tasks for ever."""
        if len(self.awaited) < self.unsettled or not next(reversed(self.awaited)).has_ended():
            return
        for each in tuple(self.awaited):
            if each.has_ended():
                del self.awaited[each]
                self.add_causes(each.latest())
        self.unsettled = 2 * len(self.awaited)

    def has_ended(self) -> bool:
        """Return whether its task has."""
        task = self.task and self.task()
        return task is None or task.done()

    def add_causes(self, seqs: tuple[int, ...]) -> None:
        """Note crossings without which its next one would not begin."""
        self.causes = tuple({**dict.fromkeys(self.causes), **dict.fromkeys(seqs)})[-_MOST_CAUSES:]
        self.is_ordered = True

    def is_under(self, other: Root) -> bool:
        """Return whether this is another lane, or one that was started from it."""
        return self is other or self.lane.startswith(f"{other.lane}/")


class Remote:
    """A crossing that is open in another process: what the lanes that were started in it know of it.

    Attributes:
        seq: its place in the order of starts, by which the handler knows it.
        collapses: whether model crossings of packs inside it are none.
        live: whether a replay runs it for real.
    """

    __slots__ = ("collapses", "live", "parent", "record", "seq")

    def __init__(self, seq: int, *, collapses: bool = False, live: bool = False) -> None:
        self.seq = seq
        self.live = live
        self.collapses = collapses
        self.parent = None
        self.record = None


CURRENT: ContextVar[Any] = ContextVar("autochron_current")
"""The open `Crossing`, or the lane's `Root`."""

PAUSE: Root = Root(None, "paused")
"""The lane of what crosses nothing; see `pausing`."""


def is_paused() -> bool:
    """Return whether what runs now is in a pause."""
    return CURRENT.get(None) is PAUSE


class _Held(threading.local):
    """The lane that a thread was given, which a context copied elsewhere doesn't carry."""

    root: Root | None = None


HELD = _Held()


def spawn(current: Any, label: str) -> Root:
    """Begin a lane that starts from what is current; in a pause there is only the pause."""
    if current is PAUSE:
        pause: Root = current
        return pause
    spawned = current.root.spawned
    nth = spawned[label] = spawned.get(label, 0) + 1
    parent = current.parent if current is current.root else current
    root = Root(current.root.kernel, f"{current.root.lane}/{label}.{nth}", parent)
    if current.root.awaited:
        current.root.settle()
    root.add_causes(current.root.latest())
    return root


_lanes_of: WeakKeyDictionary[Any, Root] = WeakKeyDictionary()
"""The lanes of threads, of tasks, and of what pools were given."""

_given_to: WeakKeyDictionary[Any, deque[Root]] = WeakKeyDictionary()
"""The lanes of what a pool was given last."""

_last_of: WeakKeyDictionary[Any, Root] = WeakKeyDictionary()
"""The lane of what a pool with one worker was given last."""


def _own_lane(current_of: Current | None) -> Root | None:
    """Return the lane of what runs now; None in a pause, in what a pool does for itself, and where no lane is known yet."""
    current = CURRENT.get(None)
    if current_of is None or (current is not None and current.root.kernel is None):
        return None
    if current is None and unpatched.get_ident() != unpatched.main_thread().ident:
        return None  # to ask would give the thread a lane, and others their numbers by who was first
    root: Root = current_of().root
    return root


def _waited_for(current_of: Current | None, awaited: Any) -> None:
    """Note that what runs now waited for a thread or for a result of a pool: its next crossing comes after those of it."""
    root = _lanes_of.get(awaited)
    own = None if root is None else _own_lane(current_of)
    if root is not None and own is not None and root.kernel is own.kernel:
        own.add_causes(root.latest())


def note_waiting(root: Root) -> None:
    """Note which tasks wait for the one of a lane: their next crossings come after those of it."""
    task = root.task()
    for each in () if task is None else _waiting_for(task):
        other = _lanes_of.get(each)
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

_MOST_CAUSES = 100
"""Crossings of which it is kept that one of another lane comes after them: the last ones."""


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def label_of(target: object) -> str:
    """Name what is started: the qualified name of the function, without the places it was nested in."""
    while isinstance(target, functools.partial):
        target = target.args[0] if is_context_run(target.func) and target.args else target.func
    code = getattr(target, "cr_code", None) or getattr(target, "gi_code", None)
    name = getattr(target, "__qualname__", None) or (code and code.co_qualname) or type(target).__qualname__
    return str(name).rpartition("<locals>.")[2]


def is_context_run(function: object) -> bool:
    """Return whether this is the `run` of a context: what it runs is what counts."""
    return isinstance(getattr(function, "__self__", None), Context)


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


Current: TypeAlias = Callable[[], Any]
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
            _lanes_of[thread] = root
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
        if thread in _lanes_of and not thread.is_alive():
            _waited_for(carried(), thread)

    return join


def _future_result(original: Any, carried: Callable[[], Current | None]) -> Any:
    def result(future: Any, timeout: float | None = None) -> Any:
        try:
            return original(future, timeout)
        finally:
            if future in _lanes_of and future.done():
                _waited_for(carried(), future)

    return result


def _shutdown(original: Any, carried: Callable[[], Current | None]) -> Any:
    def shutdown(pool: Any, *args: Any, **kwargs: Any) -> None:
        original(pool, *args, **kwargs)
        given = _given_to.pop(pool, ())
        own = _own_lane(carried()) if given and kwargs.get("wait", args[0] if args else True) else None
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
            before = _last_of.get(pool) if getattr(pool, "_max_workers", 0) == 1 else None
            future = original(pool, _InLane(fn, root, before), *args, **kwargs)
            _given_to.setdefault(pool, deque(maxlen=_MOST_CAUSES)).append(root)
            if getattr(pool, "_max_workers", 0) == 1:
                _last_of[pool] = root
            _lanes_of[future] = root
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
    root = _own_lane(current_of) if type(queue).__name__ == "Queue" else None
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
        _lanes_of[task] = root
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


QUIET = Root(None, "quiet", quiet=True)

_next_stray = itertools.count(1).__next__


def stray_root(base: Root) -> Root:
    """Return the lane of what was started past every hook: the process's own, or a new one for a thread."""
    if unpatched.get_ident() == unpatched.main_thread().ident:
        return base
    return Root(base.kernel, f"{base.lane}/?.{_next_stray()}", base.parent)
