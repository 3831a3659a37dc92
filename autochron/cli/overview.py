"""The help of `autochron` itself: its commands by section, examples, and the environment variables that it reads."""

from __future__ import annotations

from autochron.cli.pages import columns, table
from autochron.cli.statuses import GENERAL

SECTIONS = {
    "record and replay": {
        "run": "record a program as it runs",
        "replay": "run it again, with what it did served from the trace",
    },
    "test": {
        "incident": "turn a recorded failure into a regression test",
        "mutate": "measure what the test of an incident notices",
        "judge": "measure how far a model's judgement agrees with labels",
    },
    "look": {
        "traces": "list, show, compare, export, import and prune traces",
        "view": "show a trace, or two side by side, as a page in the browser or in a file",
    },
    "find what escapes": {
        "check": "find calls that escape a record, without running anything",
        "impact": "find out which of these calls change a run",
    },
    "set up": {
        "init": "write the first rules of a project",
        "rules": "show which rule matches what, and what is missing",
        "doctor": "check the installation, the rules, the store and the caches",
        "completion": "print the completion script of bash, zsh or fish",
        "adopt": "turn code that is marked for Chronicle into plain code and rules",
        "help": "show this text, the help of a command, or the exit statuses",
    },
}
"""By section: the commands, each with what it does in a line. Each is a module of `autochron.cli`, but for `help`."""

SUMMARIES = {name: text for commands in SECTIONS.values() for name, text in commands.items()}

EXAMPLES = (
    ("autochron init", "write rules for the project in this folder"),
    ("autochron run agent.py", "record a run"),
    ("autochron replay last", "run it again; no model is called"),
    ("autochron replay last --live issue_refund", "with today's issue_refund"),
    ("autochron incident new last incidents/refund", "keep it as a regression test"),
    ("autochron traces list", "what is in the store"),
)

VARIABLES = (
    ("AUTOCHRON_MASK_KEY", "the key of the digests that stand beside masked values"),
    ("AUTOCHRON_CACHE", "the folder of woven code; empty: none is kept"),
    (
        "AUTOCHRON_ASSEMBLER",
        "own or portable: which assembler weaves; chosen by the Python version unless set",
    ),
    ("AUTOCHRON_JUDGE", "replay, record or rewrite: whether judges may call a model"),
    ("NO_COLOR", "not empty: no colours"),
    ("FORCE_COLOR", "not empty: colours also where the output is no terminal; NO_COLOR wins"),
    ("TERM", "dumb: no colours, tables or bars"),
    ("COLUMNS", "the width of the output"),
)
"""The environment variables that a person may set, with their meanings."""

TRACE_TEXT = (
    "TRACE is the name of a trace, its id or the beginning of one, `last`, or the path of an exported file."
)


def overview() -> str:
    """Return the text of `autochron --help`."""
    wide = columns()
    lines = [
        "usage: autochron COMMAND ...",
        "",
        "Record an agent at its boundaries, and replay it in a test.",
    ]
    longest = max(map(len, SUMMARIES))
    for title, commands in SECTIONS.items():
        rows = [(name.ljust(longest), text) for name, text in commands.items()]
        lines += ["", f"{title}:", *table(rows, wide)]
    lines += ["", "examples:"]
    longest = max(len(command) for command, _ in EXAMPLES) + 4
    lines += table(EXAMPLES, wide, indent=longest)
    lines += ["", "environment:", *table(VARIABLES, wide, indent=26)]
    lines += ["", TRACE_TEXT]
    lines += ["autochron COMMAND --help says more about a command; autochron --version shows the version."]
    lines += ["autochron help statuses lists the exit statuses: 0 done, 1 found something, 2 refused."]
    return "\n".join(lines) + "\n"


def status_table() -> str:
    """Return the text of `autochron help statuses`: the general meanings, and those of each command."""
    from autochron.cli.statuses import MEANINGS, statuses_of  # lazy: for this text alone

    wide = columns()
    rows = tuple((str(status), text) for status, text in GENERAL.items())
    lines = ["exit statuses:", *table(rows, wide)]
    for command in MEANINGS:
        lines += ["", f"autochron {command}:", *table(statuses_of(command), wide)]
    return "\n".join(lines) + "\n"
