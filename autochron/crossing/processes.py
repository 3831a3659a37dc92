"""Processes that a program starts: each begins in a lane of its own, which its parent hands to it.

The lane is allocated where a process is started, in the starting thread, so that it is the same in every run. It is
handed over in one environment variable (`subprocess`) or in the preparation data of `multiprocessing` (spawn,
forkserver). A forked process has it in its memory. What a pool's worker does belongs to the lane of the task and not to
one of the worker, since which worker takes a task depends on timing.

The program sees the variable and may change it. It is replaced where it is present and never added, so a child that
gets an environment without it is not managed.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from autochron._runtime.own_frames import drop_frame
from autochron._runtime.unpatched import os
from autochron.crossing.lane_hooks import MethodHook, Wrap
from autochron.crossing.lanes import (
    CHILD,
    CURRENT,
    QUIET,
    LaneRoot,
    is_paused,
    label_of,
    spawn,
)

VARIABLE = "AUTOCHRON_CHILD"
"""The environment variable that hands a child process its context: the recording or replay that it belongs to."""

_PREPARED = "autochron_child"
"""The key of the same in the preparation data of multiprocessing."""

MODULES = frozenset(
    {"subprocess", "multiprocessing.spawn", "multiprocessing.pool", "concurrent.futures.process"}
)
"""The modules that start processes, or that a started process begins with."""


class Parent(Protocol):
    """The owner of the processes that this one starts: it has them recorded or served."""

    def current(self) -> Any:
        """Return the innermost open crossing, or the lane's root."""

    def context_of(self, root: LaneRoot) -> str:
        """Return the context of a process that begins in a lane, as the text that is handed to it."""

    def seq_of(self, crossing: Any) -> int | None:
        """Return the `seq` by which another process knows a crossing of this one."""

    def live_of(self, crossing: Any) -> bool:
        """Return whether a replay runs a crossing of this process for real."""

    def work(self, lane: str, seq: int | None, collapses: bool, live: bool) -> None:  # noqa: FBT001 - from a pickle
        """Move this thread into a lane that another process began.

        Args:
            lane: its name.
            seq: the crossing that encloses it; None where there is none.
            collapses: whether model crossings of packs right inside that crossing are no crossings of their own.
            live: whether a replay runs that crossing for real.
        """

    def has_forked(self, root: LaneRoot) -> None:
        """Note that a process was forked. It goes on in this lane, and needs no context."""

    def forked(self, root: LaneRoot | None) -> None:
        """Go on in a forked process.

        Args:
            root: the lane that the process begins in; None where another program is about to replace it.
        """


class _StartingChild(threading.local):
    """The process that a thread is about to start."""

    root: LaneRoot | None = None
    executes: bool = False


STARTING = _StartingChild()

_parent: list[Parent | None] = [None]

on_arrival: list[Callable[[str], object]] = []
"""Called with the context of a process of multiprocessing, before that runs the program's main module."""

on_main: list[Callable[[str, str | None, Any], Any]] = []
"""Return the code to run in place of a main module that multiprocessing loads."""

_hooked = False


def attend(parent: Parent | None) -> None:
    """Set the owner of the processes that start from now on; None: they have none."""
    global _hooked  # noqa: PLW0603 - hooks on forks belong to the process
    _parent[0] = parent
    if not _hooked and hasattr(os, "register_at_fork"):
        _hooked = True
        os.register_at_fork(after_in_child=_forked, after_in_parent=_has_forked)


def attending() -> Parent | None:
    """Return the owner of the processes that start."""
    return _parent[0]


def birth(label: str, current: Any = None) -> LaneRoot | None:
    """Begin a lane for a process, or for a task of a process pool.

    Args:
        label: the name of what is started.
        current: the open crossing or lane root that it is started from; by default what is current.

    Returns:
        The root of the lane; None in a pause, and where processes have no owner.
    """
    parent = _parent[0]
    if parent is None or is_paused():
        return None
    return spawn(parent.current() if current is None else current, f"{CHILD}{label}")


def label_for(executable: Any, words: Any) -> str:
    """Name a program: where an interpreter runs a script or a module, by that."""
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
    """The hooks that give lanes to processes, and to the tasks of process pools."""

    def __init__(self) -> None:
        self._hooks: list[MethodHook] = []
        self._used_posix_spawn: bool | None = None
        """The value of `subprocess._USE_POSIX_SPAWN` before the hooks; None where it was not changed."""

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
            # Not `Popen`: a hook there would be a frame in the traceback of a program that can't be started.
            self._put(owner, "_fork_exec", _fork_exec)
            # The documented way to have `_fork_exec` called in any case.
            self._used_posix_spawn = getattr(owner, "_USE_POSIX_SPAWN", None)
            owner._USE_POSIX_SPAWN = False  # noqa: SLF001 - see its documentation
        elif module == "multiprocessing.spawn":
            self._put(owner, "get_preparation_data", _get_preparation_data)
            self._put(owner, "prepare", _prepare)
            self._put(
                owner.runpy, "_run_code", _run_code
            )  # `runpy` is frozen, so import hooks don't see its import
        elif module == "multiprocessing.pool":
            self._put(owner.Pool, "apply_async", _apply_async)
            self._put(owner.Pool, "_guarded_task_generation", _guarded_task_generation)
        elif module == "concurrent.futures.process":
            self._put(owner.ProcessPoolExecutor, "submit", _submit)

    def hold(self) -> None:
        """Make our wrappers the outermost again, where someone else has put on or taken off wrappers since."""
        for hook in self._hooks:
            hook.hold()

    def uninstall(self) -> None:
        """Take all hooks off."""
        if self._used_posix_spawn is not None:
            sys.modules["subprocess"]._USE_POSIX_SPAWN = self._used_posix_spawn  # type: ignore[attr-defined]  # noqa: SLF001
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
            words, executables, close_fds, fds, folder, entries, *rest = arguments
            entries = (
                _without_variable(entries)
                if root is None
                else _with_variable(entries, parent.context_of(root))
            )
            return original(words, executables, close_fds, fds, folder, entries, *rest)
        except BaseException as error:
            drop_frame(error)
            raise
        finally:
            STARTING.executes = False

    return fork_exec


def _with_variable(entries: list[bytes] | None, context: str) -> list[bytes] | None:
    """Return an environment in which our variable has the child's context, if the variable is there.

    Args:
        entries: `NAME=value` of each variable; None for the environment of this process.
        context: what the child is to know of its lane.
    """
    name = VARIABLE.encode() + b"="
    if entries is None:
        if VARIABLE not in os.environ:
            return None
        entries = [key + b"=" + value for key, value in os.environb.items()]
    return [name + context.encode() if entry.startswith(name) else entry for entry in entries]


def _without_variable(entries: list[bytes] | None) -> list[bytes]:
    """Return an environment without our variable; None is the environment of this process."""
    name = VARIABLE.encode() + b"="
    if entries is None:
        entries = [key + b"=" + value for key, value in os.environb.items()]
    return [entry for entry in entries if not entry.startswith(name)]


# --- multiprocessing -----------------------------------------------------------------------------------------------


def _get_preparation_data(original: Any, _carried: Any) -> Any:
    def get_preparation_data(name: Any) -> Any:
        try:
            data = original(name)
        except BaseException as error:
            drop_frame(error)
            raise
        if _parent[0] is not None and STARTING.root is not None:
            data[_PREPARED] = _parent[0].context_of(STARTING.root)
        return data

    return get_preparation_data


def _prepare(original: Any, _carried: Any) -> Any:
    def prepare(data: Any) -> Any:
        context = data.pop(_PREPARED, None)
        if context is not None:
            for arrive in on_arrival:
                arrive(context)
        try:
            return original(data)
        except BaseException as error:
            drop_frame(error)
            raise

    return prepare


def _run_code(original: Any, _carried: Any) -> Any:
    def _run_code(
        code: Any, run_globals: Any, init_globals: Any = None, mod_name: Any = None, *more: Any
    ) -> Any:
        if mod_name == "__mp_main__":
            for weave in on_main:
                code = weave(mod_name, code.co_filename, code)
        try:
            return original(code, run_globals, init_globals, mod_name, *more)
        except BaseException as error:
            drop_frame(error)
            raise

    return _run_code


# --- pools ---------------------------------------------------------------------------------------------------------


class Task:
    """A function on its way to a worker process, with the lane that its call belongs to.

    Unpickling yields the function itself and moves the worker's thread into the lane, so the worker's tracebacks have
    no frame of ours.
    """

    __slots__ = ("_function", "_lane")

    def __init__(self, function: Any, root: LaneRoot, parent: Parent) -> None:
        self._function = function
        enclosing = root.parent
        self._lane = (root.lane, parent.seq_of(enclosing), root.collapses, parent.live_of(enclosing))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return (arrived, (self._function, *self._lane))


def arrived(function: Any, lane: str, seq: int | None, collapses: bool, live: bool) -> Any:  # noqa: FBT001 - from a pickle
    """Move this thread into the lane of a task that has arrived, and return the task's function; see `Parent.work`."""
    if _parent[0] is not None:
        _parent[0].work(lane, seq, collapses, live)
    return function


def _submit(original: Any, _carried: Any) -> Any:
    def submit(pool: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        parent, root = _parent[0], None if _is_foreign() else birth(label_of(fn))
        task, token = fn, None
        if parent is not None and root is not None:
            task = Task(fn, root, parent)
            # The threads and processes that this may start get no lanes. The parent stays: a replay may deny them to it.
            token = CURRENT.set(LaneRoot(None, QUIET.lane, root.parent, quiet=True))
        try:
            return original(pool, task, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise
        finally:
            if token is not None:
                CURRENT.reset(token)

    return submit


def _apply_async(original: Any, _carried: Any) -> Any:
    def apply_async(pool: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
        parent, root = _parent[0], None if _in_threads(pool) or _is_foreign() else birth(label_of(func))
        task = func if parent is None or root is None else Task(func, root, parent)
        try:
            return original(pool, task, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise

    return apply_async


def _guarded_task_generation(original: Any, _carried: Any) -> Any:
    def _guarded_task_generation(pool: Any, result_job: Any, func: Any, iterable: Any) -> Any:
        try:
            tasks = original(pool, result_job, func, iterable)
        except BaseException as error:
            drop_frame(error)
            raise
        parent = _parent[0]
        if parent is None or _in_threads(pool) or _is_foreign():
            return tasks
        return _carrying(tasks, parent, parent.current())

    return _guarded_task_generation


def _carrying(tasks: Iterator[Any], parent: Parent, current: Any) -> Iterator[Any]:
    for job, index, func, args, kwargs in tasks:
        # A batch is `(function, items)`; `func` is then a function of the pool's own.
        batch = args[0] if len(args) == 1 and isinstance(args[0], tuple) and args[0] else ()
        root = birth(label_of(batch[0] if batch and callable(batch[0]) else func), current)
        yield job, index, func if root is None else Task(func, root, parent), args, kwargs


def _is_foreign() -> bool:
    """Return whether another interpreter runs the workers: `Task` might not be importable there."""
    spawning = sys.modules.get("multiprocessing.spawn")
    executable = None if spawning is None else spawning.get_executable()
    return executable is not None and os.fsdecode(executable) != sys.executable


def _in_threads(pool: Any) -> bool:
    return type(pool).__name__ == "ThreadPool"
