"""Start a process of ours where a fork isn't safe: in a process that has threads, and hooks of forks that aren't ours.

A fresh interpreter takes tens of milliseconds to start. So this is done only where another tool has begun before us, or once
the program has closed descriptors of the store's.
"""

from __future__ import annotations

import contextlib
import errno
import json
import sys
import tempfile
from collections.abc import Collection
from typing import Final

import msgspec

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.effects.undisturbed import undisturbed
from autochron.store.custody import StoreProcess
from autochron.store.shared import SIZE, Shared

PATIENCE: Final = 10.0
"""Seconds to wait for the process."""

_CODE: Final = """
import importlib, json, sys
path, module, given = json.loads(sys.argv[1])
sys.path[:0] = path
importlib.import_module(module).main(*given)
"""


def spawn(module: str, *given: object, keep: Collection[int]) -> None:
    """Call `main` of a module of ours in a fresh interpreter, which inherits descriptors and starts another process.

    Raises:
        OSError: there can be none.
    """
    for each in keep:
        os.set_inheritable(each, True)
    try:
        # Neither the environment nor what is installed is looked at, so nobody else's code runs there.
        words = [sys.executable, "-I", "-S", "-c", _CODE, json.dumps([_path(), module, given])]
        child = os.posix_spawn(sys.executable, words, dict(os.environ))
    finally:
        for each in keep:
            os.set_inheritable(each, False)
    with contextlib.suppress(
        ChildProcessError
    ):  # the program waited for all its children, whichever they are
        os.waitpid(child, 0)  # it starts another process, and ends


def spawn_process(file: str) -> StoreProcess | None:
    """Return a store process for the store at an absolute path, once it runs; None where there can be none.

    Raises:
        OSError: the program closed our descriptor meanwhile; try again.
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
    descriptor = open_memory()
    try:
        os.ftruncate(descriptor, SIZE)
        shared = Shared(descriptor)
        shared.owners[0] = unpatched.getpid()
        shared.keep_for_ever()  # its copy of the descriptor, which it closes, may be the program's by then
        spawn("autochron.store.service", descriptor, file, keep=(descriptor,))
    finally:
        os.close(descriptor)
    until = unpatched.perf_counter_ns() + int(PATIENCE * 1e9)
    while not shared.process and unpatched.perf_counter_ns() < until:
        unpatched.sleep(0.001)
    return StoreProcess(shared, file) if shared.process else None


def open_memory() -> int:
    """Return a descriptor of memory, or of a file that has no name any more."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("autochron")
    descriptor, name = tempfile.mkstemp()
    os.unlink(name)
    return descriptor


def _path() -> list[str]:
    """Return the folders in which our own package and msgspec are found."""
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return [own, os.path.dirname(os.path.dirname(os.path.abspath(msgspec.__file__)))]
