"""The command `autochron impact`: its options, and the calls that do the work."""

from __future__ import annotations

import sys

from autochron._runtime.unpatched import os
from autochron.cli import shapes
from autochron.cli.command_parser import CommandParser
from autochron.cli.option_values import number, seconds
from autochron.errors import UsageError
from autochron.impact.analysis import ImpactRequest, find_impact
from autochron.impact.fixing import add_rules, tried
from autochron.program.run import Options
from autochron.report.impact import added, folder_of, save, write_impacts
from autochron.report.work_progress import WorkProgress

_LEAST, _MOST = 4, 100

_NOT_AGAIN = ("--fix", "--json", "-q", "--quiet", "-v", "--verbose")
"""Options that the second try, with the new rules, does not get."""


def impact(arguments: list[str]) -> int:
    """Run `autochron impact`: find out which non-deterministic values change a run.

    Returns:
        The exit status: 0 if none does, 1 if some do; with `--fix`, what is so with the new rules, and 2 if that could not be
        tried.

    Raises:
        UsageError: an option is wrong, or the trace can't be replayed many times.
    """
    options = parser().read(arguments)
    words = options.words
    if len(words) != 1:
        fact = "wants a trace" if not words else f"takes one trace, not {len(words)}"
        raise UsageError(f"autochron impact {fact}: a name, an id or its prefix, `last`, or an exported file")
    request = ImpactRequest(
        words[0],
        tuple(arguments),
        variants=options.variants,
        site=options.site,
        timeout=options.timeout,
        trusted=options.trust,
    )
    folder, environment = os.getcwd(), dict(os.environ)  # before the replays, which change them
    with WorkProgress("trying", "replays", quiet=options.quiet, is_forking=True) as progress:

        def show(replays: int, task: str) -> None:
            progress.show(
                replays, detail=task
            )  # how many there will be is not known: harmless sites are tried together

        impacts, rule_file = find_impact(Options(options.rules, options.store), request, show)
        is_harmful = any(site.effect is not None for site in impacts.sites)
        fixed = None
        if options.fix and is_harmful:
            show(impacts.replays, "the program with the new rules")
            words = [word for word in arguments if word not in _NOT_AGAIN]
            fixed = add_rules(impacts, rule_file, folder)
            try:
                fixed = tried(fixed, folder, words, environment) if fixed.added else fixed
            except KeyboardInterrupt:
                sys.stderr.write(f"autochron: {added(fixed)}, and not tried\n")
                raise
    problem = save(impacts, folder_of(options.store, rule_file, folder))
    write_impacts(impacts, sys.stdout, as_json=options.json, fixed=fixed)
    if problem is not None:
        sys.stderr.write(f"autochron: {problem}\n")
    if fixed is not None and fixed.added:
        return 2 if fixed.problem is not None else int(bool(fixed.left))
    return int(is_harmful)


def parser() -> CommandParser:
    """Return the parser of the command."""
    parser = CommandParser(
        "impact",
        "TRACE [OPTION ...]",
        "Replay a recorded program again and again, each time with other values of one non-deterministic call, and "
        "say which calls change what boundaries are given, the output, or how the program ends.",
        examples=(
            ("autochron impact last", "try every call that was found"),
            ("autochron impact last --site agent.py:41", "those of one line"),
            ("autochron impact last --fix", "and add rules that record what matters"),
        ),
        shape=shapes.IMPACT,
    )
    parser.section("what is tried")
    parser.add_value(
        "--variants",
        "K",
        f"other values of each call, {_LEAST} at least",
        read=number(_LEAST, _MOST),
        unless_given="as many as are worth it",
    )
    parser.add_value("--site", "FILE:LINE", "try the calls of this line only")
    parser.add_value(
        "--timeout",
        "S",
        "seconds that a replay may take",
        read=seconds,
        unless_given="a few times what the first one takes",
    )
    parser.add_value(
        "--trust",
        "DIGEST",
        "run the command that the trace names, though it was not recorded here: the digest that the refusal names",
    )
    parser.section("")
    parser.add_flag(
        "--fix",
        "add a rule for each harmful value that can be recorded to the rule file, and try the trace again with these",
    )
    parser.add_places()
    return parser
