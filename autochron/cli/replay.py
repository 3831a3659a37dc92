"""`autochron replay`."""

from __future__ import annotations

import sys

from autochron.cli.options import FLAG, VALUE, parse
from autochron.cli.run import program_of
from autochron.errors import UsageError
from autochron.model import ReplaySummary
from autochron.session.running import Options, run_replayed

HELP = """\
usage: autochron replay TRACE [OPTION ...] [-- PROGRAM [ARG ...]]

Run a recorded program again with every crossing served from its trace. 0: the same; 1: replay and record disagree.

  --rules FILE      the rules; default as for run
  --store URL       where the trace is; default as for run
  --allow-unwoven   go on although the model asked for a tool that no rule wove, which is then run for real
  --json            the result as JSON, on standard error
  --quiet           no report when all is the same
"""

_OPTIONS = {
    "--rules": VALUE, "--store": VALUE, "--allow-unwoven": FLAG, "--json": FLAG, "--quiet": FLAG, "-q": FLAG,
    "--help": FLAG, "-h": FLAG,
}  # fmt: skip


def replay(arguments: list[str]) -> int:
    """Replay a trace."""
    parsed = parse("replay", arguments, _OPTIONS, stop=False)
    if parsed.flags & {"-h", "--help"}:
        sys.stdout.write(HELP)
        return 0
    words, program = parsed.rest, None
    if "--" in words:
        at = words.index("--")
        words, other = words[:at], words[at + 1 :]
        program = program_of(other, "replay")
    if len(words) != 1:
        said = "wants a trace" if not words else f"takes one trace, not {len(words)}"
        raise UsageError(f"autochron replay {said}: a name, an id or its prefix, `last`, or an exported file")
    quiet = bool(parsed.flags & {"--quiet", "-q"})
    as_json = "--json" in parsed.flags

    def report(summary: ReplaySummary) -> None:
        from autochron.report.replay import write_replay  # lazy: after the program

        write_replay(summary, sys.stderr, quiet=quiet, as_json=as_json)

    options = Options(parsed.values.get("--rules"), parsed.values.get("--store"))
    return run_replayed(options, words[0], program, report, allow_unwoven="--allow-unwoven" in parsed.flags)
