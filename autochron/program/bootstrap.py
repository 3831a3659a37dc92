"""The start of an interpreter that a recorded or replayed program has started; a `.pth` file calls it.

At the top, this module imports only what it takes to find out that there is nothing to do. The installation has a
`.pth` file and not a `sitecustomize`: that would shadow the user's own, and is not read under `-E`.

The interpreter runs a script's code itself, past every import hook. So we step in at the audit event that precedes it.
We run the script as `autochron run` does, and then end the process as the interpreter would.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from autochron.crossing.processes import VARIABLE

_HELPERS = ("from multiprocessing.resource_tracker ", "from multiprocessing.semaphore_tracker ")
"""How the commands of helper processes of the standard library begin. They run no code of the program."""

_SERVERS = ("from multiprocessing.forkserver ", "from multiprocessing.spawn ")
"""How the commands of processes of `multiprocessing` begin. They get their context later."""

_RUNS = frozenset({"cpython.run_file", "cpython.run_module", "cpython.run_command", "cpython.run_stdin"})

_started: list[bool] = []
"""Not empty once `start` was called."""


def start() -> None:
    """Have this process recorded or served, if it is a child of one that is. Never raises.

    A process that can't be recorded runs unchanged, without a message: its parent reports it. A process that can't be
    served ends with status 2.
    """
    if _started:  # in a virtual environment Python reads `.pth` files twice
        return
    _started.append(True)
    if _is_apart():
        return
    try:
        _start(os.environ.get(VARIABLE, ""))
    except Exception as error:  # a program must start, whatever is wrong with us
        if isinstance(error, ImportError) and "subinterpreter" in str(error):
            return  # msgspec does not load there; the process's own recording tells that nothing of it is recorded
        if '"mode":"replay"' in os.environ.get(VARIABLE, ""):
            _refuse(f"{type(error).__name__}: {error}")


def _is_apart() -> bool:
    """Return whether this process must ignore the environment, by its options or because it runs set-uid or set-gid."""
    if sys.flags.ignore_environment or sys.flags.isolated:
        return True
    return os.name == "posix" and (os.getuid() != os.geteuid() or os.getgid() != os.getegid())


def _refuse(error: str) -> None:
    """End a process that would do for real what has to be served."""
    try:
        os.write(2, f"autochron: this process can't be served: {error}\n".encode())
    finally:
        os._exit(2)


def _start(text: str) -> None:
    from autochron.session.children import read_context  # lazy: see above

    context = read_context(text)
    command = _command()
    if context is None or context.process == os.getpid() or command.startswith(_HELPERS):
        return
    if sys.flags.interactive or sys.flags.inspect:
        return
    from autochron.program.join import Joining

    joining = Joining(context)
    if command.startswith(_SERVERS):
        joining.wait()
        return
    joining.weave()
    _before_main(joining.run)


def _command() -> str:
    """Return the code that the interpreter was given with `-c`."""
    words = sys.orig_argv
    return words[words.index("-c") + 1] if "-c" in words[:-1] else ""


def _before_main(run: Callable[[str, Any], None]) -> None:
    """Call `run` once with the event and the argument of what the interpreter is about to run.

    An exception of `run` ends the process as one of the program would.
    """
    waiting = [run]

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if waiting and event in _RUNS:
            waiting.pop()(event, arguments[0] if arguments else None)

    hook.__cantrace__ = True  # type: ignore[attr-defined]  # the program runs inside, and may be debugged
    sys.addaudithook(hook)
