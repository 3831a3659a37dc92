"""The command line.

`run` is parsed by hand and imports nothing that it doesn't need: it stands before every recorded program. This module itself
imports least of all, for Python may be started anew from here.
"""

from __future__ import annotations

import sys

from autochron._runtime import hashseed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

HELP = """\
usage: autochron COMMAND ...

  run       record a program:           autochron run agent.py [ARG ...]
  replay    run it again from a trace:  autochron replay last
  incident  make a regression test:     autochron incident new last incidents/refund
  traces    list | show TRACE | diff TRACE TRACE | export TRACE FILE | import FILE | prune
  check     calls that escape a record:  autochron check src
  impact    which of these calls matter: autochron impact last
  mutate    what a test of an incident notices: autochron mutate incidents/refund
  rules     which rule matches what
  judge     how far a model's judgement agrees with labels

autochron COMMAND --help says more. TRACE is a name, an id or its prefix, `last`, or an exported file.
"""

_INTERRUPTED = 130
"""As a shell says it of what ctrl-C ended."""

_COMMANDS = ("run", "replay", "incident", "traces", "check", "impact", "mutate", "rules", "judge")


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit: 2 for what was asked wrongly, else with the command's own status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        hashseed.take()
        if given[:1] == ["run"] and not hashseed.current() and "--no-watch" not in given:
            hashseed.start_again(hashseed.choose())
        if given[:1] == ["replay"]:
            from autochron.cli.beforehand import seed_of  # lazy: it looks for a trace

            seed = seed_of(given[1:])
            if seed not in {"", hashseed.current()}:
                hashseed.start_again(seed)
    from autochron.errors import AutochronError  # lazy, as all that the process before it needs not

    try:
        status = _dispatch(given)
        if given[:1] not in (["run"], ["replay"]):  # there it is the program's, and Python's to flush
            sys.stdout.flush()
    except AutochronError as error:
        sys.stderr.write(f"autochron: {error}\n")
        status = 2
    except BrokenPipeError:
        _close_stdout()
        status = 1
    except KeyboardInterrupt:
        if given[:1] in (["run"], ["replay"]):  # there it is the program's
            raise
        sys.stderr.write("autochron: interrupted\n")
        status = _INTERRUPTED
    sys.exit(status)


def _dispatch(given: list[str]) -> int:
    command = given[0] if given else "--help"
    if command in ("-h", "--help", "help"):
        sys.stdout.write(HELP)
        return 0
    if command == "--version":
        from autochron import __version__

        sys.stdout.write(f"autochron {__version__}\n")
        return 0
    if command in ("run", "replay"):
        from autochron.cli.lean import Lean

        if command == "run":
            with Lean():
                from autochron.cli.run import run

            return run(given[1:])
        with Lean():
            from autochron.cli.replay import replay

        return replay(given[1:])
    if command == "traces":
        from autochron.cli.traces import traces

        return traces(given[1:])
    if command == "incident":
        from autochron.cli.incident import incident

        return incident(given[1:])
    if command == "check":
        from autochron.cli.check import check

        return check(given[1:])
    if command == "impact":
        from autochron.cli.impact import impact

        return impact(given[1:])
    if command == "mutate":
        from autochron.cli.mutate import mutate

        return mutate(given[1:])
    if command == "rules":
        from autochron.cli.rules import rules

        return rules(given[1:])
    if command == "judge":
        from autochron.cli.judge import judge

        return judge(given[1:])
    from autochron.errors import UsageError
    from autochron.rules.nearest import nearest  # lazy: difflib

    near = nearest((*_COMMANDS, "--help", "--version"), command)
    raise UsageError(
        f"there is no command {command!r}" + (f"; did you mean {near}?" if near else "; see autochron --help")
    )


def _close_stdout() -> None:
    """Keep Python from complaining at exit that nobody reads any more."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
