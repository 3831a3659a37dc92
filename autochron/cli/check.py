"""The command `autochron check`: its options, and the calls that do the work."""

from __future__ import annotations

import sys
from argparse import Namespace

from autochron._runtime.unpatched import os
from autochron.cli import shapes
from autochron.cli.command_parser import CommandParser
from autochron.cli.option_values import choice, percentage
from autochron.cli.verbosity import note
from autochron.config import default_store, find_rule_file
from autochron.errors import UsageError
from autochron.model import CATEGORIES, Checked
from autochron.report.findings import FORMS, first_ranked, percent_covered, uncovered, write_checked
from autochron.report.text import plural
from autochron.report.work_progress import WorkProgress
from autochron.rules.loading import load_rules

_DEEP = 6_000
"""The recursion limit while scanning: the syntax tree of an expression with a thousand terms is a thousand nodes deep."""


def check(arguments: list[str]) -> int:
    """Run `autochron check`: scan files and folders, and write the findings.

    Returns:
        The exit status: 0 if no call is unmarked, 1 if some are (with --strict: if some are ranked first; with --fail-under:
        if too few are covered), 2 if a file does not parse.

    Raises:
        UsageError: an option is wrong.
        RuleError: the rules can't be read.
    """
    options = parser().read(arguments)
    paths = options.words or [os.curdir]
    from autochron.diagnostics.check import check as scan  # lazy: not for the help

    _refuse_contradictions(options)
    rules = load_rules(options.rules or find_rule_file(paths[0]))
    categories, cache = options.category or (), os.path.dirname(default_store(rules.file))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEEP))
    try:
        with WorkProgress("reading", "files", quiet=options.quiet) as progress:
            checked = scan(paths, rules, categories=categories, cache=cache, progress=progress.show)
            if options.since is not None:
                from autochron.diagnostics.commit_check import baseline_at  # lazy: few ask for a commit

                progress.show(0, detail=f"the files of {options.since}")
                then = baseline_at(options.since, paths, rules, categories=categories, cache=cache)
                checked = then.apply(checked, categories)
    finally:
        sys.setrecursionlimit(limit)
    if options.baseline is not None:
        checked = _by_baseline(options, checked, rules.root)
    write_checked(checked, sys.stdout, form=options.format, with_all=options.all or options.verbose)
    if options.format == "json":
        for unread in checked.unread:
            sys.stderr.write(f"autochron: {unread.file}:{unread.line} {unread.reason}\n")
    if checked.unread:
        return 2
    if options.fail_under is not None:
        return int(percent_covered(checked.findings) < options.fail_under)
    return int(bool(first_ranked(checked) if options.strict else uncovered(checked)))


def _refuse_contradictions(options: Namespace) -> None:
    """Raise UsageError for options that contradict each other or lack another one; make --json a form."""
    if options.json and options.format not in {"text", "json"}:
        raise UsageError(
            f"autochron check: --json and --format {options.format} are two forms; give one of them"
        )
    if options.json:
        options.format = "json"
    if options.update_baseline and not options.baseline:
        raise UsageError("--update-baseline wants --baseline FILE, which says where it is written")
    if options.update_baseline and options.since:
        raise UsageError("--update-baseline accepts all that is found; leave out --since")
    if options.strict and options.fail_under is not None:
        raise UsageError("--strict and --fail-under are two ways to fail; give one of them")


def _by_baseline(options: Namespace, checked: Checked, root: str) -> Checked:
    """Return the result without what the baseline accepts; write the baseline anew where the options ask for that."""
    from autochron.diagnostics.accepted_findings import AcceptedFindings  # lazy: not for the help

    path, categories = options.baseline, options.category or ()
    if not options.update_baseline:
        return AcceptedFindings.read(path, root).apply(checked, categories)
    # A file that is no baseline may be a mistake in the path, so it is not overwritten.
    old = AcceptedFindings.read(path, root) if os.path.lexists(path) else AcceptedFindings(root)
    applied = old.apply(checked, categories)
    new = old.updated(checked, categories)
    new.write(path)
    note(f"{path} accepts {plural(len(new), 'finding')}: {len(uncovered(applied))} new, {applied.gone} gone")
    return new.apply(checked, categories)


def parser() -> CommandParser:
    """Return the parser of the command."""
    parser = CommandParser(
        "check",
        "[PATH ...] [OPTION ...]",
        "Find non-deterministic calls outside every boundary, without running anything: clocks, chance, the "
        "environment, files, the network, the order of sets, and so on.",
        examples=(
            ("autochron check", "all that is found in the working folder and below"),
            ("autochron check src --strict", "fail only for what may change the run"),
            ("autochron check . --since origin/main --format github", "annotations of what a branch adds"),
            ("autochron check src --baseline known.json --update-baseline", "accept what is there today"),
        ),
        shape=shapes.CHECK,
        epilog="What was found in a file is kept in .autochron/ beside the rules, so that only what changed is read again.",
    )
    parser.add_value(
        "--format",
        "FORM",
        "the form of the output; --json is the same as --format json",
        read=choice(FORMS),
        choices=FORMS,
        default="text",
    )
    parser.add_flag("--all", "list also the calls whose value reaches nothing that a run shows, as -v does")
    parser.add_value(
        "--rules",
        "FILE",
        "the rules",
        unless_given="autochron.toml or [tool.autochron] in pyproject.toml, found upward from the first PATH",
    )
    _add_choice(parser)
    return parser


def _add_choice(parser: CommandParser) -> None:
    """Declare the options that say which findings are reported, and which of them make the check fail."""
    parser.section("what is looked for")
    parser.add_list("--category", "NAME", "only this category", choices=CATEGORIES)
    parser.add_value(
        "--since", "COMMIT", "report only what a check of this commit, by its own rules, doesn't find"
    )
    parser.add_value(
        "--baseline", "FILE", "report only what this file doesn't accept; --update-baseline writes it"
    )
    parser.add_flag(
        "--update-baseline", "accept all that is found, and drop what is gone, in the file of --baseline"
    )
    parser.section("what makes it fail")
    parser.add_flag(
        "--strict",
        "1 only for calls whose value may reach the input of a boundary, the output, a branch, an exception or code "
        "outside its file",
    )
    parser.add_value(
        "--fail-under",
        "N",
        "1 only where less than N percent of the calls are covered by boundaries and ignores",
        read=percentage,
    )
