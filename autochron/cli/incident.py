"""The command `autochron incident`: its options, and the calls that do the work."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from autochron.cli.actions import ActionParsers
from autochron.cli.command_parser import CommandParser
from autochron.errors import PlanError, UsageError
from autochron.program.replay import load_record
from autochron.program.run import Options

if TYPE_CHECKING:
    from argparse import Namespace

    from autochron.incident.create import IncidentRequest
    from autochron.model import Incident, Rules
    from autochron.ports import Record

_LIVE = ("kind:tool",)


def incident(arguments: list[str]) -> int:
    """Run `autochron incident new`: write a folder with a regression test for a trace, and try the test.

    Returns:
        The exit status: 0 if the test fails as it should, or wasn't tried; 1 if it doesn't.

    Raises:
        UsageError: an option or a word is wrong, or the folder can't be used.
        UntrustedTraceError: nobody has allowed the trace's command to run.
    """
    _, options = parser().read(arguments)
    words = options.words
    if len(words) != 2:
        raise UsageError(
            f"autochron incident new wants a trace and a folder after it, not {len(words)} words: "
            "autochron incident new last incidents/refund"
        )
    from autochron.incident import trial  # lazy, as the others: not for a usage error
    from autochron.replaying.command_trust import refuse_foreign
    from autochron.report.incidents import write_incident
    from autochron.report.work_progress import WorkProgress
    from autochron.reproduction.baseline import Baseline

    reference, folder = words
    record, rules = load_record(Options(options.rules, options.store), reference)
    if not options.no_try:
        refuse_foreign(record.header, reference, rules, ("incident", *arguments), options.trust)
    request = _request(options, record, rules, reference, folder)
    new = _write(request, is_live_given=options.live is not None)
    if options.no_try:
        tried = None
        trial.settle(request, new, Baseline(), settled=True)
    else:
        with WorkProgress("trying the test", "runs", quiet=options.quiet) as progress:
            tried = trial.finish(request, new, progress.show)
    write_incident(new, tried, sys.stdout, as_json=options.json, quiet=options.quiet)
    return 0 if tried is None or tried.is_right else 1


def _request(
    options: Namespace, record: Record, rules: Rules, reference: str, folder: str
) -> IncidentRequest:
    """Return the request that the options and the two words make."""
    from autochron.incident.create import IncidentRequest  # lazy: as above
    from autochron.reproduction.snapshot_places import snapshot_places

    return IncidentRequest(
        record,
        rules,
        tuple(options.live or _LIVE),
        options.inputs,
        folder,
        allow_unwoven=options.allow_unwoven,
        force=options.force,
        with_snapshots=options.with_snapshots,
        rows=tuple(options.rows or ()),
        accepted=tuple(options.accept or ()),
        places=snapshot_places(reference, options.store, rules),
    )


def _write(request: IncidentRequest, *, is_live_given: bool) -> Incident:
    """Write the folder. If the default for --live doesn't suit the trace, the error names this option as the remedy."""
    from autochron.incident import create  # lazy: as above
    from autochron.report.tree import draw_trace

    record = request.record
    call = record.footer.call if record.footer else None
    try:
        return create.write(request, draw_trace(record, record.get, call).lines())
    except PlanError as error:
        if is_live_given:
            raise
        raise PlanError(f"{error.message}; say with --live what is to run for real") from None


def parser() -> ActionParsers:
    """Return the parsers of the actions."""
    return ActionParsers(
        "incident",
        "Turn a recorded failure into a regression test.",
        (_new_parser(),),
        examples=(_EXAMPLE,),
        wants="does new: autochron incident new TRACE FOLDER",
    )


_EXAMPLE = (
    "autochron incident new last incidents/refund",
    "all tools run for real, and the models are served",
)


def _new_parser() -> CommandParser:
    parser = CommandParser(
        "incident new",
        "TRACE [OPTION ...] FOLDER",
        "Write a folder that turns a recorded failure into a regression test: the trace, the rules that made it, a "
        "test that fails while the agent does again what it did, and a README that says where the fix goes. The test "
        "is run on today's code, each time on a fresh copy of the state: three times to find out which fields vary, "
        "and once as it will be run.",
        summary="write a folder with a trace and its test",
        examples=(
            _EXAMPLE,
            (
                "autochron incident new last --live issue_refund[1] incidents/refund",
                "only this call runs for real",
            ),
            ("autochron incident new last --with-snapshots incidents/refund", "for other machines, too"),
        ),
        shape=(
            ("folder", "the folder, as it was written"),
            ("trace", "the trace's id"),
            ("files", "the files in it"),
            ("test", "the file of the test"),
            ("waits", "whether somebody has to write into the test how the agent is called"),
            ("warnings", "what should be known of it"),
            (
                "outcome",
                "of the test on today's code: failed (as it should), waits, passed, inconclusive, broken, untried",
            ),
            ("said", "what the test said"),
            ("notes", "what the trial showed"),
        ),
    )
    _add_choice(parser)
    parser.section("")
    parser.add_flag("--no-try", "don't run the test")
    parser.add_value(
        "--trust",
        "DIGEST",
        "the test may run the command that the trace names, though it was not recorded here: the digest that the "
        "refusal names",
    )
    parser.add_places()
    return parser


def _add_choice(parser: CommandParser) -> None:
    """Declare the options that say what the test does, and what the folder holds."""
    parser.section("what the test does")
    parser.add_list(
        "--live",
        "WHAT",
        "what runs for real in the test: NAME, NAME[K], kind:KIND or after:NAME[K]",
        unless_given="kind:tool: all tools, with the models served",
    )
    parser.add_value(
        "--inputs",
        "HOW",
        "what a changed input of what is served is",
        choices=("strict", "warn", "ignore"),
        unless_given="as for replay",
    )
    parser.add_flag(
        "--allow-unwoven",
        "write the test although the model asked for a tool that no boundary is known to cover: the test then runs "
        "it for real. A tool that is covered and that the agent did not call needs no such word",
    )
    parser.section("what the folder holds")
    parser.add_flag(
        "--with-snapshots",
        "take along what files and databases held before the run, so that the test runs on other machines",
    )
    parser.add_list("--rows", "TABLE=WHERE", "of a database's table take these rows alone")
    parser.add_list("--accept", "NAME", "take along what looks like a secret and has this name")
    parser.add_flag("--force", "replace an incident that is in the folder, if it is as it was made")
