"""The command `autochron rules`: its options, and the calls that do the work."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections import Counter
from typing import TYPE_CHECKING

from autochron._runtime.unpatched import os
from autochron.cli import shapes
from autochron.cli.command_parser import CommandParser
from autochron.config import RULE_FILE, default_store, find_rule_file
from autochron.errors import TraceNotFoundError, UsageError
from autochron.model import Rules
from autochron.rules.loading import load_rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from autochron.diagnostics.suggest import Suggestion
    from autochron.ports import Record
    from autochron.report.text import Page


def rules(arguments: list[str]) -> int:
    """Run `autochron rules`: show which rules match what, explain one line, or suggest rules that are missing.

    Returns:
        The exit status, which is 0.

    Raises:
        UsageError: an option or a word is wrong, or a file is not there.
        RuleError: the rules can't be read.
    """
    options = parser().read(arguments)
    words = options.words
    if len(words) > 1:
        raise UsageError("autochron rules takes one folder or program")
    if options.schema:
        return _print_schema()
    if options.explain is not None:
        return _explain(options, options.explain)
    start = words[0] if words else "."
    if not os.path.exists(start):
        raise UsageError(f"there is no {start}; name a folder or a program")
    if options.suggest:
        return _suggest(options, start)
    from autochron.diagnostics.rule_survey import survey
    from autochron.report.rules import write_rules

    loaded, folder = _load(options, start)
    surveyed = survey(loaded, folder, _crossed(options, loaded))
    write_rules(loaded, surveyed, sys.stdout, as_json=options.json, whole=options.verbose)
    return 0


def parser() -> CommandParser:
    """Return the parser of the command."""
    parser = CommandParser(
        "rules",
        "[--explain FILE:LINE | --suggest | --schema] [OPTION ...] [FOLDER or PROGRAM]",
        "Show the rules in force, which definitions and calls each fits, and how often those were crossed in the "
        "latest trace; without running anything.",
        examples=(
            ("autochron rules", "what each rule of the project fits, and which packs are in force"),
            ("autochron rules -v", "what each rule of the packs fits, too"),
            ("autochron rules --explain agent.py:41", "why a line is no boundary"),
            ("autochron rules --suggest", "tables for what is missing"),
        ),
        shape=shapes.RULES,
        epilog="JSON is a line for each rule; for each call and definition with --explain; for each table with --suggest.",
    )
    parser.section("what is shown")
    parser.add_value(
        "--explain",
        "FILE:LINE",
        "what each rule makes of the calls and definitions on a line, and why it doesn't fit",
    )
    parser.add_flag(
        "--suggest",
        "what is missing, by the latest trace and by source: the tools that a replay refuses, the tools that were found, and "
        "the calls that change the run; the tables are shown, and written into the rules where you say yes",
    )
    parser.add_flag(
        "--all", "with --suggest: a table for each other call that escapes the record, too, as with -v"
    )
    parser.add_flag("--yes", "with --suggest: write the tables without asking")
    parser.add_flag(
        "--schema",
        "the JSON schema of autochron.toml, with which editors such as those with Taplo complete and check it",
    )
    parser.section("")
    parser.add_places(store="where the latest trace is")
    return parser


def _print_schema() -> int:
    from msgspec import json

    from autochron.rules.schema import rule_schema

    sys.stdout.write(json.format(json.encode(rule_schema()), indent=2).decode() + "\n")
    return 0


def _explain(options: Namespace, place: str) -> int:
    file, _, line = place.rpartition(":")
    if not file or not line.isdecimal() or int(line) < 1:
        raise UsageError(f"autochron rules --explain {place}: give a file and a line, such as agent.py:41")
    if not os.path.isfile(file):
        raise UsageError(f"there is no file {file}; give FILE:LINE")
    from autochron.diagnostics.explain import explain
    from autochron.report.rules import write_explained

    loaded, _folder = _load(options, file)
    explained = explain(loaded, file, int(line), _crossed(options, loaded))
    write_explained(explained, sys.stdout, as_json=options.json)
    return 0


def _suggest(options: Namespace, start: str) -> int:
    from autochron.diagnostics.suggest import is_writable, suggest, write
    from autochron.program.own_package import with_own_package
    from autochron.report.impact import folder_of
    from autochron.report.text import Page, plural

    loaded, folder = _load(options, start)
    impacts = folder_of(options.store, loaded.file, folder)
    trace = _latest_trace(options, loaded)
    if trace is not None:
        loaded = with_own_package(loaded, trace.header.command)
    suggestions = suggest(loaded, folder, trace, impacts)
    is_whole = options.all or options.verbose
    shown = [suggestion for suggestion in suggestions if is_whole or suggestion.group != "rest"]
    writable = list(filter(is_writable, shown))
    if options.json:
        if options.yes and writable:
            write(writable, loaded, folder)
        _write_suggestions_as_json(shown, writable if options.yes else [])
        return 0
    page = Page(sys.stdout)
    if not suggestions:
        page.line(
            "nothing is missing: every non-deterministic call is inside a boundary, recorded or ignored"
        )
        return 0
    _write_suggestions(shown, len(suggestions) - len(shown), page)
    if not writable:
        return 0
    tables = plural(len(writable), "table")
    file = os.path.relpath(loaded.file or os.path.join(folder, RULE_FILE))
    if options.yes or _is_agreed(f"write {tables} to {file}? [y/N] "):
        page.line(f"{tables} written to {os.path.relpath(write(writable, loaded, folder))}", "bold")
    elif sys.stdin.isatty():
        page.line("nothing was written")
    else:
        page.line(f"{tables} for {file}; --yes writes them", "bold")
    return 0


def _is_agreed(question: str) -> bool:
    """Ask a question on a terminal, and return whether the answer is yes; elsewhere nothing is asked."""
    if not sys.stdin.isatty():
        return False
    sys.stdout.write(question)
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _write_suggestions_as_json(suggestions: Sequence[Suggestion], written: Sequence[Suggestion]) -> None:
    """Write a line of JSON for each table."""
    from msgspec.json import encode

    from autochron.diagnostics.suggest import text

    for suggestion in suggestions:
        data = {
            "group": suggestion.group,
            "table": text(suggestion),
            "reason": suggestion.reason,
            "sites": [str(finding.site) for finding in suggestion.findings],
            "is_certain": suggestion.is_certain,
            "written": suggestion in written,
        }
        sys.stdout.write(encode(data).decode() + "\n")


_HEADINGS = {
    "blocking": "A replay is refused: it would run these tools again. Give each a table, and record again.",
    "found": "These tools were found in the latest run. A table makes each of them hold for every run.",
    "harmful": "The run changes with what these calls give (autochron impact).",
    "rest": "Calls outside every boundary that nothing has shown to matter.",
}
"""What is said above the tables of each group."""


def _write_suggestions(suggestions: Sequence[Suggestion], hidden: int, page: Page) -> None:
    """Write the tables of each group under its heading; `hidden` is the number of those that are not shown."""
    from autochron.diagnostics.suggest import text
    from autochron.report.text import plural

    heading = None
    for suggestion in suggestions:
        if suggestion.group != heading:
            heading = suggestion.group
            page.line(f"# {_HEADINGS[heading]}", "bold red" if heading == "blocking" else "bold")
        for reason in _reasons(suggestion):
            page.line(f"# {reason}", "dim")
        for line in (*text(suggestion).splitlines(), ""):
            page.line(line)
    if hidden:
        page.line(
            f"{plural(hidden, 'more table')} for calls outside every boundary that nothing has shown to matter: --all shows "
            f"{'it' if hidden == 1 else 'them'}, and autochron impact last finds out which calls change the run"
        )


def _reasons(suggestion: Suggestion) -> Iterator[str]:
    """Yield what a table covers."""
    if suggestion.reason:
        yield suggestion.reason
    findings = suggestion.findings
    if findings:
        yield ", ".join(dict.fromkeys(f"{finding.category} at {finding.site}" for finding in findings))
    yield from dict.fromkeys(finding.impact for finding in findings if finding.impact is not None)


def _latest_trace(options: Namespace, loaded: Rules) -> Record | None:
    """Return the latest trace; None where there is none."""
    url = options.store or default_store(loaded.file)
    if options.store is None and not os.path.exists(url.removeprefix("sqlite:///")):
        return None
    from autochron.store import open_store

    try:
        return open_store(url).record("last")
    except TraceNotFoundError:
        return None


def _load(options: Namespace, start: str) -> tuple[Rules, str]:
    """Read the rules for a folder or a program, and return them with the folder."""
    file = options.rules or find_rule_file(start)
    folder = start if os.path.isdir(start) else os.path.dirname(os.path.abspath(start))
    return load_rules(file, root=None if file else folder), folder


def _crossed(options: Namespace, loaded: Rules) -> dict[tuple[str, str], int] | None:
    """Return how many crossings the latest trace has by site and name; None where there is no trace."""
    url = options.store or default_store(loaded.file)
    if options.store is None and not os.path.exists(url.removeprefix("sqlite:///")):
        return None
    from autochron.store import open_store

    try:
        return Counter((envelope.site, envelope.name) for envelope in open_store(url).envelopes("last"))
    except TraceNotFoundError:
        return None
