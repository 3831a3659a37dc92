"""The help of a command as data, and as text.

The parsers make a `CommandPage` of each command and of each action. The help, the completion of shells and the
documentation are drawn from it, so that they can't disagree.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autochron._runtime.unpatched import os

WIDTH = 100
"""The most columns of a help text; fewer on a narrower terminal."""

_LEAST = 40
_INDENT = 22
"""The columns of an option's name. The text of a longer one begins on the next line."""


@dataclass(frozen=True, slots=True)
class OptionPage:
    """One option.

    Attributes:
        names: its spellings, such as `-q` and `--quiet`.
        metavar: the name of its value; empty for an option without a value.
        text: what it does.
        default: the value where it isn't given, as words; empty where that goes without saying.
        choices: the values that it takes; empty if it takes others.
        repeated: whether it may be given several times.
        section: the title that it stands under; empty for `options`.
    """

    names: tuple[str, ...]
    metavar: str
    text: str
    default: str = ""
    choices: tuple[str, ...] = ()
    repeated: bool = False
    section: str = ""

    @property
    def full_text(self) -> str:
        """What it does, with its default, and whether it may be given again."""
        more = [f"one of {', '.join(self.choices)}"] if self.choices else []
        more += ["may be given again"] if self.repeated else []
        more += [f"default: {self.default}"] if self.default else []
        return f"{self.text} ({'; '.join(more)})" if more else self.text


@dataclass(frozen=True, slots=True)
class Example:
    """A command line, and what it does."""

    command: str
    text: str


@dataclass(frozen=True, slots=True)
class CommandPage:
    """The help of a command or of an action.

    Attributes:
        name: the words after `autochron`, such as `traces diff`.
        summary: what it does, in a few words.
        usage: the command lines, one for each form.
        description: what it does, in sentences.
        options: in the order of the help.
        examples: real command lines.
        statuses: pairs of an exit status and its meaning.
        actions: the pages of its actions.
        shape: the keys of what `--json` writes, with their meanings; empty without that option.
        notes: what else is said after the options.
        words: the words that it takes after its name, if they can be listed.
    """

    name: str
    summary: str
    usage: tuple[str, ...]
    description: str
    options: tuple[OptionPage, ...] = ()
    examples: tuple[Example, ...] = ()
    statuses: tuple[tuple[str, str], ...] = ()
    actions: tuple[CommandPage, ...] = ()
    shape: tuple[tuple[str, str], ...] = ()
    notes: str = ""
    words: tuple[str, ...] = ()


def draw(page: CommandPage, width: int | None = None) -> str:
    """Return the help text of a page, wrapped to a number of columns; by default those of the terminal, `WIDTH` at most."""
    width = columns() if width is None else width
    lines = [f"{'usage: ' if not at else '       '}{form}" for at, form in enumerate(page.usage)]
    lines += ["", *textwrap.wrap(page.description, width, break_on_hyphens=False)]
    if page.actions:
        rows = [(action.name.rpartition(" ")[2], action.summary) for action in page.actions]
        lines += ["", "actions:", *table(rows, width)]
    for title, options in sections(page.options):
        rows = [(_heading(option), option.full_text) for option in options]
        lines += ["", f"{title}:", *table(rows, width)]
    if page.notes:
        lines += ["", *textwrap.wrap(page.notes, width, break_on_hyphens=False)]
    if page.examples:
        lines += ["", "examples:"]
        for example in page.examples:
            lines += [f"  {example.command}", f"      {example.text}"]
    if page.shape:
        lines += ["", "json:", *table(page.shape, width)]
    if page.statuses:
        lines += ["", "exit statuses:", *table(page.statuses, width)]
    if page.actions:
        lines += ["", f"autochron {page.name} ACTION --help has the options of an action."]
    return "\n".join(lines) + "\n"


def sections(options: Sequence[OptionPage]) -> Iterator[tuple[str, list[OptionPage]]]:
    """Yield the titles of the options' sections, in the order of their first options, with the options."""
    by_title: dict[str, list[OptionPage]] = {}
    for option in options:
        by_title.setdefault(option.section or "options", []).append(option)
    yield from by_title.items()


def table(rows: Sequence[tuple[str, str]], width: int, *, indent: int = _INDENT) -> Iterator[str]:
    """Yield the lines of a table of two columns. The second one is wrapped."""
    longest = max((len(first) for first, _ in rows), default=0)
    start = min(longest + 4, indent)
    for first, second in rows:
        text = textwrap.wrap(second, max(width - start, _LEAST // 2), break_on_hyphens=False) or [""]
        if len(first) + 4 > start:
            yield f"  {first}"
        else:
            yield f"  {first}".ljust(start) + text.pop(0)
        yield from (" " * start + line for line in text)


def columns() -> int:
    """Return the columns for a help text: those of the terminal, `WIDTH` at most."""
    named = os.environ.get("COLUMNS", "")
    try:
        wide = int(named) if named.isdecimal() else os.get_terminal_size().columns
    except (OSError, ValueError):
        wide = 0
    return max(min(wide or WIDTH, WIDTH), _LEAST)


def _heading(option: OptionPage) -> str:
    names = ", ".join(option.names)
    return f"{names} {option.metavar}" if option.metavar else names
