"""The command `autochron rules`: its options, and the calls that do the work."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections import Counter

from autochron._runtime.unpatched import os
from autochron.cli.command_parser import CommandParser
from autochron.config import RULE_FILE, default_store, find_rule_file
from autochron.errors import TraceNotFoundError, UsageError
from autochron.model import Finding, Rules
from autochron.rules.loading import load_rules


def rules(arguments: list[str]) -> int:
    """Run `autochron rules`: show which rules match what, explain one line, or suggest rules that are missing.

    Returns:
        The exit status, which is 0.

    Raises:
        UsageError: an option or a word is wrong, or a file is not there.
        RuleError: the rules can't be read.
    """
    options = _parser().read(arguments)
    words = options.words
    if len(words) > 1:
        raise UsageError("autochron rules takes one folder or program")
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
    write_rules(survey(loaded, folder, _crossed(options, loaded)), sys.stdout, as_json=options.json)
    return 0


def _parser() -> CommandParser:
    parser = CommandParser(
        "rules",
        "[--explain FILE:LINE | --suggest] [OPTION ...] [FOLDER or PROGRAM]",
        "Show the rules in force, which definitions and calls each fits, and how often those were crossed in the "
        "latest trace; without running anything.",
    )
    parser.add_value(
        "--explain",
        "FILE:LINE",
        "what each rule makes of the calls and definitions on a line, and why it doesn't fit",
    )
    parser.add_flag(
        "--suggest",
        "what is missing: a table for each call that escapes the record, by the latest trace and by source; they are "
        "shown, and written into the rules where you say yes",
    )
    parser.add_flag("--yes", "write them without asking")
    parser.add_value("--rules", "FILE", "the rules; default autochron.toml or [tool.autochron], found upward")
    parser.add_value(
        "--store", "URL", "where the latest trace is; default .autochron/traces.db beside the rules"
    )
    parser.add_flag("--json", "as JSON")
    return parser


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
    from autochron.diagnostics.suggest import suggest, text, write
    from autochron.report.text import Page, plural

    loaded, folder = _load(options, start)
    suggestions = suggest(loaded, folder, _latest_findings(options, loaded))
    page = Page(sys.stdout)
    if not suggestions:
        page.line(
            "nothing is missing: every non-deterministic call is inside a boundary, recorded or ignored"
        )
        return 0
    for suggestion, table in zip(suggestions, text(suggestions), strict=True):
        findings = suggestion.findings
        places = ", ".join(dict.fromkeys(f"{finding.category} at {finding.site}" for finding in findings))
        page.line(f"# {places}", "dim")
        for line in (*table.split("\n"), ""):
            page.line(line)
    tables = plural(len(suggestions), "table")
    file = os.path.relpath(loaded.file or os.path.join(folder, RULE_FILE))
    if not options.yes:
        if not sys.stdin.isatty():
            page.line(f"{tables} for {file}; --yes writes them", "bold")
            return 0
        sys.stdout.write(f"write {tables} to {file}? [y/N] ")
        sys.stdout.flush()
        if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
            page.line("nothing was written")
            return 0
    page.line(f"{tables} written to {os.path.relpath(write(suggestions, loaded, folder))}", "bold")
    return 0


def _latest_findings(options: Namespace, loaded: Rules) -> tuple[Finding, ...]:
    """Return the findings of the latest run; none where there is no trace."""
    url = options.store or default_store(loaded.file)
    if options.store is None and not os.path.exists(url.removeprefix("sqlite:///")):
        return ()
    from autochron.store import open_store

    try:
        footer = open_store(url).outline("last")[1]
    except TraceNotFoundError:
        return ()
    return () if footer is None else footer.findings


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
