"""docs/reference/commands.md is made of the help of the commands."""

import re
from pathlib import Path

from autochron.cli.reference import command_pages
from docs.commands import PAGE, commands_page

TEXT = Path(PAGE).read_text("utf-8")


def test_the_page_is_that_of_the_commands():
    assert commands_page() == TEXT, "run python -m docs.commands --write"


def test_each_command_and_action_has_its_options_and_statuses():
    headings = re.split(r"^#{2,} `autochron (.+)`$", TEXT, flags=re.MULTILINE)
    sections = dict(zip(headings[1::2], headings[2::2], strict=True))
    pages = {page.name: page for page in command_pages()}
    assert set(sections) == set(pages)
    for name, page in pages.items():
        for option in page.options:
            assert all(f"`{spelling}`" in sections[name] for spelling in option.names), (name, option)
        for status, _ in page.statuses:
            assert f"| {status} | " in sections[name], (name, status)
