"""Processes that a program starts: each begins in a lane of its own, which is given to it on its way.

A lane is allocated where a process is started, in the starting thread, so that it is the same in every run. It travels in
one environment variable (`subprocess`), in the preparation data of `multiprocessing` (spawn, forkserver), or needs no
travelling (fork). What a pool's worker does belongs to the lane of the task and not of the worker, since which worker takes
a task is up to timing.

The variable is seen by the program, and what the program says wins: it is replaced where it is and never added, so a child
that gets an environment without it is unmanaged.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from autochron._runtime.unpatched import os
from autochron.crossing.lane_hooks import MethodHook, Wrap
from autochron.crossing.lanes import (
    CHILD,
    CURRENT,
    QUIET,
    Root,
    is_paused,
    label_of,
    spawn,
)

VARIABLE = "AUTOCHRON_CHILD"
"""The environment variable that tells a child what it is a child of."""

_PREPARED = "autochron_child"
"""What it is told by in the preparation data of multiprocessing."""

MODULES = frozenset(
    {"subprocess", "multiprocessing.spawn", "multiprocessing.pool", "concurrent.futures.process"}
)
"""The modules that processes are started by, or begin with."""


class Parent(Protocol):
    """Who has the processes recorded, or served, that this one starts."""

    def current(self) -> Any:
        """Return the innermost open crossing, or the lane's root."""

    def told(self, root: Root) -> str:
        """Return what a process is told that begins in a lane."""

    def seq_of(self, crossing: Any) -> int | None:
        """Return the seq by which another process knows a crossing of ours."""

    def live_of(self, crossing: Any) -> bool:
        """Return whether a replay runs a crossing of ours for real."""

    def work(self, lane: str, seq: int | None, collapses: bool, live: bool) -> None:  # noqa: FBT001 - from a pickle
        """Let this thread go on in a lane that another process began."""

    def has_forked(self, root: Root) -> None:
        """Hear that a process was forked, which goes on in this lane and needs no telling."""

    def forked(self, root: Root | None) -> None:
        """Go on in a forked process; without a root it is about to be replaced."""


class _StartingChild(threading.local):
    """What a thread is about to start."""

    root: Root | None = None
    executes: bool = False


STARTING = _StartingChild()

_parent: list[Parent | None] = [None]

on_arrival: list[Callable[[str], object]] = []
"""Called with what a process of multiprocessing was told, before it runs the program's main module."""

on_main: list[Callable[[str, str | None, Any], Any]] = []
"""Returns the code that runs in the place of that of a main module which multiprocessing loads."""

_hooked = False


def attend(parent: Parent | None) -> None:
    """Say who is asked about processes that start; None for nobody."""
    global _hooked  # noqa: PLW0603 - hooks on forks belong to the process
    _parent[0] = parent
    if not _hooked and hasattr(os, "register_at_fork"):
        _hooked = True
        os.register_at_fork(after_in_child=_forked, after_in_parent=_has_forked)


def attending() -> Parent | None:
    """Return who is asked about processes that start."""
    return _parent[0]


def birth(label: str, current: Any = None) -> Root | None:
    """Begin a lane for a process that starts from what is current, or a task for one; None where it is to have none."""
    parent = _parent[0]
    if parent is None or is_paused():
        return None
    return spawn(parent.current() if current is None else current, f"{CHILD}{label}")


def label_for(executable: Any, words: Any) -> str:
    """Name a program: by its script or module where an interpreter runs one."""
    name = os.path.basename(_text(executable))
    if not name.startswith("python"):
        return name
    options = iter([_text(word) for word in words][1:])
    for word in options:
        if word in {"-W", "-X", "--check-hash-based-pycs"}:
            next(options, None)
        elif word == "-m" or word.startswith("-m"):
            return word[2:] or next(options, name)
        elif word.startswith("-c"):
            return name
        elif not word.startswith("-"):
            return os.path.basename(os.path.normpath(word)) or name
    return name


def _text(word: Any) -> str:
    try:
        return os.fsdecode(word)
    except TypeError:
        return str(word)


def _forked() -> None:
    root, executes = STARTING.root, STARTING.executes
    STARTING.root, STARTING.executes = None, False
    if _parent[0] is not None:
        _parent[0].forked(None if executes else root)


def _has_forked() -> None:
    root = STARTING.root
    if not STARTING.executes and root is not None:
        STARTING.root = None
        if _parent[0] is not None:
            _parent[0].has_forked(root)


class ProcessHooks:
    """The hooks that give lanes to processes and to the tasks of pools of them."""

    def __init__(self) -> None:
        self._hooks: list[MethodHook] = []
        self._spawns: bool | None = None
        """Whether `subprocess` would call `os.posix_spawn` where it can."""

    def install(self) -> Callable[[], None]:
        """Put the hooks on what is imported already."""
        for name in MODULES:
            if name in sys.modules:
                self.imported(name)
        return self.uninstall

    def imported(self, module: str) -> None:
        """Put the hooks on a module that has just been imported."""
        owner: Any = sys.modules[module]
        if module == "subprocess" and getattr(owner, "_fork_exec", None) is not None:
            # The function below Popen, which leaves no frame in the traceback of what can't be started.
            self._put(owner, "_fork_exec", _fork_exec)
            # The documented way to have it called in any case.
            self._spawns = getattr(owner, "_USE_POSIX_SPAWN", None)
            owner._USE_POSIX_SPAWN = False  # noqa: SLF001 - see its documentation
        elif module == "multiprocessing.spawn":
            self._put(owner, "get_preparation_data", _get_preparation_data)
            self._put(owner, "prepare", _prepare)
            self._put(owner.runpy, "_run_code", _run_code)  # a frozen module, whose import nobody hears of
        elif module == "multiprocessing.pool":
            self._put(owner.Pool, "apply_async", _apply_async)
            self._put(owner.Pool, "_guarded_task_generation", _guarded_task_generation)
        elif module == "concurrent.futures.process":
            self._put(owner.ProcessPoolExecutor, "submit", _submit)

    def hold(self) -> None:
        """Make ours the outermost again, where someone else has put on or taken off something since."""
        for hook in self._hooks:
            hook.hold()

    def uninstall(self) -> None:
        """Take every hook off again."""
        if self._spawns is not None:
            sys.modules["subprocess"]._USE_POSIX_SPAWN = self._spawns  # type: ignore[attr-defined]  # noqa: SLF001
        while self._hooks:
            self._hooks.pop().take_off()

    def _put(self, owner: Any, name: str, wrap: Wrap) -> None:
        hook = MethodHook(owner, name, wrap)
        hook.hold()
        self._hooks.append(hook)


# --- other programs ------------------------------------------------------------------------------------------------


def _fork_exec(original: Any, _carried: Any) -> Any:
    def fork_exec(*arguments: Any) -> Any:
        parent, root = _parent[0], STARTING.root
        STARTING.root = None
        STARTING.executes = True
        try:
            if parent is None or (root is None and not is_paused()):
                return original(*arguments)
            words, names, close, kept, folder, entries, *rest = arguments
            told = _without(entries) if root is None else _with(entries, parent.told(root))
            return original(words, names, close, kept, folder, told, *rest)
        finally:
            STARTING.executes = False

    return fork_exec


def _with(entries: list[bytes] | None, told: str) -> list[bytes] | None:
    """Return an environment in which our variable says what a child is told; None is the process's own."""
    name = VARIABLE.encode() + b"="
    if entries is None:
        if VARIABLE not in os.environ:
            return None
        entries = [key + b"=" + value for key, value in os.environb.items()]
    return [name + told.encode() if entry.startswith(name) else entry for entry in entries]


def _without(entries: list[bytes] | None) -> list[bytes]:
    """Return an environment that doesn't tell a child of us; None is the process's own."""
    name = VARIABLE.encode() + b"="
    given = [key + b"=" + value for key, value in os.environb.items()] if entries is None else entries
    return [entry for entry in given if not entry.startswith(name)]


# --- multiprocessing -----------------------------------------------------------------------------------------------


def _get_preparation_data(original: Any, _carried: Any) -> Any:
    def get_preparation_data(name: Any) -> Any:
        data = original(name)
        if _parent[0] is not None and STARTING.root is not None:
            data[_PREPARED] = _parent[0].told(STARTING.root)
        return data

    return get_preparation_data


def _prepare(original: Any, _carried: Any) -> Any:
    def prepare(data: Any) -> Any:
        told = data.pop(_PREPARED, None)
        if told is not None:
            for each in on_arrival:
                each(told)
        return original(data)

    return prepare


def _run_code(original: Any, _carried: Any) -> Any:
    def _run_code(
        code: Any, run_globals: Any, init_globals: Any = None, mod_name: Any = None, *more: Any
    ) -> Any:
        if mod_name == "__mp_main__":
            for weave in on_main:
                code = weave(mod_name, code.co_filename, code)
        return original(code, run_globals, init_globals, mod_name, *more)

    return _run_code


# --- pools ---------------------------------------------------------------------------------------------------------


class Task:
    """A function on its way to a worker process, with the lane that its call belongs to.

    It arrives as the function itself, and the worker's thread in the lane: no frame of ours is in the worker's tracebacks.
    """

    __slots__ = ("_function", "_told")

    def __init__(self, function: Any, root: Root, parent: Parent) -> None:
        self._function = function
        above = root.parent
        self._told = (root.lane, parent.seq_of(above), root.collapses, parent.live_of(above))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return (arrived, (self._function, *self._told))


def arrived(function: Any, lane: str, seq: int | None, collapses: bool, live: bool) -> Any:  # noqa: FBT001 - from a pickle
    """Return the function of a task that has arrived, and go on in its lane."""
    if _parent[0] is not None:
        _parent[0].work(lane, seq, collapses, live)
    return function


def _submit(original: Any, _carried: Any) -> Any:
    def submit(pool: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        parent, root = _parent[0], None if _is_foreign() else birth(label_of(fn))
        if parent is None or root is None:
            return original(pool, fn, *args, **kwargs)
        # The threads and processes that this may start are the pool's own business; what encloses it may be denied them.
        token = CURRENT.set(Root(None, QUIET.lane, root.parent, quiet=True))
        try:
            return original(pool, Task(fn, root, parent), *args, **kwargs)
        finally:
            CURRENT.reset(token)

    return submit


def _apply_async(original: Any, _carried: Any) -> Any:
    def apply_async(pool: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
        parent, root = _parent[0], None if _in_threads(pool) or _is_foreign() else birth(label_of(func))
        given = func if parent is None or root is None else Task(func, root, parent)
        return original(pool, given, *args, **kwargs)

    return apply_async


def _guarded_task_generation(original: Any, _carried: Any) -> Any:
    def _guarded_task_generation(pool: Any, result_job: Any, func: Any, iterable: Any) -> Any:
        tasks = original(pool, result_job, func, iterable)
        parent = _parent[0]
        if parent is None or _in_threads(pool) or _is_foreign():
            return tasks
        return _carrying(tasks, parent, parent.current())

    return _guarded_task_generation


def _carrying(tasks: Iterator[Any], parent: Parent, current: Any) -> Iterator[Any]:
    for job, index, func, args, kwargs in tasks:
        # A batch is `(function, items)`, for a function of the pool's own.
        batch = args[0] if len(args) == 1 and isinstance(args[0], tuple) and args[0] else ()
        root = birth(label_of(batch[0] if batch and callable(batch[0]) else func), current)
        yield job, index, func if root is None else Task(func, root, parent), args, kwargs


def _is_foreign() -> bool:
    """Return whether workers run by another interpreter, where a task of ours might not arrive."""
    spawning = sys.modules.get("multiprocessing.spawn")
    other = None if spawning is None else spawning.get_executable()
    return other is not None and os.fsdecode(other) != sys.executable


def _in_threads(pool: Any) -> bool:
    return type(pool).__name__ == "ThreadPool"
