"""The page of the mutation study, and the figures of the how-to guide on mutation, are those of the last study."""

import json
import re
from pathlib import Path

from autochron.mutate.incident_study import IncidentStudy
from autochron.mutate.report import tallies
from autochron.mutate.sets import operator_set
from autochron.mutate.study import StudyOptions, read_arguments
from incidents.suite import load_all
from mutation import __main__ as mutation

GUIDE = (Path(__file__).parents[2] / "docs" / "how-to" / "mutation.md").read_text("utf-8")


def test_the_figures_on_mutants_are_those_of_the_study():
    study = mutation.read()
    refund = next(entry for entry in study.incidents if entry.name == "refund")
    methods = [method for method in study.methods if method not in dict(mutation.BASELINES)]
    counts = [tallies.tally(refund.results, method) for method in methods]
    heading = r"\s+".join(["^incident", *methods])
    assert re.search(f"{heading}$", GUIDE, re.MULTILINE)
    row = "".join(rf"\s+{entry.killed}/{entry.tried} {entry.percent:.1f} %" for entry in counts)
    assert re.search(rf"^refund{row}$", GUIDE, re.MULTILINE)
    unsafe = [entry for entry in refund.results if entry.is_unsafe]
    killed = sum(entry.verdicts["with-edges"].is_killed for entry in unsafe)
    assert (
        f"escapes: {len(unsafe) - killed} of {len(unsafe)} mutants that let through what the guard is there to prevent;"
        f" with-edges kills {killed}\n" in GUIDE
    )
    holding = [canary for canary in refund.canaries if canary.method not in dict(mutation.BASELINES)]
    assert f"canaries: {len(holding)} of {len(holding)} hold\n" in GUIDE


def test_the_mutation_page_is_that_of_the_last_study_of_the_current_incidents():
    study = mutation.read()
    page = mutation.PAGE.read_text("utf-8")
    assert mutation.with_results(page, study, mutation.read_fixes()) == page, "run python -m mutation --from"
    options = StudyOptions(
        arguments=read_arguments(str(mutation.HOME / "arguments.toml")), baselines=mutation.BASELINES
    )
    operators = operator_set(options.operators)
    assert {incident.name: incident.made_of for incident in study.incidents} == {
        incident.name: IncidentStudy(incident.folder, operators, options, 1, lambda *_: None).made_of
        for incident in load_all()
    }, "the incidents changed since: run python -m mutation"


def test_the_comparison_on_the_mutation_page_is_the_one_that_is_kept():
    """The current study has as many mutants of each guard, so that both are of the same guards and operators."""
    kept = json.loads((mutation.RESULTS / "comparison.json").read_text("utf-8"))
    page = mutation.PAGE.read_text("utf-8")
    studied = {incident.name: len(incident.results) for incident in mutation.read().incidents}
    assert len(kept["guards"]) == 3
    for guard in kept["guards"]:
        name, made, same = guard["guard"], guard["mutants"], guard["same as mutmut"]
        assert guard["verdicts that agree with mutmut"] == same > 0
        assert guard["verdicts that agree with cosmic-ray"] == guard["tried by cosmic-ray"] == same
        assert f"| {name} | {made['autochron']} | {made['mutmut']} | {same} | {same} | {same} |\n" in page
        assert made["autochron"] == studied[name], "run python -m mutation.comparison"
        lacking = [row for row in guard["rows"] if row["autochron"] is None or row["mutmut"] is None]
        assert [row for row in lacking if not row["why"]] == []


def test_the_mutation_study_meets_its_goals():
    results = tallies.all_results(mutation.read())
    assert sum(result.verdicts["full-stub"].is_killed for result in results) == 0
    assert sum(tallies.is_escape(result) for result in results) == 0
    assert [result for result in results if result.proof] == []
    survivors = [result for result in results if not result.verdicts["widened"].is_killed]
    assert [result.mutant.id for result in survivors if not (result.proof or result.hint)] == []


def test_what_the_mutation_page_says_of_the_methods_is_true():
    """Whoever makes the study anew has to look at these sentences, whichever way the figures fall."""
    unsafe = [result for result in tallies.all_results(mutation.read()) if result.is_unsafe]
    killed = {method: tallies.tally(unsafe, method).killed for method in mutation.read().methods}
    assert killed["cut-point"] < len(unsafe) / 2
    assert 0 <= killed["model"] - killed["with-twin"] <= 2
    assert killed["model"] == killed["vcr"]
    assert killed["tool"] == killed["with-edges"] == len(unsafe)
    trials = mutation.read_fixes()
    wrong = [trial for trial in trials if not trial.is_right]
    right = [trial for trial in trials if trial.is_right]
    assert [trial for trial in trials if not trial.is_as_it_should] == []
    rejected = {name: sum(name in trial.baselines for trial in wrong) for name, _ in mutation.BASELINES}
    assert (len(wrong) - rejected["tool"], rejected["model"], rejected["vcr"]) == (3, 113, 113)
    assert 0.55 < 113 / len(wrong) < 0.65
    refused = {
        name: [trial.fix for trial in right if name in trial.baselines] for name, _ in mutation.BASELINES
    }
    assert refused["model"] == refused["vcr"] == ["right_agent"] * 7
    assert len(refused["tool"]) == 5
    lines = {
        method: sum(mutation.lines_by_hand(incident, method) for incident in load_all())
        for method in ("model", "vcr", "tool", "with-twin", "with-edges")
    }
    assert 0.45 < lines["with-twin"] / lines["vcr"] < 0.55
    assert lines["with-twin"] < 0.5 * min(lines["model"], lines["tool"])
    assert 0.9 < lines["with-edges"] / lines["vcr"] < 1.1
