"""The world as it was before anything was woven or patched.

Whoever reads a clock, draws a random number, touches `os` or starts a thread on autochron's own behalf does it
through these names, so that a later patch of the originals neither sees us nor changes us.
"""

from __future__ import annotations

import _thread
import genericpath
import os as _os
import sys
import threading
import time
from types import FunctionType, ModuleType

TYPE_CHECKING = False


def _copy(module: ModuleType, **inside: ModuleType) -> ModuleType:
    """Copy a module: its functions call each other's copies, and what is given is in the place of what it imports."""
    copied = ModuleType(module.__name__)
    copied.__dict__.update(vars(module), **inside)
    for name, value in vars(module).items():
        if type(value) is FunctionType and (
            value.__globals__ is vars(module) or value.__globals__ is vars(genericpath)
        ):
            function = FunctionType(
                value.__code__, copied.__dict__, value.__name__, value.__defaults__, value.__closure__
            )
            function.__kwdefaults__ = value.__kwdefaults__
            setattr(copied, name, function)
    return copied


program_os = _os
"""The module that the program has: for what we put into it."""

if TYPE_CHECKING:
    import os as os  # noqa: PLC0414 - handed on
else:
    # A program may put functions of its own in the place of those of `os`, which raise, count or make up files: blockbuster,
    # pyfakefs and mocks do. Ours stay.
    os = _copy(_os, path=_copy(_os.path))
    os.path.os = os

perf_counter_ns = time.perf_counter_ns
time_ns = time.time_ns
sleep = time.sleep

urandom = os.urandom
getrefcount = sys.getrefcount
getframe = sys._getframe
getpid = os.getpid
process = [os.getpid()]
"""The id of this process: to ask for it is a system call, too much for each crossing."""

if hasattr(os, "register_at_fork"):

    def _forked() -> None:
        process[0] = getpid()

    os.register_at_fork(after_in_child=_forked)

fork = getattr(os, "fork", None)
immediate_exit = os._exit
environ = os.environ

Thread = threading.Thread
start_new_thread = _thread.start_new_thread
get_native_id = threading.get_native_id
Lock = threading.Lock
RLock = _thread.RLock
acquire = _thread.LockType.acquire
"""Take a lock, `acquire(lock, blocking, timeout)`: blockbuster puts another method into the type, which refuses to wait."""
Event = threading.Event
get_ident = threading.get_ident
main_thread = threading.main_thread


_abspath = os.path.abspath


def temporary_folder() -> str:
    """Return the absolute path of the folder for temporary files, as Python takes it; `tempfile` draws random numbers."""
    return _abspath(environ.get("TMPDIR") or "/tmp")  # noqa: S108 - who makes a file there draws its name by chance
