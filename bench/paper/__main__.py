"""Try the incidents in every way of testing, and write the table of it.

    python -m bench.paper [NAME ...]

With names it tries those, and times nothing beside them. It writes what it is asked for and nothing else; `--readme` keeps
the study of this Python, and makes the tables and the pictures anew from what is kept of each: they belong together. The
long table is in incidents/README.md, a short one in README.md.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import DecodeError, json, structs
from rich.console import Console

from autochron.errors import MissingExtraError
from autochron.mutate.model import written
from autochron.mutate.report import tallies
from autochron.provider import ProviderError
from bench import passes, recording
from bench.measure import FULL, Figure
from bench.paper import peer, plots, table, trials
from bench.paper.table import Costs, Study
from bench.paper.trials import Row
from incidents.suite import INCIDENTS, Incident, IncidentError, load, load_all
from mutation import __main__ as mutation

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
PAGES = {ROOT / "README.md": table.short, ROOT / "incidents" / "README.md": table.markdown}
"""The pages with a table of the studies, and what writes each table."""
BEGIN, END = "<!-- the table of python -m bench.paper --readme -->\n", "<!-- its end -->\n"


def main(words: Sequence[str]) -> int:
    """Measure, and write what is asked for; 1 where an incident isn't what it should be, 2 for bad input."""
    options = _options(words)
    console = Console(width=None if sys.stdout.isatty() else 132)
    try:
        study = read(options.taken) if options.taken else _measured(options, console)
        _show(study, console)
        _write(options, study, console)
    except (IncidentError, MissingExtraError, ProviderError, OSError) as error:
        sys.stderr.write(f"bench.paper: {error}\n")
        return 2
    return int(any(row.wrong for row in study.rows))


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench.paper", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a folder of incidents/; all unless given")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the study")
    parser.add_argument("--tex", type=Path, metavar="FILE", help="write the table as LaTeX macros")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="write the pictures, as SVG")
    parser.add_argument(
        "--readme",
        action="store_true",
        help="keep the study in bench/results, and make the pictures there and the tables of what is kept",
    )
    parser.add_argument(
        "--from",
        dest="taken",
        type=Path,
        metavar="FILE",
        help="take a study that is there, and measure nothing",
    )
    parser.add_argument(
        "--peer",
        metavar="FOLDER",
        help="the unpacked source of agent-chronicle 0.5.0; fetched unless given; `none` leaves it out",
    )
    parser.add_argument(
        "--timed", type=_times, default=20, metavar="N", help="how often a replay is timed; 20 unless given"
    )
    options = parser.parse_args(list(words))
    if options.names and options.taken:
        parser.error("--from takes the study as it is: leave the names out")
    if options.names and options.readme:
        parser.error("--readme keeps a study of all incidents: leave the names out")
    if options.peer not in {None, "none"} and not (Path(options.peer) / peer.HARNESS).is_file():
        parser.error(f"--peer takes the source of agent-chronicle, and {options.peer} has no {peer.HARNESS}")
    # Now, and not after the minutes that it takes to measure.
    for file in (options.json, options.tex):
        if file is not None and (file.is_dir() or not os.access(file.parent, os.W_OK)):
            parser.error(f"{file} can't be written")
    if options.plots is not None and not _can_be_made(options.plots):
        parser.error(f"{options.plots} can't be written to")
    return options


def _can_be_made(folder: Path) -> bool:
    there = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    return there.is_dir() and os.access(there, os.W_OK)


def _times(word: str) -> int:
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"{word} is no number of times; 1 and more are")
    return int(word)


def _show(study: Study, console: Console) -> None:
    """Print the tables, and what is not as it should be."""
    console.print(table.incidents(study))
    console.print(table.terminal(study))
    for row in study.rows:
        for each in row.wrong:
            console.print(f"{row.name}: {each}", markup=False, soft_wrap=True)
    for each in study.left_out:
        console.print(f"left out: {each}", markup=False, soft_wrap=True)
    if study.without_peer:
        console.print(f"nothing of agent-chronicle: {study.without_peer}", markup=False, soft_wrap=True)


def read(file: Path) -> Study:
    """Read a study that was kept."""
    try:
        return json.decode(file.read_bytes(), type=Study)
    except DecodeError as error:
        raise IncidentError(
            f"{file} is no study: {error}; make one with python -m bench.paper --json FILE"
        ) from error


def _measured(options: argparse.Namespace, console: Console) -> Study:
    chosen = [load(INCIDENTS / name) for name in options.names] or list(load_all())
    left_out = {each.name: each.missing() for each in chosen if each.missing()}
    with console.status("") as status:
        rows = []
        for each in chosen:
            if each.name not in left_out:
                status.update(f"trying {each.name}")
                rows.append(trials.measure(each, options.timed))
        whole = not options.names
        if whole:
            status.update("timing six agents of plain functions")
        costs = _costs() if whole else None
        theirs: str | tuple[peer.PeerRow, ...] = "it was not asked for"
        if options.peer != "none" and (whole or options.peer):
            status.update("running agent-chronicle's own harness")
            theirs = peer.run(Path(options.peer) if options.peer else None)
    return Study(
        day=time.strftime("%Y-%m-%d", time.gmtime()),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        rows=tuple(_with_mutants(rows)),
        costs=costs,
        peer=() if isinstance(theirs, str) else theirs,
        without_peer=theirs if isinstance(theirs, str) else "",
        suite=digest(chosen),
        left_out=tuple(
            f"{name} needs {', '.join(missing)}: pip install {' '.join(missing)}"
            for name, missing in left_out.items()
        ),
    )


def _with_mutants(rows: Sequence[Row]) -> Iterator[Row]:
    """Add what the mutation study that is kept says of each; nothing where there is none."""
    is_kept = (mutation.RESULTS / "study.json").is_file()
    study = mutation.read() if is_kept else None
    found = {} if study is None else {each.name: each.results for each in study.incidents}
    method = tallies.CUT_POINT if study is None else written(study.methods)
    for row in rows:
        told = tallies.tally(found.get(row.name, ()), method)
        yield structs.replace(row, mutants=told.tried, killed=told.killed)


def _costs() -> Costs:
    found = {each.name: each for each in (*passes.run(FULL), *recording.run(FULL))}
    stub = _named(found, "a full-stub pass")
    cut = _named(found, "a cut-point pass")
    crossing = _named(found, "a crossing, in a session")
    return Costs(
        full_stub=stub.value,
        cut_point=cut.value,
        recording=crossing.value,
        full_stub_peer=stub.peer,
        cut_point_peer=cut.peer,
        recording_peer=crossing.peer,
    )


def _named(figures: dict[str, Figure], beginning: str) -> Figure:
    return next(figure for name, figure in figures.items() if name.startswith(beginning))


def digest(incidents: Sequence[Incident]) -> str:
    """Return a digest of the incidents' files: a study of others is stale."""
    found = hashlib.sha256()
    for incident in sorted(incidents, key=lambda each: each.name):
        for file in sorted(incident.folder.iterdir()):
            if file.is_file() and file.suffix in {".py", ".toml", ".json", ".jsonl"}:
                found.update(f"{incident.name}/{file.name}\0".encode() + file.read_bytes())
    return found.hexdigest()[:16]


def _write(options: argparse.Namespace, study: Study, console: Console) -> None:
    """Write what is asked for."""
    if options.readme and (study.left_out or study.costs is None):
        raise IncidentError("--readme keeps a study of all incidents, and this one is not")
    written = []
    for file in (options.json, kept_file(study) if options.readme else None):
        if file is not None:
            file.write_bytes(json.format(json.encode(study), indent=1) + b"\n")
            written.append(file)
    if options.tex is not None:
        options.tex.write_text(table.latex(study), encoding="utf-8")
        written.append(options.tex)
    if options.plots is not None:
        written += plots.draw(study, options.plots)
    if options.readme:
        studies = kept(study.suite)
        written += plots.draw(studies[0], RESULTS)
        for page, text in PAGES.items():
            page.write_text(with_table(page.read_text(encoding="utf-8"), text(studies)), encoding="utf-8")
            written.append(page)
    if written:
        console.print(f"written: {', '.join(map(str, written))}", markup=False, soft_wrap=True)


def kept_file(study: Study) -> Path:
    """Return the place where a study is kept: one of each Python."""
    return RESULTS / f"paper-{study.python.rpartition('.')[0]}.json"


def kept(suite: str) -> list[Study]:
    """Read the studies that are kept of these incidents, from the oldest Python on; the others are stale."""
    studies = [read(file) for file in sorted(RESULTS.glob("paper-*.json"))]
    return [study for study in studies if study.suite == suite]


def with_table(page: str, text: str) -> str:
    """Return a page with a table in the place between its marks.

    Raises:
        IncidentError: the page has no such place.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise IncidentError(f"the page has no line {BEGIN.strip()!r} with {END.strip()!r} after it")
    return before + BEGIN + text + END + after


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
