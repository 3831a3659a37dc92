"""Lanes: which logical task or thread a crossing belongs to, by how it was started and not by its id.

A lane's name is its parent's, a slash, the name of what was started and how many of that name the parent had started
before: `0/main.1/fetch.2`. Not a bare count of spawns: an SDK or an event loop starts tasks and worker threads of its own,
fewer of them when a transport is served, and a bare count would shift with each.

The context is carried by a `ContextVar`. Tasks copy it by themselves; threads and pools get it here, by hooks on
`Thread.start`, `ThreadPoolExecutor.submit` and the event loop's `create_task`. They stand as long as weaving does, and pass
everything on as it is while no handler is in force.
"""

from __future__ import annotations

import functools
import itertools
import sys
import threading
from collections.abc import Callable
from contextvars import Context, ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary, WeakSet

from autochron import _originals

if TYPE_CHECKING:
    from autochron.crossing.kernel import Crossing

MAIN = "0"

CHILD = "child:"
"""Stands before the name of what runs in another process: `0/child:worker.py.1`."""


def process_of(lane: str) -> str:
    """Give the lane that a lane's process began in, or that of the task which another process works on."""
    at = lane.rfind(f"/{CHILD}")
    end = lane.find("/", at + 1) if at >= 0 else -1
    return MAIN if at < 0 else lane if end < 0 else lane[:end]


class Root:
    """The ground of a lane: what is current there while no crossing is open.

    It looks like a crossing as far as the kernel needs that. The name of a daemon thread's lane has a `~`: how far those get
    depends on when the program ends.
    """

    __slots__ = (
        "begun", "causes", "collapses", "counts", "kernel", "lane", "parent", "quiet", "root", "spawned",
    )  # fmt: skip

    def __init__(
        self, kernel: object, lane: str, parent: Crossing | Remote | None = None, *, quiet: bool = False
    ) -> None:
        self.kernel = kernel
        self.lane = lane
        self.parent = parent
        self.root = self
        self.counts: dict[str, int] = {}
        self.spawned: dict[str, int] = {}
        self.collapses = parent is not None and parent.collapses
        self.quiet = quiet
        self.begun = 0
        """The crossing that began last in it, by its number."""
        self.causes: tuple[int, ...] = ()
        """Crossings of other lanes without which its next one would not begin: what it was started after, or waited for."""

    def is_under(self, other: Root) -> bool:
        """Tell whether this is another lane, or one that was started from it."""
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
    """Tell whether what runs now is in a pause."""
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
    root.causes = (current.root.begun,) if current.root.begun else current.root.causes
    return root


_lanes_of: WeakKeyDictionary[Any, Root] = WeakKeyDictionary()
"""The lanes of threads, and of what pools were given."""


def _waited_for(current_of: Current | None, awaited: Any) -> None:
    """Note that what runs now waited for a thread or for a result of a pool: its next crossing comes after those of it."""
    root = _lanes_of.get(awaited)
    if root is None or current_of is None:
        return
    own = current_of().root
    if root.kernel is own.kernel:
        own.causes += (root.begun,) if root.begun else root.causes


def label_of(target: object) -> str:
    """Name what is started: the qualified name of the function, without the places it was nested in."""
    while isinstance(target, functools.partial):
        target = target.args[0] if is_context_run(target.func) and target.args else target.func
    code = getattr(target, "cr_code", None) or getattr(target, "gi_code", None)
    name = getattr(target, "__qualname__", None) or (code and code.co_qualname) or type(target).__qualname__
    return str(name).rpartition("<locals>.")[2]


def is_context_run(function: object) -> bool:
    """Tell whether this is the `run` of a context: what it runs is what counts."""
    return isinstance(getattr(function, "__self__", None), Context)


class _InLane:
    """A callable that runs in a lane."""

    __slots__ = ("_function", "_root")

    def __init__(self, function: Callable[..., Any], root: Root) -> None:
        self._function = function
        self._root = root

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
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


class LaneHooks:
    """The hooks that carry lanes into threads, pools and tasks: `install()` returns their undo."""

    def __init__(self) -> None:
        self._hooks: list[MethodHook] = []

    def install(self) -> Callable[[], None]:
        """Put the hooks on: on threads now, on pools and event loops now or when they are imported."""
        self._put(_originals.Thread, "start", _thread_start)
        self._put(_originals.Thread, "_bootstrap_inner", _thread_run)
        self._put(_originals.Thread, "join", _thread_join)
        for name in ("concurrent.futures.thread", "asyncio.base_events", "uvloop", "trio._core._run"):
            if name in sys.modules:
                self.imported(name)
        return self.uninstall

    def imported(self, module: str) -> None:
        """Put the hooks on a module that has just been imported."""
        if module == "concurrent.futures.thread":
            self._put(sys.modules[module].ThreadPoolExecutor, "submit", _submit)
            self._put(sys.modules["concurrent.futures._base"].Future, "result", _future_result)
        elif module == "asyncio.base_events":
            self._put(sys.modules[module].BaseEventLoop, "create_task", _create_task)
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
        while self._hooks:
            self._hooks.pop().take_off()

    def _put(self, owner: Any, name: str, wrap: Wrap) -> None:
        hook = MethodHook(owner, name, wrap)
        hook.hold()
        self._hooks.append(hook)


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


def _submit(original: Any, carried: Callable[[], Current | None]) -> Any:
    def submit(pool: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        current_of = carried()
        if current_of is None:
            return original(pool, fn, *args, **kwargs)
        root = spawn(current_of(), label_of(functools.partial(fn, *args) if is_context_run(fn) else fn))
        # The worker thread that this may start is the pool's own business: whether one is started depends on timing.
        token = CURRENT.set(QUIET)
        try:
            future = original(pool, _InLane(fn, root), *args, **kwargs)
            _lanes_of[future] = root
            return future
        finally:
            CURRENT.reset(token)

    return submit


def _create_task(original: Any, carried: Callable[[], Current | None]) -> Any:
    def create_task(loop: Any, coro: Any, **kwargs: Any) -> Any:
        current_of = carried()
        if current_of is None or kwargs.get("context") is not None:  # a caller's own context is not ours
            return original(loop, coro, **kwargs)
        token = CURRENT.set(spawn(current_of(), label_of(coro)))
        try:
            return original(loop, coro, **kwargs)
        finally:
            CURRENT.reset(token)

    return create_task


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
    """Give the lane of what was started past every hook: the process's own, or a new one for a thread."""
    if _originals.get_ident() == _originals.main_thread().ident:
        return base
    return Root(base.kernel, f"{base.lane}/?.{_next_stray()}", base.parent)
