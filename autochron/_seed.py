"""The seed of hashes, by which sets have their order: chosen for a run, so that its replay can have the same.

Python takes it when it starts and never again. So a command that runs a program starts Python anew with a seed, and takes
the variable away again: the program and what it starts find the environment that they would have found.
"""

from __future__ import annotations

import os
import sys

VARIABLE = "PYTHONHASHSEED"

_OURS = "AUTOCHRON_HASH_SEED"
"""Set beside it where it is ours, to the process that was started anew."""

_MOST = 4_294_967_295

_taken: list[str] = []


def take() -> None:
    """Take our seed out of the environment again, in the process that was started with it."""
    seed = os.environ.get(_OURS)
    if seed is None:
        return
    del os.environ[_OURS]
    if os.environ.get(VARIABLE) == seed:
        del os.environ[VARIABLE]
        _taken[:] = [seed]


def current() -> str:
    """Give the seed of this process; empty where chance has chosen it."""
    if _taken:
        return _taken[0]
    seed = os.environ.get(VARIABLE, "")
    return seed if seed.isdecimal() else ""


def choose() -> str:
    """Choose a seed. It isn't 0, which would switch the mixing of hashes off."""
    return str(int.from_bytes(os.urandom(4), "big") % _MOST + 1)


def start_again(seed: str) -> None:
    """Replace this process by one with the seed, where that can be done: with the same interpreter and the same words.

    Not under a debugger or a tracer, which would lose the program, nor where Python was told to ignore its variables.
    """
    words = sys.orig_argv[1:]
    if not (sys.executable and words) or os.name != "posix":
        return
    if sys.flags.ignore_environment or sys.gettrace() is not None or sys.getprofile() is not None:
        return
    environment = {**os.environ, VARIABLE: seed, _OURS: seed}
    try:
        os.execve(sys.executable, [sys.executable, *words], environment)  # noqa: S606 - it is we ourselves
    except OSError:  # then sets have the order that they have
        return
