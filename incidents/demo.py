"""The demo: record an agent that fails, stop its model, have the failure again, and try a fix on it.

`make demo` runs it. The exit status is 0 only if the replay printed the same, byte for byte, and the fix held.
"""

import os
import re
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias
from urllib.parse import urlsplit

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from autochron import provider

REFUND = Path(__file__).parent / "refund"
TIMEOUT = 120.0
LIVE = ("--live", "kind:tool")
SWAP = ("--swap", "tools.py:issue_refund=guarded.py:issue_refund")
_REFUNDED = re.compile(r"refunded ([\d,.]+) on an order of ([\d,.]+)")

Facts: TypeAlias = tuple[tuple[bool, str], ...]
"""What was seen, as pairs of whether it holds and a newcomer's words."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one command printed, how it ended and how long it took in seconds."""

    status: int
    stdout: str
    stderr: str
    seconds: float


def main() -> int:
    """Run the demo; 0 if the failure was recorded, came back the same, and the fix held."""
    console = Console(highlight=False)
    with TemporaryDirectory() as folder:
        store = f"sqlite:///{folder}/traces.db"
        console.print("[bold]1.[/] A support agent, recorded: [cyan]autochron run agent.py[/]")
        with provider.serve(script=REFUND / "provider.json", latency=(0.05, 0.2)) as model:
            recorded = _autochron(model.url, "run", "--store", store, "agent.py", key="demo")
            calls = model.calls
        _show(console, recorded, "recorded", "red")
        if recorded.status:
            return 1
        stopped = not _listens(model.origin)
        console.print("[bold]2.[/] The model is stopped. The same run again: [cyan]autochron replay last[/]")
        replayed = _autochron(model.url, "replay", "last", "--store", store)
        _show(console, replayed, "replayed", "green")
        facts = (
            *_about_the_record(recorded, _crossings(Path(folder), store), calls),
            *_about_the_replay(recorded, replayed, stopped=stopped),
        )
        _tell(console, facts)
        cuts = _cuts(console, model.url, store)
    _tell(console, cuts)
    console.print(
        "A test of it is one command: [cyan]autochron incident new[/]; the README's tour goes on from here."
    )
    return 0 if all(held for held, _ in (*facts, *cuts)) else 1


def _cuts(console: Console, url: str, store: str) -> Facts:
    """Replay with the tools live, as they are and with a guard in the place of the one that refunds."""
    words = ("replay", "last", "--store", store, *LIVE)
    live = f"[cyan]autochron replay last {' '.join(LIVE)}[/]"
    console.print(f"[bold]3.[/] A cut-point: the tools run for real (●), the model is served: {live}")
    before = _autochron(url, *words)
    _draw(console, before, "before: the tools of today", "red")
    console.print("[bold]4.[/] The same with a guard in the place of the tool that refunds:")
    console.print(f"   [cyan]autochron replay last {' '.join((*LIVE, *SWAP))}[/]")
    after = _autochron(url, *words, *SWAP)
    _draw(console, after, "after: the guard", "green")
    return (
        (before.status == 0 and _did_it(before), "The tool of today refunds far too much again."),
        (
            after.status == 0 and not _did_it(after) and '"blocked": true' in after.stdout,
            "With the guard it is blocked, on the very input of the incident.",
        ),
        (
            after.stderr.startswith("autochron: as planned") and "≠ model[3]" in after.stderr,
            "What follows from it is marked (≠) and fails nothing: the model is told something else than then.",
        ),
    )


def _did_it(run: Run) -> bool:
    return _REFUNDED.search(run.stdout) is not None


def _autochron(url: str, *arguments: str, key: str | None = None) -> Run:
    """Run a command of autochron beside the agent, whose SDK reads URL and key from the environment."""
    environment = {**os.environ, "OPENAI_BASE_URL": url, "NO_PROXY": "127.0.0.1"}
    environment.pop("OPENAI_API_KEY", None)
    if key:
        environment["OPENAI_API_KEY"] = key
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "autochron", *arguments],
        cwd=REFUND,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT,
        check=False,
    )
    return Run(done.returncode, done.stdout, done.stderr, time.monotonic() - begun)


def _listens(origin: str) -> bool:
    """Return whether anyone takes connections there."""
    address = urlsplit(origin)
    with socket.socket() as probe:
        return probe.connect_ex((address.hostname, address.port)) == 0


def _crossings(folder: Path, store: str) -> int:
    """Count the envelopes of the trace, one line each in the trace file."""
    file = folder / "trace.jsonl"
    exported = _autochron("", "traces", "export", "last", str(file), "--store", store)
    if exported.status:
        return 0
    return sum('"nth":' in line for line in file.read_text(encoding="utf-8").splitlines())


def _tell(console: Console, facts: Facts) -> None:
    for held, text in facts:
        console.print(f"  [green]✓[/] {text}" if held else f"  [red]✗ not so:[/] {text}")


def _show(console: Console, run: Run, title: str, colour: str) -> None:
    console.print(
        Panel(Text(run.stdout.rstrip()), title=f"{title}: what agent.py printed", border_style=colour)
    )
    if run.stderr:
        console.print(Text(run.stderr.rstrip(), style="dim"))
    if run.status:
        console.print(f"[red]ended with status {run.status}[/]")


def _draw(console: Console, run: Run, title: str, colour: str) -> None:
    """Show the report of a replay: a line that sums it up, and the tree of what crossed."""
    head, *tree = run.stderr.rstrip().splitlines() or [""]
    drawn = Text("\n".join(tree), no_wrap=True, overflow="ellipsis")
    console.print(Panel(drawn, title=title, border_style=colour))
    console.print(Text(head, style="dim"))


def _about_the_record(recorded: Run, crossings: int, calls: int) -> Facts:
    """Say what the agent did."""
    failure = _REFUNDED.search(recorded.stdout)
    refunded = "refunded {} on an order of {}".format(*failure.groups()) if failure else "refunded nothing"
    untouched = not any(
        "autochron" in (REFUND / name).read_text(encoding="utf-8") for name in ("agent.py", "tools.py")
    )
    return (
        (failure is not None, f"The agent {refunded}: the model took the order number for the amount."),
        (crossings > calls > 0, f"Recorded {crossings} crossings: {calls} model calls, the others tools."),
        (
            untouched,
            "agent.py and tools.py have no line about any of this; incidents/refund/autochron.toml names the tools.",
        ),
    )


def _about_the_replay(recorded: Run, replayed: Run, *, stopped: bool) -> Facts:
    """Say how the replay went."""
    same = recorded.stdout == replayed.stdout
    return (
        (stopped, "The model was stopped before the replay: it got 0 calls."),
        (replayed.status == 0, f"Replayed in {replayed.seconds:.1f} s, without a model and without a key."),
        (
            same,
            "Both outputs are identical, byte for byte: the failure can be had again whenever it is needed.",
        ),
    )


if __name__ == "__main__":
    try:
        sys.exit(main())
    except provider.ProviderError as error:
        sys.exit(f"demo: {error}")
