"""Options of our own that stand before a program's: parsed by hand, for argparse is slow to import and takes too much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autochron.errors import UsageError

FLAG, VALUE, MANY = "flag", "value", "many"


class Parsed:
    """What was given: options by name, and the rest from the first word that is none."""

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
            raise _unknown(command, name, options)
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


def _unknown(command: str, name: str, options: Mapping[str, str]) -> UsageError:
    from autochron.rules.nearest import nearest  # lazy: difflib

    near = nearest(options, name)
    hint = f"did you mean {near}?" if near else f"see autochron {command} --help"
    return UsageError(f"autochron {command} has no option {name}; {hint}")


def percentage(command: str, parsed: Parsed) -> float | None:
    """Read `--fail-under`; None where it isn't given."""
    given = parsed.values.get("--fail-under")
    if given is None:
        return None
    try:
        least = float(given)
    except ValueError:
        least = -1.0
    if not 0 <= least <= 100:
        raise UsageError(f"autochron {command}: --fail-under takes a percentage from 0 to 100, not {given}")
    return least


def seconds(command: str, parsed: Parsed) -> float | None:
    """Read `--timeout`; None where it isn't given."""
    given = parsed.values.get("--timeout")
    if given is None:
        return None
    try:
        found = float(given)
    except ValueError:
        found = 0.0
    if not 0 < found <= 86_400:
        raise UsageError(f"autochron {command}: --timeout takes seconds, up to a day, not {given}")
    return found
