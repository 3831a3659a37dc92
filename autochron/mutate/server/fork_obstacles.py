"""Find out why a fork would not inherit all of a program's state: what it has opened, started or changed until now.

A fork inherits memory. It does not inherit threads and timers, it shares the positions of open files with its parent, and
whatever was changed outside of the process is changed for all forks.
"""

from __future__ import annotations

import functools
import resource
import signal
import stat
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from importlib.util import source_from_cache
from types import FrameType
from typing import Any

from autochron._runtime import unpatched
from autochron._runtime.unpatched import getframe, os, program_os
from autochron.isolation.denials import Isolation
from autochron.project import Project

_LIMITS = tuple(getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_"))

_COUNTERS = (
    ("multiprocessing.process", "_process_counter", "count(1)"),
    ("multiprocessing.util", "_finalizer_counter", "count(0)"),
)
"""What counts the objects of `multiprocessing`, each of which remembers its process: module, name, and text at the start."""

_READS = frozenset({"open", "os.listdir", "os.scandir"})
_HOOKS = "sys.addaudithook"

_PATIENCE = 300
"""Looks for other threads, a millisecond apart: a thread of ours that was joined may still be about to end."""


class ForkObstacles:
    """What keeps a fork from inheriting all of a program's state, watched from `begin` on.

    Attributes:
        noted: an obstacle that was noted since; empty if there is none.
        opened: the absolute paths of the files and folders that were read since; of bytecode, that of its source.
    """

    def __init__(self, project: Project, who: str, own_streams: Collection[int] = ()) -> None:
        """Make one.

        Args:
            project: tells the program's own code from libraries.
            who: what is watched, in words for messages, such as `the test`.
            own_streams: descriptors of files that each fork replaces by one of its own, with the same content.
        """
        self.noted = ""
        self.opened: set[str] = set()
        self._who = who
        self._own_streams = own_streams
        self._isolation: Isolation | None = Isolation(("network", "subprocess", "files"), project)
        self._descriptors: dict[int, tuple[Any, ...]] = {}
        self._project = project
        self._shared_memory: list[str] = []
        self._random_state: Any = None
        self._surroundings: tuple[Any, ...] = ()
        self._undo: Callable[[], None] = lambda: None

    def begin(self) -> None:
        """Watch from now on."""
        events = () if self._isolation is None else self._isolation.events

        def on_audit_event(event: str, arguments: tuple[Any, ...]) -> None:
            if self._isolation is not None and (event in events or event in _READS or event == _HOOKS):
                self._on_audit_event(event, arguments)

        sys.addaudithook(on_audit_event)
        self._descriptors = self._open_descriptors()
        self._shared_memory = _shared_memory()
        self._random_state = _random_state()
        self._surroundings = _surroundings()
        self._undo = self._note_fork_hooks()

    def _note_fork_hooks(self) -> Callable[[], None]:
        """Note that the program registers functions for forks: they would be called for ours. Return the undo function."""
        original = program_os.register_at_fork

        @functools.wraps(original)
        def register_at_fork(**functions: Any) -> None:
            if self._project.owns(getframe(1).f_code.co_filename):
                self.noted = f"{self._who} has registered functions for forks"
            original(**functions)

        program_os.register_at_fork = register_at_fork

        def undo() -> None:
            if program_os.register_at_fork is register_at_fork:
                program_os.register_at_fork = original

        return undo

    def _on_audit_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note an access to the network, a process, a file or a database."""
        isolation, self._isolation = self._isolation, None  # events of the check itself are not the program's
        assert isolation is not None  # noqa: S101 - the caller has checked it
        try:
            if event in _READS and not (event == "os.listdir" and _is_import(getframe(2))):
                self._note_opened(arguments[0])
            if event == _HOOKS:
                self.noted = f"{self._who} has added an audit hook"
            elif event == "sqlite3.connect" or isolation.reached(event, arguments, getframe(2)) is not None:
                self.noted = f"{self._who} reaches outside of its process ({event})"
        finally:
            self._isolation = isolation

    def _note_opened(self, path: Any) -> None:
        if isinstance(path, int):
            return
        path = os.curdir if path is None else path  # of a folder
        with suppress(TypeError, ValueError):
            text = os.path.abspath(os.fsdecode(path))
            self.opened.add(source_from_cache(text) if text.endswith(".pyc") else text)

    def end(self) -> str:
        """Stop watching; return why a fork made now would not inherit all of the state, or an empty text."""
        obstacle = self._found()
        self._isolation = None
        self._undo()
        return obstacle

    def changed_random_state(self) -> Any:
        """Return the state of `random` if the program has changed it; Python seeds `random` anew in a fork."""
        state = _random_state()
        return None if state == self._random_state else state

    def _found(self) -> str:
        asyncio: Any = sys.modules.get("asyncio.events")
        if self.noted:
            return self.noted
        if asyncio is not None and asyncio._get_running_loop() is not None:  # noqa: SLF001 - the public function raises where there is none
            return "an event loop runs"
        if _has_other_threads():
            return f"there is another thread ({_names_of_threads()})"
        if self._open_descriptors() != self._descriptors:
            return "a file was opened, read or written"
        if _shared_memory() != self._shared_memory:
            return "memory is shared with other processes"
        if _surroundings() != self._surroundings:
            return "limits, a tracer or processes of multiprocessing were set up"
        if signal.sigpending():
            return "a signal is pending"
        if any(
            signal.getitimer(timer)[0]
            for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
        ):
            return "a timer runs"
        return ""

    def _open_descriptors(self) -> dict[int, tuple[Any, ...]]:
        """Describe each open descriptor of this process.

        Returns:
            By descriptor, the device and the inode; for a regular file also the position in it, its size in bytes, and the
            time of its last change in nanoseconds, unless it is one of the streams, which may be written to.
        """
        descriptions: dict[int, tuple[Any, ...]] = {}
        streams = [os.fstat(descriptor) for descriptor in self._own_streams]
        for descriptor in map(int, os.listdir("/proc/self/fd")):
            with suppress(OSError):  # the descriptor of the listing is closed by now
                status = os.fstat(descriptor)
                is_stream = any(os.path.samestat(status, stream) for stream in streams)
                is_file = stat.S_ISREG(status.st_mode) and not is_stream
                position = (
                    (os.lseek(descriptor, 0, os.SEEK_CUR), status.st_size, status.st_mtime_ns)
                    if is_file
                    else ()
                )
                descriptions[descriptor] = (status.st_dev, status.st_ino, *position)
        return descriptions


def restore_random(state: Any) -> None:
    """Restore what `changed_random_state` returned, in a fork."""
    if state is not None:
        sys.modules["random"].setstate(state)


def _is_import(frame: FrameType) -> bool:
    """Return whether the import system lists a folder. Which modules are there matters only if one is added."""
    return frame.f_globals.get("__name__") in {"_frozen_importlib_external", "importlib._bootstrap_external"}


def _surroundings() -> tuple[Any, ...]:
    """Return what a program may have set up that a fork would not have, or that would watch our own work."""
    limits = tuple(resource.getrlimit(number) for number in _LIMITS)
    made = tuple(str(getattr(sys.modules.get(module), name, start)) for module, name, start in _COUNTERS)
    return sys.getprofile(), sys.gettrace(), limits, made


def _random_state() -> Any:
    random: Any = sys.modules.get("random")
    return None if random is None else random.getstate()


def _shared_memory() -> list[str]:
    """Return the parts of this process's memory that it shares with its forks, as the kernel lists them."""
    lines = _text_of("/proc/self/maps").splitlines()
    return [line.split(None, 1)[0] for line in lines if line.split(None, 2)[1][1:4:2] == "ws"]


def _has_other_threads() -> bool:
    for _ in range(_PATIENCE):
        if len(os.listdir("/proc/self/task")) == 1:
            return False
        unpatched.sleep(0.001)
    return True


def _names_of_threads() -> str:
    """Return the names that the system has for the other threads of this process."""
    names = set()
    for thread in os.listdir("/proc/self/task"):
        if int(thread) != os.getpid():
            with suppress(OSError):
                names.add(_text_of(f"/proc/self/task/{thread}/comm").strip())
    return ", ".join(sorted(names))


def _text_of(path: str) -> str:
    """Return the text of a file of the kernel, whatever the program has made of `open`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = list(iter(lambda: os.read(descriptor, 1 << 20), b""))
    finally:
        os.close(descriptor)
    return b"".join(parts).decode("utf-8", "replace")
