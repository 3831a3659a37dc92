"""The command `autochron replay`: its options, and the calls that do the work."""

from __future__ import annotations

import os

from autochron.cli.options import COMMON, FLAG, HELP, MANY, QUIET, VALUE, Parsed, parse, say, show_help
from autochron.cli.run import program_of
from autochron.cli.verbosity import VERBOSITY
from autochron.errors import UsageError
from autochron.model import Command
from autochron.program.replay import ReplayRequest, run_replayed
from autochron.program.replay_reporter import reporter
from autochron.program.run import Options

_OPTIONS = {
    "--live": MANY, "--swap": MANY, "--deny": MANY, "--inputs": VALUE,
    "--rules": VALUE, "--store": VALUE, "--no-watch": FLAG, "--allow-unwoven": FLAG, "--strict": FLAG, "--json": FLAG,
    "--allow-effects": FLAG, "--trust": VALUE, "--html": VALUE,
    **COMMON,
}  # fmt: skip


def replay(arguments: list[str]) -> int:
    """Run `autochron replay`: run a recorded program again, and report whether it did the same.

    Returns:
        The exit status: 0 if replay and record agree, else 1.

    Raises:
        UsageError: an option or a word is wrong.
        UntrustedTraceError: nobody has allowed the trace's command to run.
        RuleError, StoreError: the rules or the trace can't be read.
    """
    parsed = parse("replay", arguments, _OPTIONS, stop=False)
    if parsed.flags & HELP:
        return show_help("replay")
    say(parsed)
    words, program = _split_program(parsed.rest)
    if len(words) != 1:
        fact = "wants a trace" if not words else f"takes one trace, not {len(words)}"
        raise UsageError(f"autochron replay {fact}: a name, an id or its prefix, `last`, or an exported file")
    watch = "--no-watch" not in parsed.flags
    return run_replayed(
        Options(parsed.values.get("--rules"), parsed.values.get("--store"), watch=watch),
        words[0],
        program,
        reporter(
            quiet=bool(parsed.flags & QUIET),
            as_json="--json" in parsed.flags,
            page=_page(parsed),
            whole=VERBOSITY.verbose,
        ),
        wanted=_request(parsed),
        allow_unwoven="--allow-unwoven" in parsed.flags,
        words=("replay", *arguments),
        trusted=parsed.values.get("--trust"),
    )


def _page(parsed: Parsed) -> str | None:
    """Return the path of the page, which the program's own folder doesn't change; None if none is wanted."""
    path = parsed.values.get("--html")
    return None if path is None else os.path.abspath(path)


def _split_program(words: list[str]) -> tuple[list[str], Command | None]:
    """Return the words before `--`, and the program after it, which replaces the recorded one; None without `--`."""
    if "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], program_of(words[at + 1 :], "replay")


def _request(parsed: Parsed) -> ReplayRequest:
    """Return what the options say of the replay itself."""
    lists = parsed.lists
    return ReplayRequest(
        live=tuple(lists.get("--live", ())),
        swap=tuple(_pair(swap) for swap in lists.get("--swap", ())),
        deny=tuple(kind for kinds in lists.get("--deny", ()) for kind in kinds.split(",")),
        inputs=parsed.values.get("--inputs"),
        strict="--strict" in parsed.flags,
        allow_effects="--allow-effects" in parsed.flags,
    )


def _pair(swap: str) -> tuple[str, str]:
    old, equals, new = swap.partition("=")
    if not equals or not old or not new:
        raise UsageError(
            f"autochron replay: --swap {swap}: give OLD=NEW, each as module:name or file.py:name"
        )
    return old, new
