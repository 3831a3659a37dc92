"""`python -m mutation`: make the study, its results, and the table of its page.

--from    take the results that are there, and try nothing
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from autochron.cli.mutate import mutate
from autochron.errors import AutochronError
from autochron.mutate.model import Result, Study
from autochron.mutate.report import tallies
from incidents.suite import load_all

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / "mutation"
RESULTS = HOME / "results"
PAGE = HOME / "README.md"
BEGIN, END = "<!-- the results of the last study -->\n", "<!-- their end -->\n"


def main(words: Sequence[str]) -> int:
    """Make it; 1 where a mutant escapes, 2 where it can't be made."""
    status = 0
    if list(words) != ["--from"]:
        os.chdir(ROOT)
        folders = [str(each.folder.relative_to(ROOT)) for each in load_all()]
        options = ["--explanations", "mutation/arguments.toml", "--out", "mutation/results", *words]
        try:
            status = mutate([*folders, *options])
        except AutochronError as error:
            sys.stderr.write(f"mutation: {error}\n")
            return 2
    PAGE.write_text(with_results(PAGE.read_text(encoding="utf-8"), read()), encoding="utf-8")
    return status


def read() -> Study:
    """Read the study that is kept."""
    return msgspec.json.decode((RESULTS / "study.json").read_bytes(), type=Study)


def with_results(page: str, study: Study) -> str:
    """Put the results into a page, between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "".join(f"{line}\n" for line in lines(study)) + END + after


def lines(study: Study) -> list[str]:
    """Write the table: killed by method, for each incident and in sum."""
    methods = study.methods
    found = [f"| | mutants | {' | '.join(methods)} |", f"|---|---:|{'---:|' * len(methods)}"]
    for incident in study.incidents:
        cells = [_killed(incident.results, method) for method in methods]
        found.append(f"| {incident.name} | {len(incident.results)} | {' | '.join(cells)} |")
        within = [_span(tallies.tally(incident.results, method)) for method in methods]
        found.append(f"| 95 % interval | | {' | '.join(within)} |")
    results = tallies.all_results(study)
    told = [tallies.tally(results, method) for method in methods]
    found.append(f"| **sum** | **{len(results)}** | {' | '.join(f'**{each.killed}**' for each in told)} |")
    rest = [each for each in results if not tallies.is_equivalent(each)]
    left = [tallies.tally(rest, method) for method in methods]
    share = " | ".join(f"{each.percent:.1f} %" for each in left)
    found.append(f"| of those not equivalent | {len(rest)} | {share} |")
    spans = " | ".join(_span(each) for each in left)
    found.append(f"| 95 % interval | | {spans} |")
    escapes = sum(tallies.is_escape(each) for each in results)
    unsafe = sum(each.is_unsafe for each in results)
    agreed = [each for incident in study.incidents for each in incident.agreement]
    same = sum(each.ours == each.theirs for each in agreed)
    kept = sum(each.is_kept for incident in study.incidents for each in incident.inputs)
    tried = sum(len(incident.inputs) for incident in study.incidents)
    found.append("")
    found.append(
        f"Escapes: {escapes} of {unsafe} mutants that let through what the guard is there to prevent. Of {tried} other inputs"
        f" {kept} are enough for all that they kill. Plain cosmic-ray says the same of {same} of {len(agreed)}."
    )
    return found


def _killed(results: Sequence[Result], method: str) -> str:
    return str(tallies.tally(results, method).killed)


def _span(found: tallies.KillCount) -> str:
    return "" if found.interval is None else "{:.1f}–{:.1f} %".format(*found.interval)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
