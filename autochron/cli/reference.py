"""The help of all commands as data, from which the documentation and the completion of shells are made.

    from autochron.cli.reference import command_pages

    for page in command_pages():
        page.name          # "run", "traces", "traces diff", ...: an action follows its command
        page.summary       # a few words
        page.usage         # command lines, one for each form
        page.description   # sentences
        page.options       # each with names, metavar, text, default, choices, repeated and section
        page.examples      # each with command and text
        page.statuses      # pairs of an exit status and its meaning
        page.shape         # pairs of a key of what --json writes and its meaning; empty without --json
        page.actions       # the pages of a command's actions; these follow it in the list, too
        page.notes         # what else is said

`cli.pages.draw(page, width)` is the text of `--help`. `cli.overview.SECTIONS` has the commands by section,
`cli.overview.VARIABLES` the environment variables, and `cli.statuses.GENERAL` the general meanings of exit statuses.

A new command `NAME` has a place in `cli._COMMANDS`, in `cli.overview.SECTIONS` and in `cli.statuses.MEANINGS`, and a module
`cli.NAME` with two functions: `NAME(arguments)`, which returns the status, and `parser()`, which returns its `CommandParser`
or its `ActionParsers`. Help, completion and tests follow from these.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from autochron.cli.overview import SUMMARIES
from autochron.cli.pages import CommandPage
from autochron.cli.program_pages import PROGRAM_PAGES


def command_pages() -> list[CommandPage]:
    """Return the pages of all commands in the order of `autochron --help`, each with those of its actions after it."""
    return list(_pages())


def _pages() -> Iterator[CommandPage]:
    for command in SUMMARIES:
        if command == "help":
            continue
        page = page_of(command)
        yield page
        yield from page.actions


def page_of(command: str) -> CommandPage:
    """Return the page of a command."""
    if command in PROGRAM_PAGES:
        return PROGRAM_PAGES[command]
    page: CommandPage = import_module(f"autochron.cli.{command}").parser().page()
    return page
