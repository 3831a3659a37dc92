"""`autochron incident`."""

from __future__ import annotations

import sys

from autochron.cli.options import FLAG, MANY, VALUE, parse
from autochron.errors import PlanError, UsageError
from autochron.program.replay import load_record
from autochron.program.run import Options

HELP = """\
usage: autochron incident new TRACE [OPTION ...] FOLDER

Write a folder that turns a recorded failure into a regression test: the trace, the rules that made it, a test that fails
while the agent does again what it did, and a README that says where the fix goes. The test is run on today's code, each
time on a fresh copy of the state: three times to find out which fields vary, and once as it will be run. The status is 0 if
it fails as it should, else 1.

  --live WHAT    what runs for real in the test: NAME, NAME[K], kind:KIND or after:NAME[K]; may be given again; default
                 kind:tool: all tools, with the models served
  --inputs HOW   as for replay
  --rules FILE   the rules; default as for replay
  --store URL    where the trace is; default as for replay
  --allow-unwoven   write the test although the model asked for a tool that no boundary is known to cover: the test then runs
                 it for real. A tool that is covered and that the agent did not call needs no such word
  --with-snapshots  take along what files and databases held before the run, so that the test runs on other machines
  --rows TABLE=WHERE   of a database's table take these rows alone; may be given again
  --accept NAME  take along what looks like a secret and has this name; may be given again
  --force        replace an incident that is in the folder, if it is as it was made
  --no-try       don't run the test
  --trust DIGEST the test may run the command that the trace names, though it was not recorded here: the digest that the
                 refusal names
"""

_OPTIONS = {
    "--live": MANY, "--inputs": VALUE, "--rules": VALUE, "--store": VALUE, "--allow-unwoven": FLAG, "--no-try": FLAG,
    "--with-snapshots": FLAG, "--rows": MANY, "--accept": MANY, "--force": FLAG, "--trust": VALUE,
    "--help": FLAG, "-h": FLAG,
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
    from autochron._runtime.progress import counted_on
    from autochron.incident import create, trial
    from autochron.replaying.command_trust import refuse_foreign
    from autochron.report.incidents import write_incident
    from autochron.report.tree import draw_trace
    from autochron.reproduction.baseline import Baseline
    from autochron.reproduction.snapshot_places import snapshot_places

    reference, folder = words
    store = parsed.values.get("--store")
    record, rules = load_record(Options(parsed.values.get("--rules"), store), reference)
    if "--no-try" not in parsed.flags:
        refuse_foreign(
            record.header, reference, rules, ("incident", *arguments), parsed.values.get("--trust")
        )
    live = tuple(parsed.lists.get("--live", _LIVE))
    wanted = create.Wanted(
        record,
        rules,
        live,
        parsed.values.get("--inputs"),
        folder,
        allow_unwoven="--allow-unwoven" in parsed.flags,
        force="--force" in parsed.flags,
        with_snapshots="--with-snapshots" in parsed.flags,
        rows=tuple(parsed.lists.get("--rows", ())),
        accepted=tuple(parsed.lists.get("--accept", ())),
        places=snapshot_places(reference, store, rules),
    )
    try:
        made = create.write(
            wanted,
            draw_trace(record, record.get, record.footer.call if record.footer else None).lines(),
        )
    except PlanError as error:
        if "--live" in parsed.lists:
            raise
        raise PlanError(f"{error.message}; say with --live what is to run for real") from None
    if "--no-try" in parsed.flags:
        tried = None
        trial.settle(wanted, made, Baseline(), settled=True)
    else:
        tried = trial.finish(wanted, made, counted_on(sys.stderr, "trying the test"))
    write_incident(made, tried, sys.stdout)
    return 0 if tried is None or tried.is_right else 1
