"""The exit statuses of every command, in one table, which the help and the documentation show.

This module imports nothing, because `run` and `replay` use it and have to start fast.
"""

OK = 0
FOUND = 1
"""The command did its work, and its answer is no: a replay differs, a call escapes the record, a test fails to fail."""

REFUSED = 2
"""The command could not do its work: wrong words, wrong rules, a trace that can't be read. One line says which."""

UNMARKED = 4
"""The status of `run --strict` and `run --fail-under` where calls escaped the record."""

INTERRUPTED = 130
"""The status that a shell reports for a program which ctrl-C ended."""

GENERAL = {
    OK: "the work is done, and nothing was found that should not be",
    FOUND: "the work is done, and something was found: see the command; or the output can't be written",
    REFUSED: "the command, the rules, the store or the trace can't be used; one line says why and what to do",
    UNMARKED: "only run --strict and --fail-under: calls escaped the record of a program that ended with 0",
    INTERRUPTED: "ctrl-C",
}
"""By status: its meaning for all commands. `run` returns the program's own status, whatever that is."""

_DONE: dict[int | str, str] = {OK: "it is done"}
_SHOWN: dict[int | str, str] = {OK: "it is shown"}

MEANINGS: dict[str, dict[int | str, str]] = {
    "run": {
        "any": "the program's own status, unless one of the following replaces it",
        UNMARKED: "with --strict or --fail-under: the program ended with 0, and calls escaped the record",
    },
    "replay": {OK: "the replay did what was recorded", FOUND: "replay and record disagree"},
    "incident": _DONE,
    "incident new": {
        OK: "the test fails as it should, or --no-try left it untried",
        FOUND: "the test doesn't fail on today's code",
    },
    "mutate": {
        OK: "the test notices each change that lets the unsafe action through",
        FOUND: "it does not, or notices fewer than --fail-under says, or plain cosmic-ray disagrees",
    },
    "mutate merge": {
        OK: "the tests notice each change that lets the unsafe action through",
        FOUND: "they do not, or notice fewer than --fail-under says",
    },
    "judge": {OK: "all subjects were judged", FOUND: "some got no verdict"},
    "traces": _SHOWN,
    "traces list": _SHOWN,
    "traces show": _SHOWN,
    "traces diff": {OK: "the traces do not differ", FOUND: "they differ"},
    "traces export": _DONE,
    "traces import": _DONE,
    "traces prune": _DONE,
    "view": _SHOWN,
    "check": {
        OK: "no call is unmarked; with --fail-under: enough are covered",
        FOUND: "some calls are unmarked; with --strict: some that may change the run; with --fail-under: too many",
        REFUSED: "a file doesn't parse, or the command is wrong; one line says which",
    },
    "impact": {
        OK: "no value changes the run; with --fix: none does with the new rules",
        FOUND: "some values do",
        REFUSED: "it could not be tried; one line says why and what to do",
    },
    "rules": _SHOWN,
    "init": {OK: "the rules are written, or were there already"},
    "adopt": {OK: "it is done", FOUND: "with --check: something would change"},
    "doctor": {OK: "there is no problem; there may be warnings", FOUND: "there are problems"},
    "completion": _SHOWN,
    "help": _SHOWN,
}
"""By command, and by action: the meanings of its statuses. `statuses_of` adds the common ones."""


def statuses_of(command: str) -> tuple[tuple[str, str], ...]:
    """Return the statuses of a command or of an action, such as `traces diff`, with their meanings."""
    own: dict[int | str, str] = {**MEANINGS.get(command, {OK: "it is done", FOUND: "something was found"})}
    common = (
        REFUSED,
        *(() if command in {"run", "replay"} else (INTERRUPTED,)),
    )  # there ctrl-C is the program's
    for status in common:
        own.setdefault(status, GENERAL[status])
    return tuple((str(status), text) for status, text in own.items())
