"""The seed of hashes, by which sets have their order: chosen for a run, so that its replay can have the same.

Python takes it when it starts and never again. So a command that runs a program starts Python anew with a seed, and takes
the variable away again: the program and what it starts find the environment that they would have found.
"""

from __future__ import annotations

import os
import sys

VARIABLE = "PYTHONHASHSEED"

_OURS = "AUTOCHRON_HASH_SEED"
"""Set beside it where it is ours, to the process that was started anew: the seed, a comma, and what was set before."""

_MOST = 4_294_967_295

_taken: list[str] = []

_is_own = [False]
"""Whether this process is a command of ours, so that it may be replaced."""


def take() -> None:
    """Say that this process is a command of ours, and take our seed out of its environment again."""
    _is_own[0] = True
    seed, comma, before = os.environ.pop(_OURS, "").partition(",")
    if not comma or os.environ.get(VARIABLE) != seed:
        return
    if before:
        os.environ[VARIABLE] = before
    else:
        del os.environ[VARIABLE]
    _taken[:] = [seed]


def current() -> str:
    """Return the seed of this process; empty where chance has chosen it."""
    if _taken:
        return _taken[0]
    seed = os.environ.get(VARIABLE, "")
    return seed if seed.isdecimal() and not sys.flags.ignore_environment else ""


def choose() -> str:
    """Choose a seed. It isn't 0, which would switch the mixing of hashes off."""
    return str(int.from_bytes(os.urandom(4), "big") % _MOST + 1)


def chosen(seed: str) -> dict[str, str]:
    """Return what a command of ours is told to have this seed, and take that out of its environment again."""
    return {VARIABLE: seed, _OURS: f"{seed},{os.environ.get(VARIABLE, '')}"}


def start_again(seed: str) -> None:
    """Replace this process by one with the seed, with the same interpreter and the same words.

    Not where it was started as something else, nor under a debugger or a tracer, which would lose the program, nor where
    Python was told to ignore its variables, nor a second time.
    """
    words, given = sys.orig_argv[1:], sys.argv[1:]
    if not (_is_own[0] and sys.executable and given) or os.name != "posix" or _taken:
        return
    if words[-len(given) :] != given:  # a process that was started as something else, and calls us
        return
    if sys.flags.ignore_environment or sys.gettrace() is not None or sys.getprofile() is not None:
        return
    try:
        os.execve(sys.executable, [sys.executable, *words], _environment() | chosen(seed))  # noqa: S606 - us
    except OSError:  # then sets have the order that they have
        return


def _environment() -> dict[str, str]:
    """Return the variables that this process was started with.

    Where no locale is set, Python turns to UTF-8, which its flags tell, and sets LC_CTYPE for the processes to come (PEP 538
    and 540). Was that there from the start, there would be no such flag.
    """
    found = dict(os.environ)
    by_itself = sys.flags.utf8_mode and "utf8" not in sys._xoptions and not found.get("PYTHONUTF8")  # noqa: SLF001 - the only place of -X
    if by_itself and not found.get("LC_ALL"):
        found.pop("LC_CTYPE", None)
    return found
