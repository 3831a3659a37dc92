"""`python -m bench.paper [NAME ...]`: measure the incidents, and write the table.

--json FILE     the study as JSON; bench/results/paper.json unless given or names are
--tex FILE      LaTeX macros
--plots FOLDER  pictures
--readme        write the table into README.md
--from FILE     take a study that is there, and measure nothing
--peer FOLDER   the unpacked source of agent-chronicle 0.5.0; fetched unless given; `none` leaves it out
--timed N       how often a replay is timed; 20 unless given
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import json
from rich.console import Console

from bench import passes, recording
from bench.measure import FULL, TINY, Figure
from bench.paper import peer, table, trials
from bench.paper.table import Costs, Study
from incidents.suite import INCIDENTS, Incident, IncidentError, load, load_all

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "bench" / "results" / "paper.json"
README = ROOT / "README.md"
BEGIN, END = "<!-- the table of python -m bench.paper --readme -->\n", "<!-- its end -->\n"


def main(words: Sequence[str]) -> int:
    """Measure, and write what is asked for; 1 where an incident isn't what it should be, 2 for bad input."""
    options = _options(words)
    console = Console(width=None if sys.stdout.isatty() else 132)
    try:
        study = read(options.taken) if options.taken else _measured(options, console)
    except (IncidentError, OSError, RuntimeError) as error:
        sys.stderr.write(f"bench.paper: {error}\n")
        return 2
    console.print(table.incidents(study))
    console.print(table.terminal(study))
    for row in study.rows:
        if row.divergent:
            console.print(
                f"{row.name}: its trace does not fit its agent; record it anew: python -m incidents.record {row.name}",
                markup=False,
            )
    for each in study.left_out:
        console.print(f"left out: {each}", markup=False)
    if study.without_peer:
        console.print(f"nothing of agent-chronicle: {study.without_peer}", markup=False)
    held = all(row.detected and row.fixed and row.benign and not row.divergent for row in study.rows)
    return _write(options, study) or int(not held)


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench.paper", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--tex", type=Path)
    parser.add_argument("--plots", type=Path)
    parser.add_argument("--readme", action="store_true")
    parser.add_argument("--from", dest="taken", type=Path)
    parser.add_argument("--peer")
    parser.add_argument("--timed", type=int, default=20)
    return parser.parse_args(list(words))


def read(file: Path) -> Study:
    """Read a study that was kept."""
    return json.decode(file.read_bytes(), type=Study)


def _measured(options: argparse.Namespace, console: Console) -> Study:
    chosen = [load(INCIDENTS / name) for name in options.names] or list(load_all())
    left_out = {each.name: each.missing() for each in chosen if each.missing()}
    with console.status("") as status:
        rows = tuple(
            trials.measure(each, options.timed, lambda name: status.update(f"trying {name}"))
            for each in chosen
            if each.name not in left_out
        )
        status.update("timing six agents of plain functions")
        costs = _costs(tiny=options.timed < 2)
        status.update("running agent-chronicle's own harness")
        theirs = "it was not asked for" if options.peer == "none" else peer.run(_folder(options.peer))
    return Study(
        day=time.strftime("%Y-%m-%d", time.gmtime()),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        rows=rows,
        costs=costs,
        peer=() if isinstance(theirs, str) else theirs,
        without_peer=theirs if isinstance(theirs, str) else "",
        suite=digest(chosen),
        left_out=tuple(f"{name} needs {', '.join(missing)}" for name, missing in left_out.items()),
    )


def _folder(given: str | None) -> Path | None:
    return None if given is None else Path(given)


def _costs(*, tiny: bool) -> Costs:
    size = TINY if tiny else FULL
    found = {each.name: each for each in (*passes.run(size), *recording.run(size))}
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
    """Give a digest of the incidents' files: a study of others is stale."""
    found = hashlib.sha256()
    for incident in sorted(incidents, key=lambda each: each.name):
        for file in sorted(incident.folder.iterdir()):
            if file.is_file() and file.suffix in {".py", ".toml", ".json", ".jsonl"}:
                found.update(f"{incident.name}/{file.name}\0".encode() + file.read_bytes())
    return found.hexdigest()[:16]


def _write(options: argparse.Namespace, study: Study) -> int:
    """Write what is asked for; 2 where that can't be."""
    file = options.json or (None if options.names or options.taken else RESULT)
    if file is not None:
        file.write_bytes(json.format(json.encode(study), indent=1) + b"\n")
    if options.tex is not None:
        options.tex.write_text(table.latex(study), encoding="utf-8")
    if options.plots is not None:
        from bench.paper import plots  # lazy: matplotlib takes half a second

        try:
            plots.draw(study, options.plots)
        except ModuleNotFoundError as error:
            sys.stderr.write(f"bench.paper: --plots draws with {error.name}: pip install {error.name}\n")
            return 2
    if options.readme:
        README.write_text(with_table(README.read_text(encoding="utf-8"), study), encoding="utf-8")
    return 0


def with_table(page: str, study: Study) -> str:
    """Put the table into a page, between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not after and END not in page:
        raise IncidentError(f"README.md has no line {BEGIN.strip()!r} with {END.strip()!r} after it")
    return before + BEGIN + table.markdown(study) + END + after


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
