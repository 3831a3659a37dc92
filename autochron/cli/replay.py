"""The command `autochron replay`: its options, and the calls that do the work."""

from __future__ import annotations

import os
import sys

from autochron.cli.options import FLAG, MANY, VALUE, Parsed, parse
from autochron.cli.run import program_of
from autochron.errors import UsageError
from autochron.model import Command
from autochron.program.replay import ReplayRequest, run_replayed
from autochron.program.replay_reporter import reporter
from autochron.program.run import Options

HELP = """\
usage: autochron replay TRACE [OPTION ...] [-- PROGRAM [ARG ...]]

Run a recorded program again with every crossing served from its trace, but for what is live. 0: the same; 1: replay and
record disagree.

  --live WHAT       run this for real: NAME, NAME[K], kind:KIND (tool, model, router, ambient), or after:NAME[K] for all that
                    started later; may be given again
  --swap OLD=NEW    run NEW in the place of OLD, each as module:name or file.py:name; may be given again
  --deny WHAT       keep what is live from network, subprocess or files (changes of the file system); several with commas
  --inputs HOW      a changed input of what is served: strict, warn or ignore; default an error, but a warning for a model
                    where anything is live; behind something live it is never an error
  --rules FILE      the rules; default as for run
  --store URL       where the trace is; default as for run
  --no-watch        don't look for non-deterministic calls that were not there when it was recorded
  --allow-unwoven   go on although the model asked for a tool that no boundary is known to cover, which may be run for real.
                    A tool that is covered and that the agent did not call needs no such word
  --allow-effects   let the program start other programs, reach the network and send signals outside every boundary; files and
                    SQLite databases that it changes there are on a scratch copy in any case
  --trust DIGEST    run the command that the trace names, though it was not recorded here: the digest that the refusal names
  --strict          fail (1) also where something was too large to be compared
  --html FILE       write a page of the replay beside its record, with the first difference marked
  --json            the result as JSON, on standard error
  --quiet           no report when all is the same
"""

_OPTIONS = {
    "--live": MANY, "--swap": MANY, "--deny": MANY, "--inputs": VALUE,
    "--rules": VALUE, "--store": VALUE, "--no-watch": FLAG, "--allow-unwoven": FLAG, "--strict": FLAG, "--json": FLAG,
    "--allow-effects": FLAG, "--trust": VALUE, "--html": VALUE,
    "--quiet": FLAG, "-q": FLAG, "--help": FLAG, "-h": FLAG,
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
    if parsed.flags & {"-h", "--help"}:
        sys.stdout.write(HELP)
        return 0
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
            quiet=bool(parsed.flags & {"--quiet", "-q"}), as_json="--json" in parsed.flags, page=_page(parsed)
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
