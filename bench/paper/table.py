"""The table: one line for each claim, one column for each who makes it."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from rich.table import Table

from bench.paper.peer import PeerRow
from bench.paper.trials import Row

HEADINGS = ("the paper", "agent-chronicle 0.5.0, here", "autochron, the paper's six", "autochron, all")

# Dollars for a million tokens in and out, of the two models that the agents name; read in November 2026.
PRICES = {"openai": (0.40, 1.60), "anthropic": (3.00, 15.00)}


PAPER_PASSES = (3.5, 3.6)
"""What a pass takes in the paper, in ms: with everything served, and with each tool live."""


class Costs(Struct, frozen=True, kw_only=True):
    """What six agents of three plain functions cost, as the paper's are: the benchmarks `replaying` and `recording`.

    Milliseconds of a pass over all six, and µs for a recorded crossing; the peer's beside, None where it isn't installed.
    """

    full_stub: float
    cut_point: float
    recording: float
    full_stub_peer: float | None = None
    cut_point_peer: float | None = None
    recording_peer: float | None = None


class Study(Struct, frozen=True, kw_only=True):
    """Everything that the table is made of."""

    day: str
    python: str
    system: str
    rows: tuple[Row, ...]
    costs: Costs | None = None
    """None where only some incidents were tried."""
    peer: tuple[PeerRow, ...] = ()
    without_peer: str = ""
    """Why there is nothing of the peer's."""
    suite: str = ""
    """A digest of the incidents that were measured."""
    left_out: tuple[str, ...] = ()
    """Incidents that could not be measured, and why."""


class Line(Struct, frozen=True):
    """One line of the table, and the name of its figures as LaTeX macros."""

    what: str
    macro: str
    cells: tuple[str, ...]


Of = Callable[[Sequence[Row]], str]


def lines(study: Study) -> tuple[Line, ...]:
    """Return the table."""
    peer = study.peer

    def line(what: str, macro: str, paper: str, theirs: str, ours: Of) -> Line:
        six = [row for row in study.rows if row.paper]
        return Line(what, macro, (paper, theirs if peer else "", ours(six) if six else "", ours(study.rows)))

    return (
        line("incidents", "incidents", "6", str(len(peer)), lambda rows: str(len(rows))),
        line(
            "steps of the agents that are marked by hand",
            "marks",
            "18",
            _sum(each.crossings for each in peer),
            lambda rows: _sum(row.marks for row in rows),
        ),
        line(
            "boundaries found without a mark",
            "found",
            "",
            "",
            lambda rows: _sum(row.boundaries for row in rows),
        ),
        line(
            "the cut-point test fails on the unguarded tool",
            "detected",
            "6/6",
            _of(each.detected for each in peer),
            lambda rows: _of(row.detected for row in rows),
        ),
        line(
            "it passes on the fix",
            "fixed",
            "6/6",
            _of(each.spec_gated for each in peer),
            lambda rows: _of(row.fixed for row in rows),
        ),
        line(
            "it passes on the fix after an unrelated edit",
            "benign",
            "6/6",
            _of(each.spec_benign for each in peer),
            lambda rows: _of(row.benign for row in rows),
        ),
        line(
            "rewordings of the answer that it tolerates",
            "reworded",
            "30/30",
            _share((each.benign_survived, each.benign_total) for each in peer),
            lambda rows: _share((row.reworded, row.rewordings) for row in rows),
        ),
        line(
            "a run that must go through does, without the fix and with each of these",
            "through",
            "",
            "",
            lambda rows: _of(row.through for row in rows),
        ),
        *(
            [
                line(
                    "mutants of the guarded tool that it kills",
                    "mutants",
                    "51/192",
                    "",
                    lambda rows: _share((row.killed, row.mutants) for row in rows),
                )
            ]
            if any(row.mutants for row in study.rows)
            else []
        ),
        line(
            "a test that serves everything fails on the unguarded tool",
            "stubbed",
            "0/6",
            "",
            lambda rows: _of(row.stubbed for row in rows),
        ),
        line(
            "a test of hand-written mocks fails on the unguarded tool",
            "mocked",
            "",
            "",
            lambda rows: _of(row.mocked for row in rows),
        ),
        line(
            "replays that differ, of 20 each",
            "divergent",
            "0",
            _sum(not each.deterministic for each in peer),
            lambda rows: f"{_sum(row.divergent for row in rows)} of {_sum(row.replays for row in rows)}",
        ),
        line(
            "models that run in a test",
            "livemodels",
            "0",
            _sum(each.replay_live_crossings for each in peer),
            lambda rows: _sum(row.live_models for row in rows),
        ),
        line(
            "it passes on the fix with the models live that hear of it",
            "withmodel",
            "",
            "",
            lambda rows: _of(row.with_model for row in rows),
        ),
        line(
            "calls of a provider in 1,000 runs of the agents",
            "calls",
            "",
            "",
            lambda rows: f"{1000 * sum(row.models for row in rows):,}",
        ),
        line(
            "dollars for that",
            "dollars",
            "",
            "",
            lambda rows: f"{1000 * sum(_dollars(row) for row in rows):,.2f}",
        ),
        line(
            "connections of any kind in the replays, and in the tests above",
            "reached",
            "",
            "",
            lambda rows: _sum(row.reached for row in rows),
        ),
        line(
            "a pass over the suite on its SDKs, everything served, ms of the processor",
            "suitestub",
            "",
            "",
            lambda rows: f"{1e3 * sum(row.full_stub for row in rows):.0f}",
        ),
        line(
            "the same with the tools live, ms",
            "suitecut",
            "",
            "",
            lambda rows: f"{1e3 * sum(row.cut_point for row in rows):.0f}",
        ),
        line(
            "kilobytes of a trace for each crossing, at most",
            "stored",
            "1.44",
            f"{max((each.bytes_per_crossing for each in peer), default=0) / 1024:.2f}",
            lambda rows: f"{max((row.stored / row.crossings for row in rows), default=0) / 1024:.2f}",
        ),
        *_costs(study),
    )


def _costs(study: Study) -> Iterable[Line]:
    """Yield the lines that are about the same six agents for everybody."""
    costs = study.costs
    if costs is None:
        return
    recorded = costs.recording_peer
    if recorded is None and study.peer:
        recorded = statistics.median(each.overhead_us_per_crossing for each in study.peer)
    for what, macro, paper, theirs, ours in (
        (
            "six agents of plain functions: a pass with everything served, ms",
            "passstub",
            PAPER_PASSES[0],
            costs.full_stub_peer,
            costs.full_stub,
        ),
        (
            "the same with each tool live, ms",
            "passcut",
            PAPER_PASSES[1],
            costs.cut_point_peer,
            costs.cut_point,
        ),
        ("a crossing of these, recorded, µs", "recorded", 23, recorded, costs.recording),
    ):
        yield Line(what, macro, (str(paper), "" if theirs is None else f"{theirs:.2f}", f"{ours:.2f}", ""))


def _of(found: Iterable[bool]) -> str:
    held = list(found)
    return f"{sum(held)}/{len(held)}" if held else ""


def _sum(found: Iterable[int]) -> str:
    return str(sum(found))


def _share(found: Iterable[tuple[int, int]]) -> str:
    parts = list(found)
    return f"{sum(part for part, _ in parts)}/{sum(whole for _, whole in parts)}" if parts else ""


def _dollars(row: Row) -> float:
    given, said = PRICES.get(row.sdk.partition(" ")[0], PRICES["openai"])
    return (row.tokens_in * given + row.tokens_out * said) / 1e6


# --- as text ----------------------------------------------------------------------------------------------------------


def terminal(study: Study) -> Table:
    """Draw the table."""
    drawn = Table(box=None, header_style="bold", pad_edge=False)
    drawn.add_column("")
    for heading in HEADINGS:
        drawn.add_column(heading, justify="right")
    for line in lines(study):
        drawn.add_row(line.what, *line.cells)
    return drawn


def incidents(study: Study) -> Table:
    """Draw the incidents."""
    drawn = Table(box=None, header_style="bold", pad_edge=False)
    for heading in (
        "incident",
        "agent on",
        "unguarded",
        "fix",
        "edit",
        "reworded",
        "stubs",
        "mocks",
        "diverge",
        "ms",
    ):
        drawn.add_column(heading, justify="left" if heading in {"incident", "agent on"} else "right")
    for row in study.rows:
        drawn.add_row(
            row.name,
            row.sdk,
            "fails" if row.detected else "[red]no[/red]",
            "passes" if row.fixed else "[red]no[/red]",
            "passes" if row.benign else "[red]no[/red]",
            f"{row.reworded}/{row.rewordings}",
            "fails" if row.stubbed else "passes",
            "fails" if row.mocked else "passes",
            f"{row.divergent}/{row.replays}",
            f"{1e3 * row.cut_point:.0f}",
        )
    return drawn


def markdown(studies: Sequence[Study]) -> str:
    """Write the table of the first study for a page, and what the others have found."""
    study, *others = studies
    head = ["| | " + " | ".join(HEADINGS) + " |", "|---|" + "---:|" * len(HEADINGS)]
    body = [f"| {line.what} | " + " | ".join(line.cells) + " |" for line in lines(study)]
    where = f"Measured on {study.day} with Python {study.python}, {study.system}."
    return "\n".join([*head, *body, "", " ".join([where, *map(_outcome, others)])]) + "\n"


SHORT = (
    "incidents",
    "marks",
    "detected",
    "fixed",
    "benign",
    "through",
    "reworded",
    "divergent",
    "livemodels",
    "reached",
)
"""The lines of the short table, by their macros."""


def short(studies: Sequence[Study]) -> str:
    """Write the lines of the first study that matter most, with the figures of the paper and of all incidents."""
    study = studies[0]
    chosen = {line.macro: line for line in lines(study)}
    rows = [(line.what, line.cells[0], line.cells[-1]) for line in map(chosen.__getitem__, SHORT)]
    head = [f"| | {HEADINGS[0]} | autochron |", "|---|---:|---:|"]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def _outcome(study: Study) -> str:
    """Say in a sentence what another Python makes of all of it."""
    cells = {line.macro: line.cells[-1] for line in lines(study)}
    return (
        f"With Python {study.python} {cells['detected']} fail unguarded, {cells['fixed']} pass on the fix, {cells['benign']} "
        f"after the edit and {cells['reworded']} with rewordings; {cells['divergent']} replays differ."
    )


_COLUMNS = ("paper", "chronicle", "six", "all")


def latex(study: Study) -> str:
    """Write macros: `\\acDetectedAll` and so on."""
    macros = [
        f"\\newcommand{{\\ac{line.macro.capitalize()}{column.capitalize()}}}{{{_escaped(cell)}}}"
        for line in lines(study)
        for column, cell in zip(_COLUMNS, line.cells, strict=True)
        if cell
    ]
    return "% Made by python -m bench.paper --tex\n" + "\n".join(macros) + "\n"


def _escaped(text: str) -> str:
    return re.sub(r"([%&#_$])", r"\\\1", text)
