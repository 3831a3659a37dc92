"""Make the page docs/reference/commands.md of the help of all commands: `python -m docs.commands --write`.

Without `--write` the page is printed. tests/docs/test_commands_page.py compares the committed page with what this makes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from autochron.cli.overview import EXAMPLES, SECTIONS, TRACE_TEXT, VARIABLES
from autochron.cli.pages import sections
from autochron.cli.reference import command_pages
from autochron.cli.statuses import GENERAL

if TYPE_CHECKING:
    from autochron.cli.pages import CommandPage, OptionPage

PAGE = Path(__file__).parent / "reference" / "commands.md"

_HEAD = """\
# Commands

<!-- Made by `python -m docs.commands --write` from the help of the commands; not edited by hand. -->

`autochron …` is the same as `python -m autochron …`. `autochron COMMAND --help` shows the same as this page.
"""


def commands_page() -> str:
    """Return the text of the page."""
    pages = [
        page for page in command_pages() if " " not in page.name
    ]  # those of actions follow their command's
    lines = [_HEAD, *_overview({page.name for page in pages})]
    for page in pages:
        lines += _command(page, 2)
    return "\n".join(lines).rstrip() + "\n"


def _overview(with_page: set[str]) -> Iterator[str]:
    for title, commands in SECTIONS.items():
        yield f"**{title.capitalize()}**\n"
        for name, about in commands.items():
            link = f"[`autochron {name}`](#autochron-{name})" if name in with_page else f"`autochron {name}`"
            yield f"- {link}: {_text(about)}"
        yield ""
    yield f"{_text(TRACE_TEXT)}\n"
    yield "## Examples\n"
    yield from _examples(EXAMPLES)
    yield "## Environment and exit statuses\n"
    yield from _table(("variable", "meaning"), ((f"`{name}`", text) for name, text in VARIABLES))
    yield from _table(("exit status", "meaning"), ((f"{status}", text) for status, text in GENERAL.items()))
    yield "[Environment and exit statuses](environment.md) has the rest.\n"


def _command(page: CommandPage, level: int) -> Iterator[str]:
    """Yield the lines of a command, and those of its actions."""
    yield f"{'#' * level} `autochron {page.name}`\n"
    yield f"{_text(page.description)}\n"
    yield from ("```text", *page.usage, "```\n")
    for title, options in sections(page.options):
        yield from _table((title, ""), ((_heading(option), option.full_text) for option in options))
    if page.notes:
        yield f"{_text(page.notes)}\n"
    if page.examples:
        yield "Examples:\n"
        yield from _examples((example.command, example.text) for example in page.examples)
    if page.shape:
        yield from _table(("key of the JSON", "meaning"), ((f"`{key}`", text) for key, text in page.shape))
    if page.statuses:
        yield from _table(("exit status", "meaning"), page.statuses)
    for action in page.actions:
        yield from _command(action, level + 1)


def _heading(option: OptionPage) -> str:
    names = ", ".join(f"`{name}`" for name in option.names)
    return f"{names} `{option.metavar}`" if option.metavar else names


def _examples(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield from (f"- `{command}`: {_text(text)}" for command, text in pairs)
    yield ""


def _table(head: tuple[str, str], rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f"| {head[0]} | {head[1]} |"
    yield "|---|---|"
    yield from (f"| {first.replace('|', chr(92) + '|')} | {_text(second)} |" for first, second in rows)
    yield ""


def _text(text: str) -> str:
    """Return a plain text as Markdown: what Markdown would take for a mark-up is escaped, but for code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick that stands alone
        parts = ["\\`".join(parts)]
    for index in range(0, len(parts), 2):
        for mark in "*<[]|":
            parts[index] = parts[index].replace(mark, f"\\{mark}")
    return "`".join(parts)


def main() -> None:
    """Print the page, or write it."""
    if "--write" in sys.argv[1:]:
        PAGE.write_text(commands_page(), encoding="utf-8")
    else:
        sys.stdout.write(commands_page())


if __name__ == "__main__":
    main()
