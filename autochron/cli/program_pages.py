"""The help of `run` and `replay` as data.

Their options are parsed by `cli.options`, without argparse. So this module is imported for the help alone, and a test
compares it with the tables of options in `cli.run` and `cli.replay`.
"""

from __future__ import annotations

from autochron.cli import shapes
from autochron.cli.overview import SUMMARIES, TRACE_TEXT
from autochron.cli.pages import CommandPage, Example, OptionPage
from autochron.cli.statuses import statuses_of
from autochron.cli.verbosity import QUIET_TEXT, VERBOSE_TEXT

_RULES_DEFAULT = "autochron.toml or [tool.autochron] in pyproject.toml, found upward from the program"
_WATCH, _REPORT, _PLACES, _COMMON = (
    "calls that escape the record",
    "the report",
    "rules and store",
    "common options",
)
_LIVE, _ALLOWED = "what runs for real", "what is allowed"

_COMMON_OPTIONS = (
    OptionPage(("-q", "--quiet"), "", QUIET_TEXT, section=_COMMON),
    OptionPage(("-v", "--verbose"), "", VERBOSE_TEXT, section=_COMMON),
    OptionPage(("-h", "--help"), "", "show this text", section=_COMMON),
)

RUN = CommandPage(
    "run",
    SUMMARIES["run"],
    ("autochron run [OPTION ...] (SCRIPT | -m MODULE | -- CONSOLE-SCRIPT) [ARG ...]",),
    "Run a program as it is and record its crossings. Its arguments, streams, signals and exit status are its own.",
    options=(
        OptionPage(("--name",), "NAME", "a name for the trace"),
        OptionPage(
            ("--keep",),
            "WHICH",
            "which runs keep their trace: with failed, not those that end with status 0",
            "all",
            ("all", "failed"),
        ),
        OptionPage(
            ("--no-children",),
            "",
            "leave the processes that the program starts alone; they are named in the report",
        ),
        OptionPage(("--rules",), "FILE", "the rules", _RULES_DEFAULT, section=_PLACES),
        OptionPage(
            ("--store",), "URL", "where traces go", ".autochron/traces.db beside the rules", section=_PLACES
        ),
        OptionPage(
            ("--no-watch",),
            "",
            "don't look for non-deterministic calls outside every boundary",
            section=_WATCH,
        ),
        OptionPage(
            ("--strict",),
            "",
            "end with status 4 where there is one on a line of the project's, and the program ended with 0; the orders of "
            "sets and addresses in text are looked for as well, which slows the project's own code",
            section=_WATCH,
        ),
        OptionPage(
            ("--fail-under",),
            "N",
            "do so where less than N percent of them are inside a boundary, recorded or ignored",
            section=_WATCH,
        ),
        OptionPage(
            ("--report",),
            "FILE",
            "write what was found to a file, by its ending: .json, .sarif, .github (annotations) or .txt",
            section=_REPORT,
        ),
        OptionPage(
            ("--json",),
            "",
            "write the report as JSON to standard error: the keys below; also with -q",
            section=_REPORT,
        ),
        *_COMMON_OPTIONS,
    ),
    examples=(
        Example("autochron run agent.py --ticket 17", "a script with its arguments"),
        Example("autochron run --name refund -m shop.agent", "a module; the trace gets a name"),
        Example("autochron run --strict --report findings.sarif agent.py", "for a build"),
        Example("autochron run -- uvicorn app:app", "a console script"),
    ),
    statuses=statuses_of("run"),
    shape=shapes.RUN,
    notes="With -q there is no report at the end, unless crossings were lost.",
)

REPLAY = CommandPage(
    "replay",
    SUMMARIES["replay"],
    ("autochron replay TRACE [OPTION ...] [-- PROGRAM [ARG ...]]",),
    "Run a recorded program again with every crossing served from its trace, but for what is live. "
    + TRACE_TEXT,
    options=(
        OptionPage(
            ("--live",),
            "WHAT",
            "run this for real: NAME, NAME[K], kind:KIND (tool, model, router, ambient), or after:NAME[K] for all that "
            "started later",
            repeated=True,
            section=_LIVE,
        ),
        OptionPage(
            ("--swap",),
            "OLD=NEW",
            "run NEW in the place of OLD, each as module:name or file.py:name",
            repeated=True,
            section=_LIVE,
        ),
        OptionPage(
            ("--deny",),
            "WHAT",
            "keep what is live from network, subprocess or files (changes of the file system); several with commas",
            choices=("network", "subprocess", "files"),
            repeated=True,
            section=_LIVE,
        ),
        OptionPage(
            ("--inputs",),
            "HOW",
            "a changed input of what is served: strict, warn or ignore; behind something live it is never an error",
            "an error, but a warning for a model where anything is live",
            ("strict", "warn", "ignore"),
            section="what differs",
        ),
        OptionPage(
            ("--strict",),
            "",
            "fail (1) also where something was too large to be compared",
            section="what differs",
        ),
        OptionPage(
            ("--no-watch",),
            "",
            "don't look for non-deterministic calls that were not there when it was recorded",
            section="what differs",
        ),
        OptionPage(
            ("--allow-unwoven",),
            "",
            "go on although the model asked for a tool that no boundary is known to cover, which may be run for real. A tool "
            "that is covered and that the agent did not call needs no such word",
            section=_ALLOWED,
        ),
        OptionPage(
            ("--allow-effects",),
            "",
            "let the program start other programs, reach the network and send signals outside every boundary; files and "
            "SQLite databases that it changes there are on a scratch copy in any case",
            section=_ALLOWED,
        ),
        OptionPage(
            ("--trust",),
            "DIGEST",
            "run the command that the trace names, though it was not recorded here: the digest that the refusal names",
            section=_ALLOWED,
        ),
        OptionPage(("--rules",), "FILE", "the rules", _RULES_DEFAULT, section=_PLACES),
        OptionPage(
            ("--store",),
            "URL",
            "where the trace is",
            ".autochron/traces.db beside the rules",
            section=_PLACES,
        ),
        OptionPage(
            ("--html",),
            "FILE",
            "write a page of the replay beside its record, with the first difference marked",
            section=_REPORT,
        ),
        OptionPage(
            ("--json",), "", "write the report as JSON to standard error: the keys below", section=_REPORT
        ),
        *_COMMON_OPTIONS,
    ),
    examples=(
        Example("autochron replay last", "the latest run, with nothing live"),
        Example("autochron replay last --live issue_refund[1]", "one call runs today's code"),
        Example(
            "autochron replay refund.jsonl --swap shop.tools:issue_refund=shop.fixed:issue_refund",
            "try a fix without installing it",
        ),
        Example("autochron replay last -- agent.py --ticket 18", "another program or other arguments"),
    ),
    statuses=statuses_of("replay"),
    shape=shapes.REPLAY,
    notes="With -q there is no report where all is the same.",
)

PROGRAM_PAGES = {"run": RUN, "replay": REPLAY}
