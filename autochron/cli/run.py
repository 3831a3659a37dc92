"""The command `autochron run`: its options, and the calls that do the work."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Literal

from autochron.cli.options import FLAG, VALUE, parse
from autochron.errors import UsageError
from autochron.model import Checked, Command, RunSummary
from autochron.program.run import Options, run_recorded

HELP = """\
usage: autochron run [OPTION ...] (SCRIPT | -m MODULE | -- CONSOLE-SCRIPT) [ARG ...]

Run a program as it is and record its crossings.

  --rules FILE   the rules; default autochron.toml or [tool.autochron] in pyproject.toml, found upward from the program
  --store URL    where traces go; default .autochron/traces.db beside the rules
  --name NAME    a name for the trace
  --keep WHICH   all, or failed: then the trace of a run that ends with status 0 is dropped; default all
  --no-children  leave the processes that the program starts alone; they are named in the report
  --no-watch     don't look for non-deterministic calls outside every boundary
  --strict       end with status 4 where there is one on a line of the project's, and the program ended with 0; the
                 orders of sets and addresses in text are looked for as well, which slows the project's own code
  --fail-under N do so where less than N percent of them are inside a boundary, recorded or ignored
  --report FILE  write what was found to a file, by its ending: .json, .sarif, .github (annotations) or .txt
  --quiet        no report at the end, unless crossings were lost
"""

UNMARKED = 4
"""The exit status of a run with --strict or --fail-under in which calls escaped the record."""

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
    "--quiet": FLAG,
    "-q": FLAG,
    "--help": FLAG,
    "-h": FLAG,
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
    if parsed.flags & {"-h", "--help"}:
        sys.stdout.write(HELP)
        return 0
    command = program_of(parsed.rest, "run")
    quiet = bool(parsed.flags & {"--quiet", "-q"})
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

    report = _reporter(quiet=quiet, strict=strict, least=least, file=file)
    name = parsed.values.get("--name")
    return run_recorded(options, command, name, report, only_failed=keep == "failed")


def _reporter(
    *, quiet: bool, strict: bool, least: float | None, file: str | None
) -> Callable[[RunSummary], int | None]:
    """Return the function that writes the reports after the program, and returns the status that replaces its 0, or None."""

    def report(summary: RunSummary) -> int | None:
        if not quiet or summary.lost:
            from autochron.report.run import write_run  # lazy: after the program

            write_run(summary, sys.stderr, quiet=quiet)
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
