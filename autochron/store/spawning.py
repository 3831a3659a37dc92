"""Start a store process where a fork isn't safe: in a program that runs already, and has threads and hooks of its own.

A fresh interpreter takes tens of milliseconds to start. So this is done only once the program has closed descriptors of the
store's.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
import tempfile
from typing import Final

import msgspec

from autochron import _originals
from autochron.effects.undisturbed import undisturbed
from autochron.store.custody import StoreProcess
from autochron.store.shared import SIZE, Shared

PATIENCE: Final = 10.0
"""Seconds to wait for the process."""

_CODE: Final = """
import json, sys
path, descriptor, file = json.loads(sys.argv[1])
sys.path[:0] = path
from autochron.store.service import main
main(descriptor, file)
"""


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
    descriptor = _memory()
    try:
        os.ftruncate(descriptor, SIZE)
        shared = Shared(descriptor)
        shared.owners[0] = _originals.getpid()
        shared.keep_for_ever()  # its copy of the descriptor, which it closes, may be the program's by then
        os.set_inheritable(descriptor, True)
        # Neither the environment nor what is installed is looked at, so nobody else's code runs there.
        words = [sys.executable, "-I", "-S", "-c", _CODE, json.dumps([_path(), descriptor, file])]
        child = os.posix_spawn(sys.executable, words, dict(os.environ))
    finally:
        os.close(descriptor)
    with contextlib.suppress(
        ChildProcessError
    ):  # the program waited for all its children, whichever they are
        os.waitpid(child, 0)  # it starts another process, and ends
    until = _originals.perf_counter_ns() + int(PATIENCE * 1e9)
    while not shared.process and _originals.perf_counter_ns() < until:
        _originals.sleep(0.001)
    return StoreProcess(shared, file) if shared.process else None


def _memory() -> int:
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
