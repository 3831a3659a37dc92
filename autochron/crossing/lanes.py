"""Lanes: which logical task or thread a crossing belongs to, by how it was started and not by its id.

A lane's name is its parent's, a slash, the name of what was started and how many of that name the parent had started
before: `0/main.1/fetch.2`. Not a bare count of spawns: an SDK or an event loop starts tasks and worker threads of its own,
fewer of them when a transport is served, and a bare count would shift with each.

The context is carried by a `ContextVar`. Tasks copy it by themselves; threads and pools get it by the hooks of `lane_hooks`.
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
"""Stands in the name of a lane that is a daemon thread: how far those get depends on timing."""

MAIN = "0"

CHILD = "child:"
"""Stands before the name of what runs in another process: `0/child:worker.py.1`."""


def process_of(lane: str) -> str:
    """Return the lane that a lane's process began in, or that of the task which another process works on."""
    at = lane.rfind(f"/{CHILD}")
    end = lane.find("/", at + 1) if at >= 0 else -1
    return MAIN if at < 0 else lane if end < 0 else lane[:end]


MOST_CAUSES = 100
"""Crossings of which it is kept that one of another lane comes after them: the last ones."""


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
        self, kernel: object, lane: str, parent: Enclosing | None = None, *, quiet: bool = False
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
        while waiting and len(found) <= MOST_CAUSES:
            root = waiting.pop()
            if root.begun:
                found[root.begun] = None
            found |= dict.fromkeys(reversed(root.causes))
            for each in tuple(itertools.islice(reversed(root.awaited), MOST_CAUSES))[::-1]:
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
        self.causes = tuple({**dict.fromkeys(self.causes), **dict.fromkeys(seqs)})[-MOST_CAUSES:]
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


class _HeldLane(threading.local):
    """The lane that a thread was given, which a context copied elsewhere doesn't carry."""

    root: Root | None = None


HELD = _HeldLane()


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


QUIET = Root(None, "quiet", quiet=True)

_next_stray = itertools.count(1).__next__


def stray_root(base: Root) -> Root:
    """Return the lane of what was started past every hook: the process's own, or a new one for a thread."""
    if unpatched.get_ident() == unpatched.main_thread().ident:
        return base
    return Root(base.kernel, f"{base.lane}/?.{_next_stray()}", base.parent)
