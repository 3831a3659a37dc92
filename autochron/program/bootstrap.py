"""The start of an interpreter that a recorded or replayed program has started, called from a `.pth` file.

Nothing is imported here that isn't needed to find out that there is nothing to do. A `.pth` file and not a `sitecustomize`:
that would shadow the user's own, and is not read under `-E`.

The interpreter runs a script's code itself, past every import hook. So the audit event before it is where we step in: the
script is run in its place as `autochron run` runs one, and the interpreter then ends as it would after it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from autochron.crossing.processes import VARIABLE

_HELPERS = ("from multiprocessing.resource_tracker ", "from multiprocessing.semaphore_tracker ")
"""Processes of the standard library's own, in which nothing of the program runs."""

_SERVERS = ("from multiprocessing.forkserver ", "from multiprocessing.spawn ")
"""Processes that are told later what they are."""

_RUNS = frozenset({"cpython.run_file", "cpython.run_module", "cpython.run_command", "cpython.run_stdin"})

_started: list[bool] = []


def start() -> None:
    """Have this process recorded or served, where it is a child of one that is; never raises.

    One that can't be recorded runs as it is, and says nothing: whoever started it names it. One that can't be served ends.
    """
    if _started:  # in a virtual environment Python reads `.pth` files twice
        return
    _started.append(True)
    if _is_apart():
        return
    try:
        _start(os.environ.get(VARIABLE, ""))
    except Exception as error:  # a program must start, whatever is wrong with us
        if '"mode":"replay"' in os.environ.get(VARIABLE, ""):
            _refuse(f"{type(error).__name__}: {error}")


def _is_apart() -> bool:
    """Return whether this process heeds no environment: it was asked not to, or has more rights than who started it."""
    if sys.flags.ignore_environment or sys.flags.isolated:
        return True
    return os.name == "posix" and (os.getuid() != os.geteuid() or os.getgid() != os.getegid())


def _refuse(error: str) -> None:
    """End a process that would do for real what is to be served."""
    try:
        os.write(2, f"autochron: this process can't be served: {error}\n".encode())
    finally:
        os._exit(2)


def _start(told: str) -> None:
    from autochron.session.children import read_handing  # lazy: see above

    handing = read_handing(told)
    command = _command()
    if handing is None or handing.process == os.getpid() or command.startswith(_HELPERS):
        return
    if sys.flags.interactive or sys.flags.inspect:
        return
    from autochron.program.join import Joining

    joining = Joining(handing)
    if command.startswith(_SERVERS):
        joining.wait()
        return
    joining.weave()
    _before_main(joining.run)


def _command() -> str:
    """Return what the interpreter was given with -c."""
    words = sys.orig_argv
    return words[words.index("-c") + 1] if "-c" in words[:-1] else ""


def _before_main(run: Callable[[str, Any], None]) -> None:
    """Call `run` with what is about to run, once; what it raises ends the process as the program would."""
    waiting = [run]

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if waiting and event in _RUNS:
            waiting.pop()(event, arguments[0] if arguments else None)

    hook.__cantrace__ = True  # type: ignore[attr-defined]  # the program runs inside, and may be debugged
    sys.addaudithook(hook)
