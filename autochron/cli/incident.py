"""`autochron incident`."""

from __future__ import annotations

import sys

from autochron.cli.options import FLAG, MANY, VALUE, parse
from autochron.errors import PlanError, UsageError
from autochron.session.replaycommand import load_record
from autochron.session.running import Options

HELP = """\
usage: autochron incident new TRACE [OPTION ...] FOLDER

Write a folder that turns a recorded failure into a regression test: the trace, the rules that made it, a test that fails
while the agent does again what it did, and a README that says where the fix goes. The test is run once: 0 if it fails on
today's code as it should, else 1.

  --live WHAT    what runs for real in the test: NAME, NAME[K], kind:KIND or after:NAME[K]; may be given again; default
                 kind:tool: all tools, with the models served
  --inputs HOW   as for replay
  --rules FILE   the rules; default as for replay
  --store URL    where the trace is; default as for replay
  --no-try       don't run the test
"""

_OPTIONS = {
    "--live": MANY, "--inputs": VALUE, "--rules": VALUE, "--store": VALUE, "--no-try": FLAG, "--help": FLAG, "-h": FLAG,
}  # fmt: skip
_LIVE = ("kind:tool",)


def incident(arguments: list[str]) -> int:
    """Turn a trace into an incident."""
    parsed = parse("incident", arguments, _OPTIONS, stop=False)
    if parsed.flags & {"-h", "--help"}:
        sys.stdout.write(HELP)
        return 0
    action, *words = parsed.rest or [""]
    if action != "new":
        raise UsageError("autochron incident does new: autochron incident new TRACE FOLDER")
    if len(words) != 2:
        raise UsageError(
            f"autochron incident new wants a trace and a folder after it, not {len(words)} words: "
            "autochron incident new last incidents/refund"
        )
    from autochron.report.incidents import write_incident
    from autochron.report.tree import draw_trace
    from autochron.session import incidents, trying

    reference, folder = words
    record, rules = load_record(
        Options(parsed.values.get("--rules"), parsed.values.get("--store")), reference
    )
    live = tuple(parsed.lists.get("--live", _LIVE))
    try:
        made = incidents.write(
            incidents.Wanted(record, rules, live, parsed.values.get("--inputs"), folder),
            draw_trace(record, record.get, record.footer.call if record.footer else None).lines(),
        )
    except PlanError as error:
        if "--live" in parsed.lists:
            raise
        raise PlanError(f"{error.message}; say with --live what is to run for real") from None
    tried = None if "--no-try" in parsed.flags else trying.try_test(made)
    write_incident(made, tried, sys.stdout)
    return 0 if tried is None or tried.is_right else 1
