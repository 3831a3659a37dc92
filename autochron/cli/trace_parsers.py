"""The options of `autochron traces`, by action."""

from __future__ import annotations

from autochron.cli.actions import ActionParsers
from autochron.cli.command_parser import CommandParser
from autochron.diff.crossings import INPUTS

_SUMMARY_SHAPE = (
    ("id", "the trace's id"),
    ("created", "when it was recorded, as ISO 8601"),
    ("name", "the name that it was given; null if none"),
    ("command", "what was recorded: mode, target, arguments, folder"),
    ("message", "what the user said first, from the first request to a model; null if that isn't known"),
    ("models", "the models that were called"),
    ("tokens_in", "the tokens of all requests; null if no answer tells"),
    ("tokens_out", "the tokens of all answers; null if no answer tells"),
    ("crossings", "how many it has"),
    ("duration", "seconds from the start to the end of the last crossing"),
    ("status", "the exit status; null if there is none"),
    ("complete", "whether it was recorded to its end"),
    ("size", "bytes in the store"),
    ("header", "all that was known when the recording began"),
)


def trace_parsers() -> ActionParsers:
    """Return the parsers of the actions."""
    return ActionParsers(
        "traces",
        "Look at the traces of a store, and carry them to other places. Without an action, list them.",
        (_list(), _show(), _diff(), _export(), _import(), _prune()),
        examples=(
            ("autochron traces list", "what is in the store"),
            ("autochron traces show last", "the latest trace as a tree"),
            ("autochron traces export last traces/refund.jsonl", "a trace file for the repository"),
        ),
        default="list",
    )


def _list() -> CommandParser:
    parser = CommandParser(
        "traces list",
        "[OPTION ...]",
        "List the traces of a store, the latest last: what each run was, which models it called, and how it ended. The "
        "columns are shortened to the width of the terminal.",
        summary="what is in the store",
        examples=(
            ("autochron traces list", "the traces of this project"),
            ("autochron traces list --store other.db", "those of another store"),
            ("autochron traces list --json", "a line of JSON for each, with nothing shortened"),
        ),
        shape=_SUMMARY_SHAPE,
        epilog="JSON is a line for each trace.",
    )
    parser.add_places()
    return parser


def _show() -> CommandParser:
    parser = CommandParser(
        "traces show",
        "TRACE [OPTION ...]",
        "Show a trace as a tree, a line for each crossing.",
        summary="a trace as a tree",
        examples=(
            ("autochron traces show last", "the latest trace"),
            ("autochron traces show last --full", "with all that went in and out"),
            ("autochron traces show incidents/refund/trace.jsonl", "an exported trace"),
        ),
        shape=(
            ("header", "what was known when the recording began"),
            ("envelopes", "the crossings, in the order of their starts"),
            ("footer", "what was known at the end; null if the recording was cut off"),
        ),
    )
    parser.add_flag("--all", "leave nothing out, as -v does")
    parser.add_flag("--full", "show all that went in and out, as JSON")
    parser.add_places()
    return parser


def _diff() -> CommandParser:
    parser = CommandParser(
        "traces diff",
        "TRACE TRACE [OPTION ...]",
        "Show in what two traces differ.",
        summary="in what two traces differ",
        examples=(
            ("autochron traces diff refund last", "the trace named refund, and the latest one"),
            ("autochron traces diff old.jsonl new.jsonl --inputs warn", "two trace files"),
        ),
        shape=(
            ("same", "whether they do not differ"),
            ("first", "the header of the first"),
            ("second", "the header of the second"),
            ("crossings", "how many pairs of crossings were compared"),
            ("differences", "each with its lane (null for the run as a whole) and kind, and what differs"),
        ),
    )
    parser.add_value(
        "--inputs",
        "HOW",
        "a changed input of the same crossing: strict: it is a difference; warn: it is only shown; ignore: it is not "
        "looked at",
        default="strict",
        choices=INPUTS,
    )
    parser.add_places()
    return parser


def _export() -> CommandParser:
    parser = CommandParser(
        "traces export",
        "TRACE FILE [OPTION ...]",
        "Write a trace as a file of JSON Lines, which can be read in a difference and kept in a repository.",
        summary="write a trace file",
        examples=(
            ("autochron traces export last traces/refund.jsonl", "the latest trace"),
            (
                "autochron traces export last refund.jsonl --with-snapshots --rows orders='id = 7'",
                "with what its files held, and one row of a table",
            ),
        ),
        shape=(
            ("trace", "the trace's id"),
            ("file", "the file that was written"),
            ("snapshots", "how many snapshots were taken along"),
        ),
    )
    parser.add_flag(
        "--with-snapshots", "also what the trace's files held before the run, in a folder beside it"
    )
    parser.add_list("--rows", "TABLE=WHERE", "of a database's table take these rows alone")
    parser.add_list("--accept", "NAME", "take along what looks like a secret and has this name")
    parser.add_places()
    return parser


def _import() -> CommandParser:
    parser = CommandParser(
        "traces import",
        "FILE [OPTION ...]",
        "Take a trace file into the store; also a folder of agent-chronicle's fixtures, or one of them.",
        summary="take a trace file into the store",
        examples=(
            ("autochron traces import refund.jsonl", "a trace file"),
            ("autochron traces import refund.jsonl --reseal", "one that was edited"),
            ("autochron traces import fixtures/", "all fixtures of agent-chronicle below a folder"),
        ),
        shape=(
            (
                "imported",
                "a list: of each trace its id, file, crossings, snapshots, and lacks: what could not be taken",
            ),
            ("present", "a list: id and file of each trace that was in the store already"),
        ),
    )
    parser.add_flag("--reseal", "accept a trace file that was edited")
    parser.add_places()
    return parser


def _prune() -> CommandParser:
    parser = CommandParser(
        "traces prune",
        "[OPTION ...]",
        "Drop what is older, and the oldest until the rest fits.",
        summary="drop old traces",
        examples=(
            ("autochron traces prune --max-age 30d --dry-run", "show what is older than 30 days"),
            (
                "autochron traces prune --max-age 30d --max-size 500MB",
                "drop it, and more until 500 MB are left",
            ),
        ),
        shape=(
            ("header", "all that was known when the recording began"),
            ("crossings", "how many the trace has"),
            ("status", "the exit status; null if there is none"),
            ("complete", "whether it was recorded to its end"),
            ("size", "bytes in the store"),
        ),
        epilog="JSON is a line for each trace that was dropped, or would be.",
    )
    parser.add_value("--max-age", "AGE", "drop what is older, such as 30d")
    parser.add_value("--max-size", "SIZE", "drop the oldest until the rest fits, such as 500MB")
    parser.add_flag("--dry-run", "only show what would be dropped")
    parser.add_places()
    return parser
