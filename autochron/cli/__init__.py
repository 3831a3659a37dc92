"""The command line.

`run` and `replay` import nothing that they don't need, for they come before every program. This module itself imports least
of all, for Python may be started anew from here.
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

  run       record a program:           autochron run agent.py [ARG ...]
  replay    run it again from a trace:  autochron replay last
  incident  make a regression test:     autochron incident new last incidents/refund
  traces    list | show TRACE | diff TRACE TRACE | export TRACE FILE | import FILE | prune
  check     calls that escape a record:  autochron check src
  impact    which of these calls matter: autochron impact last
  mutate    what a test of an incident notices: autochron mutate incidents/refund
  rules     which rule matches what
  judge     how far a model's judgement agrees with labels

autochron COMMAND --help says more. TRACE is a name, an id or its prefix, `last`, or an exported file.
"""

_INTERRUPTED = 130
"""As a shell says it of what ctrl-C ended."""

_COMMANDS = ("run", "replay", "incident", "traces", "check", "impact", "mutate", "rules", "judge")
"""Each is a module here with a function of its name, which takes the words after the command and returns the status."""

_PROGRAM_COMMANDS = ("run", "replay")
"""These run a program in this process: they start fast, and streams and interrupts are the program's."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit: with 2 after a usage error, else with the command's own status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        hashseed.take()
        if words[:1] == ["run"] and not hashseed.current() and "--no-watch" not in words:
            hashseed.start_again(hashseed.choose())
        if words[:1] == ["replay"]:
            from autochron.cli.seed_lookup import seed_of  # lazy: it looks for a trace

            seed = seed_of(words[1:])
            if seed not in {"", hashseed.current()}:
                hashseed.start_again(seed)
    from autochron.errors import AutochronError  # lazy, as all that the process before it needs not

    is_program = bool(words) and words[0] in _PROGRAM_COMMANDS
    try:
        status = _dispatch(words)
        if not is_program:  # there it is the program's, and Python's to flush
            sys.stdout.flush()
    except AutochronError as error:
        sys.stderr.write(f"autochron: {error}\n")
        status = 2
    except BrokenPipeError:
        _close_stdout()
        status = 1
    except KeyboardInterrupt:
        if is_program:  # there it is the program's
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
        from autochron.cli.fast_import import FastImport  # lazy: not for the process before a new start

        with FastImport():
            function = _function_of(command)
    elif command in _COMMANDS:
        function = _function_of(command)
    else:
        raise _no_command(command)
    return function(words[1:])


def _function_of(command: str) -> Callable[[list[str]], int]:
    """Import the module of a command, and return the function of the same name."""
    from importlib import import_module  # lazy: not for the process before a new start

    function: Callable[[list[str]], int] = getattr(import_module(f"{__name__}.{command}"), command)
    return function


def _no_command(command: str) -> Exception:
    """Return the error for a word that names no command, with the nearest that does."""
    from autochron.errors import UsageError
    from autochron.rules.nearest import nearest  # lazy: difflib

    near = nearest((*_COMMANDS, "--help", "--version"), command)
    hint = f"did you mean {near}?" if near else "see autochron --help"
    return UsageError(f"there is no command {command!r}; {hint}")


def _close_stdout() -> None:
    """Keep Python from complaining at exit that nobody reads any more."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
