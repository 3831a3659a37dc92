"""Lanes: which logical task or thread a crossing belongs to, by the way it was started and not by its identifier.

A lane's name is its parent's name, a slash, the name of what was started, and how many of that name the parent had
started: `0/main.1/fetch.2`. A bare count of starts would not do: an SDK or an event loop starts tasks and worker
threads of its own, fewer of them when a transport is served, and each would shift the count.

The lane is carried by a `ContextVar`. Tasks copy it by themselves; threads and pools receive it through the hooks of
`lane_hooks`.
"""

from __future__ import annotations

import functools
import itertools
import threading
from contextvars import Context, ContextVar
from typing import TYPE_CHECKING, Any

from autochron._runtime import unpatched

if TYPE_CHECKING:
    from autochron.ports import Enclosing

DAEMON = "/~"
"""Marks, in the name of a lane, a daemon thread: how far such a thread gets depends on when the program ends."""

MAIN = "0"
"""The lane of a program's main thread."""

CHILD = "child:"
"""Precedes the name of what runs in another process: `0/child:worker.py.1`."""


def process_of(lane: str) -> str:
    """Return the lane that a lane's process began in, or the lane of the task that a pool's process works on."""
    at = lane.rfind(f"/{CHILD}")
    end = lane.find("/", at + 1) if at >= 0 else -1
    return MAIN if at < 0 else lane if end < 0 else lane[:end]


MOST_CAUSES = 100
"""How many crossings of other lanes a lane keeps as causes of its next crossing: the last ones."""


class LaneRoot:
    """The root of a lane: what is current in the lane while no crossing is open.

    It has the attributes of a crossing that the kernel reads of what is current.
    """

    __slots__ = (
        "awaited", "begun", "causes", "collapses", "counts", "is_ordered", "kernel", "lane", "parent", "quiet", "spawned",
        "task", "unsettled",
    )  # fmt: skip

    def __init__(
        self, kernel: object, lane: str, parent: Enclosing | None = None, *, quiet: bool = False
    ) -> None:
        """Begin a lane.

        Args:
            kernel: the kernel that its crossings belong to; None for a pause, and for what pools do for themselves.
            lane: its name.
            parent: the crossing that encloses it, if any.
            quiet: whether threads that are started in it get no lanes, as the worker threads of a pool.
        """
        self.kernel = kernel
        self.lane = lane
        self.parent = parent
        self.counts: dict[str, int] = {}
        self.spawned: dict[str, int] = {}
        self.collapses = parent is not None and parent.collapses
        self.quiet = quiet
        self.begun = 0
        """The `seq` of the crossing that began last in it; 0 before the first."""
        self.causes: tuple[int, ...] = ()
        """The `seq`s of crossings of other lanes that precede its next one: it was started after or waited for them."""
        self.awaited: dict[LaneRoot, None] = {}
        """The lanes of tasks that it is waiting for, or has waited for, in the order in which they first crossed."""
        self.unsettled = 0
        """How long `awaited` must be before `settle` looks again for tasks that have ended."""
        self.task: Any = None
        """A weak reference to its asyncio task; None where it is the lane of no task."""
        self.is_ordered = False
        """Whether it has causes, waits for lanes, or is the lane of a task."""

    @property
    def root(self) -> LaneRoot:
        """This object. It is no attribute, since that would be a cycle: only the collector would free a task's lane."""
        return self

    def latest(self) -> tuple[int, ...]:
        """Return the crossings that precede whatever waits for this lane: those that it waited for, and its last one.

        Returns:
            `seq`s, the lane's own last one at the end. The search begins with the lanes waited for last, and ends once
                there are more than `MOST_CAUSES`.
        """
        seqs: dict[int, None] = {}
        seen = {self: None}
        waiting = [self]
        while waiting and len(seqs) <= MOST_CAUSES:
            root = waiting.pop()
            if root.begun:
                seqs[root.begun] = None
            seqs |= dict.fromkeys(reversed(root.causes))
            for lane_root in tuple(itertools.islice(reversed(root.awaited), MOST_CAUSES))[::-1]:
                if lane_root not in seen:
                    seen[lane_root] = None
                    waiting.append(lane_root)
        return tuple(reversed(seqs))

    def take_causes(self) -> tuple[int, ...]:
        """Return the `seq`s of the crossings that precede the lane's next one, and forget them."""
        seqs = dict.fromkeys(self.causes)
        for lane_root in self.awaited:
            seqs |= dict.fromkeys(lane_root.latest())
        self.causes, self.awaited, self.unsettled = (), {}, 0
        self.is_ordered = self.task is not None
        seqs.pop(self.begun, None)
        return tuple(seqs)

    def settle(self) -> None:
        """Replace the awaited tasks that have ended by their crossings: a loop may start tasks for ever."""
        if len(self.awaited) < self.unsettled or not next(reversed(self.awaited)).has_ended():
            return
        for lane_root in tuple(self.awaited):
            if lane_root.has_ended():
                del self.awaited[lane_root]
                self.add_causes(lane_root.latest())
        self.unsettled = 2 * len(self.awaited)

    def has_ended(self) -> bool:
        """Return whether its task is done or gone."""
        task = self.task and self.task()
        return task is None or task.done()

    def add_causes(self, seqs: tuple[int, ...]) -> None:
        """Note crossings, by `seq`, that precede the lane's next one."""
        self.causes = tuple({**dict.fromkeys(self.causes), **dict.fromkeys(seqs)})[-MOST_CAUSES:]
        self.is_ordered = True

    def is_under(self, ancestor: LaneRoot) -> bool:
        """Return whether this is that lane, or was started below it."""
        return self is ancestor or self.lane.startswith(f"{ancestor.lane}/")


class Remote:
    """A crossing that is open in another process: what the lanes started in it know of it.

    Attributes:
        seq: its position in the order of starts, by which the handler identifies it.
        collapses: whether model crossings of packs that start right inside it are no crossings of their own.
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
"""The innermost open `Crossing`, or the lane's `LaneRoot`."""

PAUSE: LaneRoot = LaneRoot(None, "paused")
"""The lane of code that makes no crossings; see `pausing`."""


def is_paused() -> bool:
    """Return whether the running code is in a pause."""
    return CURRENT.get(None) is PAUSE


class _HeldLane(threading.local):
    """The lane that a thread was started in. A context that is copied into another thread doesn't carry it."""

    root: LaneRoot | None = None


HELD = _HeldLane()


def spawn(current: Any, label: str) -> LaneRoot:
    """Begin a lane below what is current; in a pause return the pause.

    Args:
        current: the open crossing or lane root that the lane is started from.
        label: the name of what is started, see `label_of`.
    """
    if current is PAUSE:
        pause: LaneRoot = current
        return pause
    spawned = current.root.spawned
    nth = spawned[label] = spawned.get(label, 0) + 1
    parent = current.parent if current is current.root else current
    root = LaneRoot(current.root.kernel, f"{current.root.lane}/{label}.{nth}", parent)
    if current.root.awaited:
        current.root.settle()
    root.add_causes(current.root.latest())
    return root


def label_of(target: object) -> str:
    """Name what is started: the qualified name of the function, without the scopes that it is nested in."""
    while isinstance(target, functools.partial):
        target = target.args[0] if is_context_run(target.func) and target.args else target.func
    code = getattr(target, "cr_code", None) or getattr(target, "gi_code", None)
    name = getattr(target, "__qualname__", None) or (code and code.co_qualname) or type(target).__qualname__
    return str(name).rpartition("<locals>.")[2]


def is_context_run(function: object) -> bool:
    """Return whether a callable is `Context.run`: the lane is then named after the function that it runs."""
    return isinstance(getattr(function, "__self__", None), Context)


QUIET = LaneRoot(None, "quiet", quiet=True)
"""The lane in which pools start their worker threads, which get no lanes of their own."""

_next_stray = itertools.count(1).__next__


def stray_root(base: LaneRoot) -> LaneRoot:
    """Return the lane of code that started past every hook: the process's own in the main thread, else a new one."""
    if unpatched.get_ident() == unpatched.main_thread().ident:
        return base
    return LaneRoot(base.kernel, f"{base.lane}/?.{_next_stray()}", base.parent)
