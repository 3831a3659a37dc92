"""The command `autochron init`: its options, and the calls that do the work."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autochron._runtime.unpatched import os
from autochron.cli import shapes
from autochron.cli.command_parser import CommandParser
from autochron.cli.statuses import OK
from autochron.config import default_store, find_rule_file
from autochron.errors import TraceNotFoundError, UsageError
from autochron.escaping import shell_word
from autochron.rules.loading import load_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autochron.diagnostics.initial_rules import InitialTool
    from autochron.diagnostics.project_survey import Survey
    from autochron.model import Command, Rules
    from autochron.ports import Record
    from autochron.report.text import Page


def init(arguments: list[str]) -> int:
    """Run `autochron init`: write the first rules of a project, by what its source and its latest trace show.

    Returns:
        The exit status, which is 0. Rules that are there already stay as they are.

    Raises:
        UsageError: an option or a word is wrong, or there is no such folder.
        RuleError: the rules that are there can't be read, or a file can't be written.
    """
    options = parser().read(arguments)
    if len(options.words) > 1:
        raise UsageError("autochron init takes one folder")
    folder = os.path.abspath(options.words[0] if options.words else os.curdir)
    if not os.path.isdir(folder):
        raise UsageError(f"there is no folder {options.words[0]}; name the one with the project's source")
    from autochron.diagnostics.initial_rules import ignore_in_git, initial_tools
    from autochron.diagnostics.project_survey import survey_project
    from autochron.program.own_package import with_own_package

    file = find_rule_file(folder)
    is_own = file is not None and os.path.dirname(file) == folder
    rules = load_rules(file if is_own else None, root=None if is_own else folder)
    trace = _latest_trace(options, rules, folder)
    survey = survey_project(folder)
    known = rules if trace is None else with_own_package(rules, trace.header.command)
    tools = initial_tools(survey, trace, known)
    lacks: list[str] = []
    if is_own:
        from autochron.diagnostics.initial_rules import missing_text

        path, lacks = str(rules.file), missing_text(survey, tools, rules).splitlines()
    else:
        from autochron.diagnostics.initial_rules import initial_text, write_rules

        path = write_rules(folder, initial_text(survey, tools))
    done = _Initial(
        rules=os.path.relpath(path),
        written=not is_own,
        replaces=None if is_own or file is None else os.path.relpath(file),
        lacks=lacks,
        gitignore=ignore_in_git(folder),
        next=list(_next_commands(folder, survey, trace)),
    )
    if options.json:
        _write_json(done, survey, tools)
    elif not options.quiet:
        _write_text(done, folder, survey, tools)
    return OK


@dataclass(frozen=True, slots=True)
class _Initial:
    """What was done.

    Attributes:
        rules: the rule file.
        written: whether it was written; false if it was there already.
        replaces: the rule file of a folder above that it takes the place of; None if there is none.
        lacks: the lines that the rules lack, if they were there already.
        gitignore: whether `.autochron/` was added to `.gitignore`.
        next: the commands to go on with.
    """

    rules: str
    written: bool
    replaces: str | None
    lacks: list[str]
    gitignore: bool
    next: list[str]


def parser() -> CommandParser:
    """Return the parser of the command."""
    parser = CommandParser(
        "init",
        "[OPTION ...] [FOLDER]",
        "Write a first autochron.toml for the project in a folder, by default the working folder: with the tools that its "
        "source and its latest trace show, and comments that say what else there is. Nothing of it is run, and rules "
        "that are there already stay as they are.",
        examples=(
            ("autochron init", "rules for the project in this folder"),
            ("autochron init services/shop", "for the one in another folder"),
        ),
        shape=shapes.INIT,
    )
    parser.add_places("", "where the latest trace is")
    return parser


def _latest_trace(options: Namespace, rules: Rules, folder: str) -> Record | None:
    """Return the latest trace; None where there is none."""
    url = options.store or default_store(rules.file, folder)
    if options.store is None and not os.path.exists(url):
        return None
    from autochron.store import open_store

    try:
        return open_store(url).record("last")
    except TraceNotFoundError:
        return None


def _write_json(done: _Initial, survey: Survey, tools: list[InitialTool]) -> None:
    """Write what was done and found as JSON."""
    from msgspec.json import encode

    found = [
        {
            "name": tool.name,
            "places": [place for _, place in tool.targets],
            "is_certain": len(tool.targets) == 1,
        }
        for tool in tools
    ]
    data = {
        "rules": done.rules,
        "written": done.written,
        "tools": found,
        "packs": dict(survey.packs),
        "project": list(survey.project),
        "lacks": done.lacks,
        "gitignore": done.gitignore,
        "next": done.next,
    }
    sys.stdout.write(encode(data).decode() + "\n")


def _write_text(done: _Initial, folder: str, survey: Survey, tools: list[InitialTool]) -> None:
    """Write what was done and found as text."""
    from autochron.diagnostics.initial_rules import GIT_IGNORE
    from autochron.report.text import Page

    page = Page(sys.stdout)
    if done.written:
        _write_rules(page, done, survey, tools)
    else:
        page.line(f"{done.rules} is there already, and stays as it is", "bold")
        page.line("  it lacks:" if done.lacks else "  it lacks nothing that was found")
        for line in done.lacks:
            page.line(f"  {line}".rstrip())
    if done.gitignore:
        page.line(f"{os.path.relpath(os.path.join(folder, GIT_IGNORE))}: .autochron/ added")
    page.line("next:", "bold")
    for command in done.next:
        page.line(f"  {command}")


def _write_rules(page: Page, done: _Initial, survey: Survey, tools: list[InitialTool]) -> None:
    """Say what is in the rule file that was written."""
    from autochron.report.text import plural

    written = [tool for tool in tools if len(tool.targets) == 1]
    page.line(f"{done.rules} written, with {plural(len(written), 'tool')}", "bold")
    for tool in tools:
        places = ", ".join(place for _, place in tool.targets)
        choice = (
            "" if tool in written else f"one of {len(tool.targets)} definitions, which is for you to choose: "
        )
        page.line(f"  {tool.name}  {choice}{places}", None if tool in written else "yellow")
    for pack, place in survey.packs.items():
        page.line(f"  pack {pack}, which {place} imports the library of")
    if survey.project:
        page.line(f"  your own code: {', '.join(survey.project)}")
    if done.replaces is not None:
        page.line(f"  it takes the place of {done.replaces} for what is in this folder", "yellow")


def _next_commands(folder: str, survey: Survey, trace: Record | None) -> Iterator[str]:
    """Yield the next commands: to record the program, and to replay it."""
    command = None if trace is None or trace.header.command.mode == "block" else trace.header.command
    command = command or next(iter(survey.programs), None)
    if folder != os.getcwd():
        yield f"cd {shell_word(os.path.relpath(folder))}"
    yield f"autochron run {'PROGRAM' if command is None else _words(command)}"
    yield "autochron replay last"


def _words(command: Command) -> str:
    """Return a command as the words after `autochron run`."""
    mode = {"module": ["-m"], "console": ["--"]}.get(command.mode, [])
    return " ".join([*mode, *map(shell_word, (command.target, *command.arguments))])
