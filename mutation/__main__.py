"""`python -m mutation`: make the study of the twelve incidents, its results, and the tables of its page.

It tries the mutants of each fix, and the wrong and right fixes of `incidents/NAME/fixes`, by every method.

--from    take the results that are there, and try nothing
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from autochron.cli.mutate import mutate
from autochron.errors import AutochronError
from autochron.mutate.model import Result, Study
from autochron.mutate.report import tallies
from incidents import fixes
from incidents.suite import Incident, load_all

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / "mutation"
RESULTS = HOME / "results"
PAGE = HOME / "README.md"
BEGIN, END = "<!-- the results of the last study -->\n", "<!-- their end -->\n"

BASELINES = tuple(fixes.BASELINES.items())

_PARTS_OF = {"cut-point": fixes.PARTS[:1], "with-twin": fixes.PARTS[:2], "with-edges": fixes.PARTS}
"""The parts of an incident's test that a method runs."""


def main(words: Sequence[str]) -> int:
    """Make the study; return 1 if a mutant escapes or a fix is misjudged, 2 if it can't be made."""
    status = 0
    if list(words) != ["--from"]:
        os.chdir(ROOT)
        # A pack brings ddtrace, whose plugin starts a thread in each fork: trials could not go on from the checkpoint.
        os.environ.setdefault("PYTEST_ADDOPTS", "-p no:ddtrace")
        folders = [str(each.folder.relative_to(ROOT)) for each in load_all()]
        options = ["--explanations", "mutation/arguments.toml", "--out", "mutation/results", *words]
        for name, file in BASELINES:
            options += ["--baseline", f"{name}={file}"]
        try:
            status = mutate([*folders, *options])
        except AutochronError as error:
            sys.stderr.write(f"mutation: {error}\n")
            return 2
        status = max(status, fixes.main(["--keep"]))
    PAGE.write_text(with_results(PAGE.read_text(encoding="utf-8"), read(), read_fixes()), encoding="utf-8")
    return status


def read() -> Study:
    """Return the study that is kept."""
    return msgspec.json.decode((RESULTS / "study.json").read_bytes(), type=Study)


def read_fixes() -> list[fixes.Trial]:
    """Return the trials of fixes that are kept."""
    return msgspec.json.decode(fixes.KEPT.read_bytes(), type=list[fixes.Trial])


def with_results(page: str, study: Study, trials: Sequence[fixes.Trial]) -> str:
    """Return a page with the results between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "".join(f"{line}\n" for line in lines(study, trials)) + END + after


def lines(study: Study, trials: Sequence[fixes.Trial]) -> list[str]:
    """Return the tables: by method, of the mutants that do harm by family, and of all mutants by incident."""
    results = tallies.all_results(study)
    unsafe = [result for result in results if result.is_unsafe]
    agreed = [check for incident in study.incidents for check in incident.agreement]
    same = sum(check.ours == check.theirs for check in agreed)
    escapes = sum(map(tallies.is_escape, results))
    return [
        *_by_method(study, results, trials),
        "",
        f"Killed, of the {len(unsafe)} mutants that do harm, by family:",
        "",
        *_by_family(study, unsafe),
        "",
        f"Killed, of all {len(results)} mutants, by family:",
        "",
        *_by_family(study, results),
        "",
        "Killed, of all mutants, by incident:",
        "",
        *_by_incident(study),
        "",
        (
            f"Escapes: {escapes} of {len(unsafe)} mutants that do harm."
            f" Plain cosmic-ray says the same of {same} of {len(agreed)}."
        ),
    ]


def _by_method(study: Study, results: Sequence[Result], trials: Sequence[fixes.Trial]) -> list[str]:
    """Return the table of the methods: what each kills and rejects, and what a person writes for it."""
    unsafe = [result for result in results if result.is_unsafe]
    plain = [result for result in results if tallies.families([result]).keys() != {"string"}]
    wrong = [trial for trial in trials if not trial.is_right]
    right = [trial for trial in trials if trial.is_right]
    incidents = load_all()
    found = [
        (
            "| | of those that do harm | 95 % interval | of all but strings | of all |"
            " wrong fixes rejected | right fixes refused | lines by hand |"
        ),
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        (
            f"| **in all** | **{len(unsafe)}** | | **{len(plain)}** | **{len(results)}** |"
            f" **{len(wrong)}** | **{len(right)}** | |"
        ),
    ]
    for method in study.methods:
        cells = [
            str(tallies.tally(unsafe, method).killed),
            _interval(unsafe, method),
            *(str(tallies.tally(each, method).killed) for each in (plain, results)),
        ]
        rejects = _rejecting(method)
        counts = ["–", "–"] if rejects is None else [str(sum(map(rejects, each))) for each in (wrong, right)]
        written = [lines_by_hand(incident, method) for incident in incidents]
        by_hand = "–" if None in written else f"{sum(filter(None, written))}"
        found.append(f"| {method} | {' | '.join([*cells, *counts, by_hand])} |")
    return found


def _rejecting(method: str) -> Callable[[fixes.Trial], bool] | None:
    """Return what says whether a method rejects a fix; None for a method to which a fix is the measure."""
    if method in fixes.BASELINES:
        return lambda trial: method in trial.baselines
    if method in _PARTS_OF:
        return lambda trial: trial.rejected_by in _PARTS_OF[method]
    return None


def lines_by_hand(incident: Incident, method: str) -> int | None:
    """Return how many lines a person wrote for a method, but for blank ones and comments; None where nobody wrote any."""
    if method in fixes.BASELINES:
        return _lines(ast.parse((incident.folder / fixes.BASELINES[method]).read_text(encoding="utf-8")).body)
    if method == "mocks":
        return _lines(ast.parse((incident.folder / "test_mocks.py").read_text(encoding="utf-8")).body)
    if method not in _PARTS_OF:
        return None
    body = ast.parse((incident.folder / "test_incident.py").read_text(encoding="utf-8")).body
    predicate = ast.parse((incident.folder / "predicate.py").read_text(encoding="utf-8")).body
    parts = _PARTS_OF[method]
    return _lines(predicate) + _lines(node for node in body if _part_of(node) in {*parts, ""})


def _part_of(node: ast.stmt) -> str:
    """Return which part of a test a statement is for; an empty text where it is for all of them."""
    text = ast.unparse(node)
    if "part='twin'" in text or getattr(node, "name", "") == "check_twin":
        return "twin"
    is_edge = "part='edges'" in text or text.startswith(("EDGES = ", "'Calls that"))
    if is_edge or text.startswith(("'Quotes that", "'What was read")):
        return "edges"
    return "incident" if getattr(node, "name", "") == "check" or "@pytest" in text else ""


def _lines(nodes: Iterable[ast.stmt]) -> int:
    """Return how many lines statements have, with their decorators."""
    taken = set()
    for node in nodes:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        taken |= set(range(first, (node.end_lineno or first) + 1))
    return len(taken)


def _by_family(study: Study, results: Sequence[Result]) -> list[str]:
    found = _heading(study, "mutants")
    for family, members in tallies.families(results).items():
        cells = [str(tallies.tally(members, method).killed) for method in study.methods]
        found.append(f"| {family} | {len(members)} | {' | '.join(cells)} |")
    return found


def _by_incident(study: Study) -> list[str]:
    found = _heading(study, "mutants")
    for incident in study.incidents:
        cells = [str(tallies.tally(incident.results, method).killed) for method in study.methods]
        found.append(f"| {incident.name} | {len(incident.results)} | {' | '.join(cells)} |")
    return found


def _heading(study: Study, what: str) -> list[str]:
    return [
        f"| | {what} | {' | '.join(study.methods)} |",
        f"|---|---:|{'---:|' * len(study.methods)}",
    ]


def _interval(results: Sequence[Result], method: str) -> str:
    bounds = tallies.interval(results, method)
    return "–" if bounds is None else "{:.1f}–{:.1f} %".format(*bounds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
