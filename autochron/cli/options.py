"""The options of `run` and `replay`, which stand before those of a program, read without argparse.

To import argparse takes 6 ms, and these two come before every program. And what follows the program belongs to the program,
whatever it looks like: argparse would have to be told where that begins, and to find out takes this module's loop anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from autochron.errors import UsageError

FLAG, VALUE, MANY = "flag", "value", "many"


class Parsed:
    """The options by name, and the other words."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.lists: dict[str, list[str]] = {}
        self.flags: set[str] = set()
        self.rest: list[str] = []


def parse(command: str, arguments: Sequence[str], options: Mapping[str, str], *, stop: bool) -> Parsed:
    """Split arguments into options and the rest.

    With `stop` the first word that is no option ends our part (also `-m` and `--`); else words may stand among options.
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


def unknown_option(prog: str, name: str, known: Iterable[str]) -> UsageError:
    """Return the error for an option that a command such as `autochron run` hasn't, with the nearest that it has."""
    from autochron.rules.nearest import nearest  # lazy: difflib

    near = nearest(known, name)
    hint = f"did you mean {near}?" if near else f"see {prog} --help"
    return UsageError(f"{prog} has no option {name}; {hint}")
