"""The command line.

`run` and `replay` import only the modules that they need, because the user's program waits for them. This module imports
even less, because it may start Python anew with another hash seed.
"""

from __future__ import annotations

import sys

from autochron._runtime import hashseed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

HELP = """\
usage: autochron COMMAND ...

  init      rules for this project:     autochron init
  run       record a program:           autochron run agent.py [ARG ...]
  replay    run it again from a trace:  autochron replay last
  incident  make a regression test:     autochron incident new last incidents/refund
  traces    list | show TRACE | diff TRACE TRACE | export TRACE FILE | import FILE | prune
  view      look at a trace, or at two:  autochron view last
  check     calls that escape a record:  autochron check src
  impact    which of these calls matter: autochron impact last
  mutate    what a test of an incident notices: autochron mutate incidents/refund
  rules     which rule matches what
  judge     how far a model's judgement agrees with labels
  adopt     code that is marked for Chronicle: autochron adopt src

autochron COMMAND --help says more. TRACE is a name, an id or its prefix, `last`, or an exported file.
"""

_INTERRUPTED = 130
"""The status that a shell reports for a program which ctrl-C ended."""

_COMMANDS = (
    *(
        "init",
        "run",
        "replay",
        "incident",
        "traces",
        "view",
        "check",
        "impact",
        "mutate",
        "rules",
        "judge",
        "adopt",
    ),
)
"""Each is a module here with a function of its name, which takes the words after the command and returns the status."""

_PROGRAM_COMMANDS = ("run", "replay")
"""These run a program in this process: they start fast, and streams and interrupts are the program's."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit.

    Args:
        arguments: the words after `autochron`; None for those of this process.

    Raises:
        SystemExit: always, with the command's own status; 2 after an error of ours, 130 after ctrl-C, 1 if nobody reads
            the output, or it can't be written.
        KeyboardInterrupt: ctrl-C ended a program that `run` or `replay` runs in this process.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        hashseed.restore_environment()
        if words[:1] == ["run"] and not hashseed.current() and "--no-watch" not in words:
            hashseed.start_again(hashseed.choose())
        if words[:1] == ["replay"]:
            from autochron.cli.seed_lookup import seed_of  # lazy: for replay alone

            seed = seed_of(words[1:])
            if seed not in {"", hashseed.current()}:
                hashseed.start_again(seed)
    from autochron.errors import AutochronError  # lazy: a process that starts Python anew doesn't come here

    is_program = bool(words) and words[0] in _PROGRAM_COMMANDS and words[1:2] not in (["--help"], ["-h"])
    try:
        status = _dispatch(words)
        if not is_program:  # else the stream is the program's, and Python flushes it at exit
            sys.stdout.flush()
    except AutochronError as error:
        sys.stderr.write(f"autochron: {error}\n")
        status = 2
    except BrokenPipeError:
        _close_stdout()
        status = 1
    except OSError as error:
        if is_program or not _is_of_writing(error):
            raise
        sys.stderr.write(f"autochron: the output can't be written: {error.strerror}\n")
        _close_stdout()
        status = 1
    except KeyboardInterrupt:
        if is_program:  # the program's own interrupt
            raise
        sys.stderr.write("autochron: interrupted\n")
        status = _INTERRUPTED
    sys.exit(status)


def _dispatch(words: list[str]) -> int:
    """Run the command that the first word names, with the others as its arguments, and return its status."""
    command = words[0] if words else "--help"
    if command in ("-h", "--help", "help"):
        sys.stdout.write(HELP)
        return 0
    if command == "--version":
        from autochron import __version__

        sys.stdout.write(f"autochron {__version__}\n")
        return 0
    if command in _PROGRAM_COMMANDS:
        from autochron.cli.fast_import import (
            FastImport,
        )  # lazy: a process that starts Python anew doesn't need it

        with FastImport():
            function = _function_of(command)
    elif command in _COMMANDS:
        function = _function_of(command)
    else:
        raise _no_command(command)
    return function(words[1:])


def _function_of(command: str) -> Callable[[list[str]], int]:
    """Import the module of a command, and return the function of the same name."""
    from importlib import import_module  # lazy: as above

    function: Callable[[list[str]], int] = getattr(import_module(f"{__name__}.{command}"), command)
    return function


def _no_command(command: str) -> Exception:
    """Return the error for a word that names no command, with the nearest command's name."""
    from autochron.errors import UsageError
    from autochron.rules.nearest import nearest  # lazy: difflib

    near = nearest((*_COMMANDS, "--help", "--version"), command)
    hint = f"did you mean {near}?" if near else "see autochron --help"
    return UsageError(f"there is no command {command!r}; {hint}")


def _is_of_writing(error: OSError) -> bool:
    """Return whether an error is that of writing to a full or broken device."""
    import errno  # lazy: for this error alone

    causes = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
    return error.filename is None and error.errno in causes


def _close_stdout() -> None:
    """Redirect standard output to nowhere, so that Python's flush at exit doesn't fail on the closed pipe."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
