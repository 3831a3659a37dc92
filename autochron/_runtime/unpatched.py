"""The functions of the standard library as they were before anything was woven or patched.

Code of ours that reads a clock, draws a random number, uses `os` or starts a thread takes them from here, so that a later
patch of the originals neither observes nor affects us.
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


def _copy(module: ModuleType, **replacements: ModuleType) -> ModuleType:
    """Return a copy of a module whose functions call each other's copies; `replacements` replace modules that it imports."""
    copied = ModuleType(module.__name__)
    copied.__dict__.update(vars(module), **replacements)
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
"""The program's own module `os`, for functions that we replace in it."""

if TYPE_CHECKING:
    import os as os  # noqa: PLC0414 - re-exported
else:
    # A copy, because programs replace functions of `os` by ones that raise, count or fake files: blockbuster, pyfakefs and
    # mocks do.
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
"""The id of this process. `getpid` is a system call, too slow for each crossing."""

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
"""`acquire(lock, blocking, timeout)` takes a lock. blockbuster replaces the type's method by one that refuses to wait."""
Event = threading.Event
get_ident = threading.get_ident
main_thread = threading.main_thread


_abspath = os.path.abspath


def temporary_folder() -> str:
    """Return the absolute path of the folder for temporary files. Not by `tempfile`, which draws random numbers."""
    return _abspath(environ.get("TMPDIR") or "/tmp")  # noqa: S108 - callers create files with random names there
