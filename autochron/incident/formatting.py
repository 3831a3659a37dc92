"""Pieces of an incident's files: filled templates, and Python source that is wrapped to the width of a line."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from string import Template

from autochron._runtime.unpatched import os
from autochron.escaping import python_comment, python_string, shell_word
from autochron.incident.generated import Argument
from autochron.model import Command

_TEMPLATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates")
_BLOCK = "with autochron.record(...)"
_WIDTH = 100
"""Characters of a line."""


def fill_template(name: str, /, **words: str) -> str:
    """Return a file of `templates` with its `$placeholders` substituted. The words have to be escaped already."""
    with open(os.path.join(_TEMPLATES, name), encoding="utf-8") as file:
        return Template(file.read()).substitute(words)


def format_argument(value: Argument) -> str:
    """Return an argument of the marker as Python source; a tuple becomes a list."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(python_string, value))}]"
    return python_string(value) if isinstance(value, str) else str(value)


def in_ticks(text: str) -> str:
    """Return a text between backticks."""
    return f"`{text}`"


def format_arguments(words: Sequence[str]) -> str:
    """Return the arguments of the marker, on one line if they fit."""
    line = ", ".join(words)
    if len(line) + len("@pytest.mark.autochron()") <= _WIDTH and "\n" not in line:
        return line
    return "\n" + "".join(f"    {word},\n" for word in words)


def format_volatile(fields: Sequence[tuple[str, str]]) -> str:
    """Return the marker's argument `volatile`, where each field has a comment with example values."""
    lines = [f"        {python_string(field)},  # {python_comment(example)}" for field, example in fields]
    return "\n".join(["volatile=[", *lines, "    ]"])


def format_comment(text: str) -> str:
    """Return a text as wrapped comment lines in the body of a function."""
    return "\n".join(f"    # {line}" for line in textwrap.wrap(python_comment(text), _WIDTH - 6))


def format_list(arguments: Sequence[str]) -> str:
    """Return the arguments of a call in the body of a function, on one line if they fit."""
    line = ", ".join(arguments)
    if len(line) <= _WIDTH:
        return line
    return "\n" + "".join(f"        {argument},\n" for argument in arguments) + "    "


def describe_command(command: Command, code: Callable[[str], str]) -> str:
    """Return in words how a trace was made; `code` formats commands and names as code."""
    if command.mode == "block":
        return f"a call of {code(command.target)}" if command.target else f"a block {code(_BLOCK)}"
    prefix = {"script": [], "module": ["-m"], "console": ["--"]}[command.mode]
    return code(" ".join(["autochron run", *map(shell_word, [*prefix, command.target, *command.arguments])]))
