"""`autochron replay`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from autochron.cli.options import FLAG, MANY, VALUE, parse
from autochron.cli.run import program_of
from autochron.errors import UsageError
from autochron.model import Divergence, ReplaySummary
from autochron.program.replay import ReplayRequest, run_replayed
from autochron.program.run import Options

if TYPE_CHECKING:
    from autochron.ports import Replayer
    from autochron.report.tree import Drawing

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
  --json            the result as JSON, on standard error
  --quiet           no report when all is the same
"""

_OPTIONS = {
    "--live": MANY, "--swap": MANY, "--deny": MANY, "--inputs": VALUE,
    "--rules": VALUE, "--store": VALUE, "--no-watch": FLAG, "--allow-unwoven": FLAG, "--strict": FLAG, "--json": FLAG,
    "--allow-effects": FLAG, "--trust": VALUE,
    "--quiet": FLAG, "-q": FLAG, "--help": FLAG, "-h": FLAG,
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

    def report(summary: ReplaySummary, replayer: Replayer) -> None:
        from autochron.report.replay import write_replay  # lazy: after the program

        def draw(divergences: Sequence[Divergence]) -> Drawing:
            from autochron.report.tree import (  # lazy: only where there is something to see
                DRAWN_WHOLE,
                draw_replay,
            )

            record = replayer.record
            recorded = record if record.size <= DRAWN_WHOLE else ()
            return draw_replay(replayer.replayed(), divergences, recorded, get=record.get)

        write_replay(summary, sys.stderr, quiet=quiet, as_json=as_json, draw=draw)

    watch = "--no-watch" not in parsed.flags
    options = Options(parsed.values.get("--rules"), parsed.values.get("--store"), watch=watch)
    lists = parsed.lists
    wanted = ReplayRequest(
        live=tuple(lists.get("--live", ())),
        swap=tuple(_pair(each) for each in lists.get("--swap", ())),
        deny=tuple(each for given in lists.get("--deny", ()) for each in given.split(",")),
        inputs=parsed.values.get("--inputs"),
        strict="--strict" in parsed.flags,
        allow_effects="--allow-effects" in parsed.flags,
    )
    allow_unwoven = "--allow-unwoven" in parsed.flags
    return run_replayed(
        options,
        words[0],
        program,
        report,
        wanted=wanted,
        allow_unwoven=allow_unwoven,
        words=("replay", *arguments),
        trusted=parsed.values.get("--trust"),
    )


def _pair(given: str) -> tuple[str, str]:
    old, equals, new = given.partition("=")
    if not equals or not old or not new:
        raise UsageError(
            f"autochron replay: --swap {given}: give OLD=NEW, each as module:name or file.py:name"
        )
    return old, new
