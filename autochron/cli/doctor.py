"""The command `autochron doctor`: its options, and the calls that do the work."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from autochron.cli import shapes
from autochron.cli.command_parser import CommandParser
from autochron.cli.statuses import FOUND, OK
from autochron.config import default_store, find_rule_file
from autochron.errors import UsageError

if TYPE_CHECKING:
    from autochron.diagnostics.health import HealthCheck

_STYLES = {"ok": "green", "warning": "yellow", "problem": "bold red"}


def doctor(arguments: list[str]) -> int:
    """Run `autochron doctor`: check the installation, the rules, the store and the caches.

    Returns:
        The exit status: 0 if there is no problem, else 1. Warnings are no problems.

    Raises:
        UsageError: an option is wrong, or there are words that are none.
    """
    options = parser().read(arguments)
    if options.words:
        raise UsageError(f"autochron doctor takes no words, and got {options.words[0]!r}")
    from autochron.diagnostics.health import CheckedPlaces, gravest, health_checks  # lazy: not for the help

    rules = options.rules or find_rule_file()
    checks = health_checks(CheckedPlaces(rules, options.store or default_store(rules)))
    verdict = gravest(checks)
    if options.json:
        from msgspec.json import encode

        sys.stdout.write(encode({"verdict": verdict, "checks": checks}).decode() + "\n")
    else:
        _write([check for check in checks if check.verdict != "ok" or not options.quiet], checks)
    return FOUND if verdict == "problem" else OK


def parser() -> CommandParser:
    """Return the parser of the command."""
    parser = CommandParser(
        "doctor",
        "[OPTION ...]",
        "Check what recording and replaying depend on: the interpreter, the installation, the packs of the installed "
        "libraries, the rules, the store, the caches, the keys. Each check has a verdict, and a remedy where it is not ok.",
        examples=(
            ("autochron doctor", "all checks"),
            ("autochron doctor -q", "only warnings and problems"),
            ("autochron doctor --json", "for a report"),
        ),
        shape=shapes.DOCTOR,
        epilog="It runs nothing of the project, and leaves no file but the user's key, which the first run would make.",
    )
    parser.add_places()
    return parser


def _write(shown: list[HealthCheck], checks: list[HealthCheck]) -> None:
    from autochron.report.text import Page, plural

    page = Page(sys.stdout)
    longest = max((len(check.name) for check in shown), default=0)
    for check in shown:
        verdict = (f"{check.verdict:8}", _STYLES[check.verdict])
        page.parts([verdict, (f"{check.name:{longest}}  {check.found}", None)])
        if check.remedy:
            page.line(f"{'':8}{'':{longest}}  → {check.remedy}", "bold")
    problems = sum(check.verdict == "problem" for check in checks)
    warnings = sum(check.verdict == "warning" for check in checks)
    if shown:
        page.line(
            f"{plural(len(checks), 'check')}: {plural(problems, 'problem')}, {plural(warnings, 'warning')}"
        )
