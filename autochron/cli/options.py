"""A parser for the options of `run` and `replay`, without argparse.

Importing argparse takes 6 ms, for which the user's program would have to wait. And all words after the program belong to the
program, whatever they look like. Argparse would have to be told where they begin, and finding that takes this loop anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from autochron.cli.statuses import OK
from autochron.cli.verbosity import VERBOSITY, describe
from autochron.errors import UsageError

FLAG, VALUE, MANY = "flag", "value", "many"
"""Kinds of options: without a value, with one value, and with a value each time that it is given."""

QUIET, VERBOSE, HELP = {"--quiet", "-q"}, {"--verbose", "-v"}, {"--help", "-h"}
"""The spellings of the options of every command."""

COMMON = dict.fromkeys(sorted(QUIET | VERBOSE | HELP), FLAG)
"""The kinds of these options."""


class Parsed:
    """Parsed options by name.

    Attributes:
        values: of options with one value; the last one counts.
        lists: of options that may be given several times.
        flags: the options without a value that were given.
        rest: the words that are no options.
    """

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.lists: dict[str, list[str]] = {}
        self.flags: set[str] = set()
        self.rest: list[str] = []


def parse(command: str, arguments: Sequence[str], options: Mapping[str, str], *, stop: bool) -> Parsed:
    """Split arguments into options and other words.

    Args:
        command: `run` or `replay`, for an error's message.
        arguments: the words after the command.
        options: the kind of each option by name.
        stop: whether our options end before the first word that is no option, and before `-m`. If not, other words may stand
            among the options. Both end at `--`.

    Raises:
        UsageError: an option is unknown, or has a value too many or none.
    """
    parsed = Parsed()
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word in ("--", "-m") and (stop or word == "--"):
            parsed.rest += [word, *words]
            break
        if not word.startswith("-") or word == "-":
            parsed.rest.append(word)
            if stop:
                parsed.rest += words
                break
            continue
        name, joined, value = word.partition("=")
        kind = options.get(name)
        if kind is None:
            raise unknown_option(f"autochron {command}", name, options)
        if kind == FLAG:
            if joined:
                raise UsageError(f"autochron {command}: {name} takes no value")
            parsed.flags.add(name)
            continue
        if not joined:
            if not words:
                raise UsageError(f"autochron {command}: {name} wants a value after it")
            value = words.pop(0)
        if not value:
            raise UsageError(f"autochron {command}: {name} wants a value, and got an empty one")
        if kind == MANY:
            parsed.lists.setdefault(name, []).append(value)
        else:
            parsed.values[name] = value
    return parsed


def say(parsed: Parsed) -> None:
    """Set what `-q` and `-v` say, and with `-v` write which rules and store are used."""
    verbose = bool(parsed.flags & VERBOSE)
    VERBOSITY.set(quiet=bool(parsed.flags & QUIET), verbose=verbose)
    if verbose:
        describe(parsed.values.get("--rules"), parsed.values.get("--store"))


def show_help(command: str) -> int:
    """Write the help of `run` or `replay`, and return the status."""
    import sys  # lazy, as the others: for the help alone

    from autochron.cli.pages import draw
    from autochron.cli.program_pages import PROGRAM_PAGES

    sys.stdout.write(draw(PROGRAM_PAGES[command]))
    return OK


def unknown_option(prog: str, name: str, known: Iterable[str]) -> UsageError:
    """Return the error for an unknown option of a command such as `autochron run`, with the nearest known one."""
    from autochron.rules.nearest import nearest  # lazy: difflib

    near = nearest(known, name)
    hint = f"did you mean {near}?" if near else f"see {prog} --help"
    return UsageError(f"{prog} has no option {name}; {hint}")
