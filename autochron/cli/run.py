"""The command `autochron run`: its options, and the calls that do the work."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Literal

from autochron.cli.options import COMMON, FLAG, HELP, QUIET, VALUE, parse, say, show_help
from autochron.cli.statuses import UNMARKED
from autochron.cli.verbosity import VERBOSITY
from autochron.errors import UsageError
from autochron.model import Checked, Command, RunSummary
from autochron.program.run import Options, run_recorded

_OPTIONS = {
    "--rules": VALUE,
    "--store": VALUE,
    "--name": VALUE,
    "--keep": VALUE,
    "--no-children": FLAG,
    "--no-watch": FLAG,
    "--strict": FLAG,
    "--fail-under": VALUE,
    "--report": VALUE,
    "--json": FLAG,
    **COMMON,
}

KEEP = ("all", "failed")

ENDINGS = (".json", ".sarif", ".github", ".txt")
"""The file extensions of reports, which decide their form."""


def run(arguments: list[str]) -> int:
    """Run `autochron run`: record a program.

    Returns:
        The program's exit status; with --strict or --fail-under 4 in the place of 0 if calls escaped the record.

    Raises:
        UsageError: an option is wrong, or no program is named.
        RuleError, StoreError: the rules can't be read, or the store can't be opened.
    """
    parsed = parse("run", arguments, _OPTIONS, stop=True)
    if parsed.flags & HELP:
        return show_help("run")
    command = program_of(parsed.rest, "run")
    quiet = bool(parsed.flags & QUIET)
    say(parsed)
    keep = parsed.values.get("--keep", KEEP[0])
    if keep not in KEEP:
        raise UsageError(f"autochron run: --keep takes {' or '.join(KEEP)}, not {keep}")
    options = Options(
        parsed.values.get("--rules"),
        parsed.values.get("--store"),
        children="--no-children" not in parsed.flags,
        quiet=quiet,
        watch="--no-watch" not in parsed.flags,
        probes="--strict" in parsed.flags and "--no-watch" not in parsed.flags,
    )
    strict, least = "--strict" in parsed.flags, _percentage(parsed.values.get("--fail-under"))
    file = _report_file(parsed.values.get("--report"))
    if not options.watch and (strict or least is not None or file):
        raise UsageError(
            "autochron run: --no-watch finds nothing that --strict, --fail-under and --report could tell"
        )

    as_json = "--json" in parsed.flags
    report = _reporter(quiet=quiet, as_json=as_json, strict=strict, least=least, file=file)
    name = parsed.values.get("--name")
    return run_recorded(options, command, name, report, only_failed=keep == "failed")


def _reporter(
    *, quiet: bool, as_json: bool, strict: bool, least: float | None, file: str | None
) -> Callable[[RunSummary], int | None]:
    """Return the function that writes the reports after the program, and returns the status that replaces its 0, or None."""

    def report(summary: RunSummary) -> int | None:
        if as_json or not quiet or summary.lost:
            from autochron.report.run import write_run  # lazy: after the program

            write_run(summary, sys.stderr, quiet=quiet, as_json=as_json, whole=VERBOSITY.verbose)
        if not (strict or least is not None or file):
            return None
        from autochron import __version__
        from autochron.report.findings import percent_covered, write_file

        findings = summary.footer.findings
        if file:
            checked = Checked(findings=findings, stale=summary.stale, autochron=__version__)
            write_file(checked, file, sys.stderr)
        escaped = strict and any(finding.covered is None and finding.tier == "direct" for finding in findings)
        return UNMARKED if escaped or (least is not None and percent_covered(findings) < least) else None

    return report


def _percentage(text: str | None) -> float | None:
    if text is None:
        return None
    from autochron.cli.option_values import percentage  # lazy: few runs ask for it

    return percentage(text, "autochron run: --fail-under")


def _report_file(file: str | None) -> str | None:
    """Return the absolute path of a report, because the program may change the working folder.

    Raises:
        UsageError: its extension is unknown, or its folder is not there.
    """
    if file is None:
        return None
    if not file.endswith(ENDINGS):
        raise UsageError(f"autochron run: --report {file}: its ending is one of {', '.join(ENDINGS)}")
    folder = os.path.dirname(os.path.abspath(file))
    if not os.path.isdir(folder):
        raise UsageError(f"autochron run: --report {file}: there is no folder {os.path.dirname(file)}")
    return os.path.abspath(file)


def program_of(words: list[str], command: str) -> Command:
    """Return the program that the words after the options name.

    Args:
        words: a script, `-m` and a module, or `--` and a console script; then its arguments.
        command: `run` or `replay`, for an error's message.

    Raises:
        UsageError: there is no program.
    """
    mode: Literal["script", "module", "console"] = "script"
    if words[:1] == ["-m"]:
        mode, words = "module", words[1:]
    elif words[:1] == ["--"]:
        mode, words = "console", words[1:]
    if not words:
        wants = {"script": "a program", "module": "a module after -m", "console": "a command after --"}[mode]
        raise UsageError(
            f"autochron {command} wants {wants}: autochron run agent.py, -m package, or -- uvicorn app:app"
        )
    return Command(mode, words[0], tuple(words[1:]))
