"""The command line.

`run` and `replay` import only the modules that they need, because the user's program waits for them. This module imports
even less, because it may start Python anew with another hash seed.
"""

from __future__ import annotations

import sys

from autochron._runtime import hashseed
from autochron.cli.statuses import FOUND, INTERRUPTED, OK, REFUSED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

_COMMANDS = (
    *("run", "replay", "incident", "mutate", "judge", "traces", "view", "check", "impact"),
    *("init", "rules", "doctor", "completion", "adopt"),
)
"""Each is a module here with a function of its name, which takes the words after the command and returns the status.

`cli.overview` says what they do. The modules have a function `parser`, too (`cli.reference`).
"""

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
        _show_traceback(error)
        sys.stderr.write(f"autochron: {error}\n")
        status = REFUSED
    except BrokenPipeError:
        _close_stdout()
        status = FOUND
    except OSError as error:
        if is_program or not _is_of_writing(error):
            raise
        sys.stderr.write(f"autochron: the output can't be written: {error.strerror}\n")
        _close_stdout()
        status = FOUND
    except KeyboardInterrupt:
        if is_program:  # the program's own interrupt
            raise
        sys.stderr.write("autochron: interrupted\n")
        status = INTERRUPTED
    sys.exit(status)


def _dispatch(words: list[str]) -> int:
    """Run the command that the first word names, with the others as its arguments, and return its status."""
    command = words[0] if words else "--help"
    if command in ("-h", "--help", "help"):
        return _help(words[1:] if command == "help" else [])
    if command == "--version":
        from autochron import __version__

        sys.stdout.write(f"autochron {__version__}\n")
        return OK
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


def _help(topics: list[str]) -> int:
    """Write the help of autochron, of a command or of an action, or the exit statuses, and return the status."""
    from autochron.cli.overview import overview, status_table  # lazy: for the help alone

    if not topics:
        text = overview()
    elif topics == ["statuses"]:
        text = status_table()
    else:
        from autochron.cli.pages import draw
        from autochron.cli.reference import page_of

        if topics[0] not in _COMMANDS:
            raise _no_command(topics[0])
        page, wanted = page_of(topics[0]), " ".join(topics)
        known = {page.name: page, **{action.name: action for action in page.actions}}
        if wanted not in known:
            from autochron.errors import UsageError

            raise UsageError(f"there is no help for {wanted!r}; autochron help takes a command, or statuses")
        text = draw(known[wanted])
    sys.stdout.write(text)
    return OK


def _show_traceback(error: BaseException) -> None:
    """With `-v`, write the traceback of an error to standard error."""
    from autochron.cli.verbosity import VERBOSITY  # lazy: as above

    if VERBOSITY.verbose:
        import traceback

        traceback.print_exception(error)


def _no_command(command: str) -> Exception:
    """Return the error for a word that names no command, with the nearest command's name."""
    from autochron.errors import UsageError
    from autochron.rules.nearest import nearest  # lazy: difflib

    near = nearest((*_COMMANDS, "help", "--help", "--version"), command)
    if near is None and command.startswith("-"):
        return UsageError(
            f"{command!r} is no command; options come after the command: autochron COMMAND {command}"
        )
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
