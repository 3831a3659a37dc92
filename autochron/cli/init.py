"""The command `autochron init`: its options, and the calls that do the work."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from autochron._runtime.unpatched import os
from autochron.cli import shapes
from autochron.cli.command_parser import CommandParser
from autochron.config import default_store, find_rule_file
from autochron.errors import TraceNotFoundError, UsageError
from autochron.escaping import shell_word
from autochron.rules.loading import load_rules

if TYPE_CHECKING:
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
    from autochron.diagnostics.initial_rules import GIT_IGNORE, ignore_in_git, initial_tools
    from autochron.diagnostics.project_survey import survey_project
    from autochron.program.own_package import with_own_package
    from autochron.report.text import Page

    file = find_rule_file(folder)
    is_own = file is not None and os.path.dirname(file) == folder
    rules = load_rules(file if is_own else None, root=None if is_own else folder)
    trace = _latest_trace(options, rules, folder)
    survey = survey_project(folder)
    known = rules if trace is None else with_own_package(rules, trace.header.command)
    tools = initial_tools(survey, trace, known)
    page = Page(sys.stdout)
    if is_own:
        _show_missing(page, survey, tools, rules)
    else:
        _write(page, folder, survey, tools)
        if file is not None:
            page.line(f"  it takes the place of {os.path.relpath(file)} for what is in this folder", "yellow")
    if ignore_in_git(folder):
        page.line(f"{os.path.relpath(os.path.join(folder, GIT_IGNORE))}: .autochron/ added")
    _show_next(page, folder, survey, trace)
    return 0


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


def _write(page: Page, folder: str, survey: Survey, tools: list[InitialTool]) -> None:
    """Write the rule file, and say what is in it."""
    from autochron.diagnostics.initial_rules import initial_text, write_rules
    from autochron.report.text import plural

    path = write_rules(folder, initial_text(survey, tools))
    written = [tool for tool in tools if len(tool.targets) == 1]
    page.line(f"{os.path.relpath(path)} written, with {plural(len(written), 'tool')}", "bold")
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


def _show_missing(page: Page, survey: Survey, tools: list[InitialTool], rules: Rules) -> None:
    """Say that there are rules, and what was found that they lack."""
    from autochron.diagnostics.initial_rules import missing_text

    page.line(f"{os.path.relpath(str(rules.file))} is there already, and stays as it is", "bold")
    missing = missing_text(survey, tools, rules)
    page.line("  it lacks:" if missing else "  it lacks nothing that was found")
    for line in missing.splitlines():
        page.line(f"  {line}".rstrip())


def _show_next(page: Page, folder: str, survey: Survey, trace: Record | None) -> None:
    """Show the two next commands: to record the program, and to replay it."""
    command = None if trace is None or trace.header.command.mode == "block" else trace.header.command
    command = command or next(iter(survey.programs), None)
    page.line("next:", "bold")
    if folder != os.getcwd():
        page.line(f"  cd {shell_word(os.path.relpath(folder))}")
    page.line(f"  autochron run {'PROGRAM' if command is None else _words(command)}")
    page.line("  autochron replay last")


def _words(command: Command) -> str:
    """Return a command as the words after `autochron run`."""
    mode = {"module": ["-m"], "console": ["--"]}.get(command.mode, [])
    return " ".join([*mode, *map(shell_word, (command.target, *command.arguments))])
