"""The hash seed, which the order of sets depends on: chosen for a run, so that its replay can have the same.

Python reads it only when it starts. So a command that runs a program replaces its process by one with the seed in the
environment, and then restores the environment: the program and its children see the variables that they would have seen.
"""

from __future__ import annotations

import os
import sys

VARIABLE = "PYTHONHASHSEED"

_SEED_AND_PREVIOUS = "AUTOCHRON_HASH_SEED"
"""The variable that marks the seed as ours in a process that was started anew: the seed, a comma, the previous value."""

_MOST = 4_294_967_295

_taken: list[str] = []
"""The seed of this process, if it was started anew with one."""

_is_own = [False]
"""Whether this process is a command of ours, so that it may be replaced."""


def restore_environment() -> None:
    """Mark this process as a command of ours, and remove our seed from its environment."""
    _is_own[0] = True
    seed, comma, before = os.environ.pop(_SEED_AND_PREVIOUS, "").partition(",")
    if not comma or os.environ.get(VARIABLE) != seed:
        return
    if before:
        os.environ[VARIABLE] = before
    else:
        del os.environ[VARIABLE]
    _taken[:] = [seed]


def current() -> str:
    """Return the seed of this process; empty if Python chose a random one."""
    if _taken:
        return _taken[0]
    seed = os.environ.get(VARIABLE, "")
    return seed if seed.isdecimal() and not sys.flags.ignore_environment else ""


def choose() -> str:
    """Return a random seed. It is not 0, which would disable hash randomization."""
    return str(int.from_bytes(os.urandom(4), "big") % _MOST + 1)


def variables_for(seed: str) -> dict[str, str]:
    """Return the environment variables with which a command of ours gets this seed."""
    return {VARIABLE: seed, _SEED_AND_PREVIOUS: f"{seed},{os.environ.get(VARIABLE, '')}"}


def start_again(seed: str) -> None:
    """Replace this process by one with the seed, the same interpreter and the same command line.

    Do nothing if the process was not started as our command, if a debugger or tracer runs, which would lose the program, if
    Python ignores its environment variables, or if the process was replaced already.
    """
    words, arguments = sys.orig_argv[1:], sys.argv[1:]
    if not (_is_own[0] and sys.executable and arguments) or os.name != "posix" or _taken:
        return
    if words[-len(arguments) :] != arguments:  # a process that was started as something else, and calls us
        return
    if sys.flags.ignore_environment or sys.gettrace() is not None or sys.getprofile() is not None:
        return
    try:
        os.execve(sys.executable, [sys.executable, *words], _environment() | variables_for(seed))  # noqa: S606 - us
    except OSError:  # the run goes on with the seed that it has
        return


def _environment() -> dict[str, str]:
    """Return the environment variables that this process was started with.

    If no locale is set, Python switches to UTF-8 mode and sets LC_CTYPE for its child processes (PEP 538 and 540). The flag
    shows that LC_CTYPE was not set before: with it Python would not have switched.
    """
    environment = dict(os.environ)
    is_automatic = sys.flags.utf8_mode and "utf8" not in sys._xoptions and not environment.get("PYTHONUTF8")  # noqa: SLF001 - the only place of -X
    if is_automatic and not environment.get("LC_ALL"):
        environment.pop("LC_CTYPE", None)
    return environment
