"""`autochron run`."""

from __future__ import annotations

import sys
from typing import Literal

from autochron.cli.options import FLAG, VALUE, parse
from autochron.errors import UsageError
from autochron.model import Command, RunSummary
from autochron.session.running import Options, run_recorded

HELP = """\
usage: autochron run [OPTION ...] (SCRIPT | -m MODULE | -- CONSOLE-SCRIPT) [ARG ...]

Run a program as it is and record its crossings.

  --rules FILE   the rules; default autochron.toml or [tool.autochron] in pyproject.toml, found upward from the program
  --store URL    where traces go; default .autochron/traces.db beside the rules
  --name NAME    a name for the trace
  --keep WHICH   all, or failed: then the trace of a run that ends with status 0 is dropped; default all
  --no-children  leave the processes that the program starts alone; they are named in the report
  --quiet        no report at the end
"""

_OPTIONS = {
    "--rules": VALUE,
    "--store": VALUE,
    "--name": VALUE,
    "--keep": VALUE,
    "--no-children": FLAG,
    "--quiet": FLAG,
    "-q": FLAG,
    "--help": FLAG,
    "-h": FLAG,
}

KEEP = ("all", "failed")


def run(arguments: list[str]) -> int:
    """Record a program; its exit status is ours."""
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
    )

    def report(summary: RunSummary) -> None:
        if not quiet:
            from autochron.report.run import write_run  # lazy: after the program

            write_run(summary, sys.stderr)

    name = parsed.values.get("--name")
    return run_recorded(options, command, name, report, only_failed=keep == "failed")


def program_of(words: list[str], command: str) -> Command:
    """Read what is to be run."""
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
