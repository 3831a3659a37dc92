"""The tests of the incidents tell right fixes from wrong ones, which were written without sight of the tests."""

import re
import shutil

import pytest

from incidents import fixes
from incidents.suite import INCIDENTS, load, load_all

PAGE = (INCIDENTS / "README.md").read_text("utf-8")
SUITE = [incident for incident in load_all() if not incident.missing()]
IN_THE_BUILD = frozenset(
    {"wrong_acts_then_refuses", "wrong_blocks_all", "wrong_off_by_one", "right_raises", "right_agent"}
)
"""The fixes of one incident that are tried in the build. `--thorough` and `python -m incidents.fixes` try all of all."""


def row_of(trials):
    """Return the row of an incident in the table of the page."""
    wrong = [trial for trial in trials if not trial.is_right]
    right = [trial for trial in trials if trial.is_right]
    by = [sum(trial.rejected_by == part for trial in wrong) for part in fixes.PARTS]
    as_they_should = [sum(trial.is_as_it_should for trial in each) for each in (wrong, right)]
    counts = [len(wrong), as_they_should[0], *by, len(right), as_they_should[1]]
    return f"\n| {trials[0].incident} | {' | '.join(map(str, counts))} |\n"


def test_the_sums_of_the_page_are_those_of_its_rows():
    rows = re.findall(r"^\| (\w+) \| ((?:\d+ \| ){6}\d+) \|$", PAGE, re.MULTILINE)
    assert [name for name, _ in rows] == [incident.name for incident in load_all()]
    columns = zip(*(map(int, cells.split(" | ")) for _, cells in rows), strict=True)
    assert f"| **sum** | {' | '.join(f'**{sum(column)}**' for column in columns)} |" in PAGE


def test_each_incident_has_enough_fixes():
    for incident in load_all():
        names = [fix.stem for fix in fixes.fixes_of(incident)]
        assert sum(name.startswith("wrong_") for name in names) >= 8
        assert sum(name.startswith("right_") for name in names) >= 5
        assert {"wrong_acts_then_refuses", "wrong_blocks_all", "wrong_hard_coded", "right_raises"} <= {*names}
        assert {"right_other_words", "right_async", "right_helper", "right_agent"} <= {*names}


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize("incident", [pytest.param(each, id=each.name) for each in SUITE])
def test_wrong_fixes_fail_and_right_ones_pass(incident):
    trials = fixes.try_all(incident)
    assert [trial.fix for trial in trials] == [fix.stem for fix in fixes.fixes_of(incident)]
    assert [trial for trial in trials if not trial.is_as_it_should] == []
    assert row_of(trials) in PAGE
    by = {trial.fix: trial.rejected_by for trial in trials}
    assert by["wrong_acts_then_refuses"] == "incident"


@pytest.mark.thorough
def test_some_fixes_of_one_incident(monkeypatch):
    """By the incident's own test only: `python -m mutation` tries the baselines as well."""
    monkeypatch.setattr(fixes, "BASELINES", {})
    overdraft = next(incident for incident in SUITE if incident.name == "overdraft")
    assert {trial.fix: trial.rejected_by for trial in fixes.try_all(overdraft, IN_THE_BUILD)} == {
        "wrong_acts_then_refuses": "incident",
        "wrong_blocks_all": "twin",
        "wrong_off_by_one": "edges",
        "right_raises": "",
        "right_agent": "",
    }


@pytest.mark.slow
def test_what_is_not_as_it_should_be_is_told(tmp_path, capsys, monkeypatch):
    folder = tmp_path / "refund"
    refund = next(incident for incident in SUITE if incident.name == "refund")
    shutil.copytree(refund.folder, folder, ignore=shutil.ignore_patterns("__pycache__", "wrong_*", "right_*"))
    guard = (folder / "guarded.py").read_text()
    (folder / "fixes" / "wrong_but_right.py").write_text(guard)
    (folder / "fixes" / "right_but_wrong.py").write_text(guard.replace("not 0 <", "not 10000 <"))
    (folder / "fixes" / "right_but_broken.py").write_text("def issue_refund(:\n")
    monkeypatch.setattr(fixes, "INCIDENTS", tmp_path)
    assert load(folder).name == "refund"
    assert fixes.main(["refund"]) == 1
    printed = capsys.readouterr().out
    assert re.search(r"\nrefund +1 +0 +2 +0 ", printed)
    assert "    wrong_but_right: passes\n" in printed
    assert "    right_but_wrong: rejected by the twin\n" in printed
    assert "    right_but_broken: SyntaxError: " in printed
