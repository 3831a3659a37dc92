"""Start a process of ours where a fork isn't safe: in a process that has threads, or fork hooks that aren't ours.

A fresh interpreter takes tens of milliseconds to start. So this is done only if another tool was started before us, or if the
program has closed descriptors of the store.
"""

from __future__ import annotations

import contextlib
import errno
import sys
from collections.abc import Collection
from typing import Final

import msgspec

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.effects.undisturbed import undisturbed
from autochron.store.own_descriptors import OwnDescriptor
from autochron.store.shared import SIZE, Shared
from autochron.store.store_process import StoreProcess

PATIENCE: Final = 10.0
"""Seconds to wait until the store process runs."""

_CODE: Final = """
import importlib, json, sys
path, module, arguments = json.loads(sys.argv[1])
sys.path[:0] = path
importlib.import_module(module).main(*arguments)
"""


def spawn(module: str, *arguments: object, keep: Collection[int]) -> None:
    """Call `main` of a module of ours in a fresh interpreter, which starts another process and ends.

    Args:
        module: the dotted name of the module.
        arguments: the arguments of `main`, as JSON values.
        keep: the descriptors that the interpreter inherits.

    Raises:
        OSError: no process can be started.
    """
    for descriptor in keep:
        os.set_inheritable(descriptor, True)
    try:
        # -I and -S ignore the environment and installed packages, so only our code runs there.
        words = [
            sys.executable,
            "-I",
            "-S",
            "-c",
            _CODE,
            msgspec.json.encode([_path(), module, arguments]).decode(),
        ]
        child = os.posix_spawn(sys.executable, words, dict(os.environ))
    finally:
        for descriptor in keep:
            with contextlib.suppress(OSError):  # the program has closed it meanwhile
                os.set_inheritable(descriptor, False)
    # ChildProcessError: the program has waited for all its children, and so for this one.
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)  # it ends as soon as it has started the other process


def spawn_process(file: str) -> StoreProcess | None:
    """Start a store process and wait until it runs; return None if there can be none.

    Args:
        file: the absolute path of the store.

    Raises:
        OSError: the program closed our descriptor meanwhile (EBADF); try again.
    """
    try:
        with undisturbed():
            return _spawned(file)
    except OSError as error:
        if error.errno == errno.EBADF:
            raise
        return None
    except (ValueError, AttributeError):
        return None


def _spawned(file: str) -> StoreProcess | None:
    memory = OwnDescriptor(open_memory())
    try:
        os.ftruncate(memory.number, SIZE)
        memory.check()
        shared = Shared(memory.number)
        shared.owners[0] = unpatched.getpid()
        shared.keep_for_ever()  # unmapping would close its descriptor, which may be the program's by then
        memory.check()
        spawn("autochron.store.service", memory.number, memory.identity, file, keep=(memory.number,))
    finally:
        memory.close()
    until = unpatched.perf_counter_ns() + int(PATIENCE * 1e9)
    while not shared.process and unpatched.perf_counter_ns() < until:
        unpatched.sleep(0.001)
    return StoreProcess(shared, file) if shared.process else None


def open_memory() -> int:
    """Return a descriptor of memory, or of an unlinked file where the system has no `memfd_create`."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("autochron")
    import tempfile  # lazy: it imports much, and Linux does without

    descriptor, name = tempfile.mkstemp()
    os.unlink(name)
    return descriptor


def _path() -> list[str]:
    """Return the folders of our own package and of msgspec, for `sys.path`."""
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return [own, os.path.dirname(os.path.dirname(os.path.abspath(msgspec.__file__)))]
