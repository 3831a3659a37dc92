"""The matrix of verdicts: each case is red until the right fix is in, and only that fix is green. See docs/verdicts.md."""

import itertools
import os
import subprocess
import sys

import pytest

from tests.cli.processes import ROOT, Result, python
from tests.incidents import verdicts
from tests.incidents.cases.kit import VARIANTS
from tests.incidents.verdict_cases import CASES

ALWAYS = ("refund_row", "global_dict")
"""Tried in every run of the tests: a database, and state in memory."""

TWICE = "tickets_folder"
"""Tried in builds, with two runs of unchanged code and of the right fix: so unchanged code is red after fixes, too."""

IN_BUILDS = (TWICE, "salary_orm", "swallowed_by_tool")
"""Tried in builds, too; all of them ten times by `python -m tests.incidents.verdicts --repeat 10` and with --thorough."""


def weight(name):
    """Return the mark that decides in which runs of the tests a case is tried."""
    if name in ALWAYS:
        return ()
    return pytest.mark.slow if name in IN_BUILDS else pytest.mark.thorough


def assert_as_expected(name, repeat):
    case = CASES[name]
    for library in case.needs:
        pytest.importorskip(library)
    row = verdicts.try_case(case, repeat)
    outputs = (f"--- {variant}\n{text}" for variant, text in row.outputs.items())
    assert not row.faults, "\n".join((*row.faults, *outputs))


# --- the matrix -----------------------------------------------------------------------------------------------------------


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", [pytest.param(name, marks=weight(name)) for name in CASES])
def test_verdicts(name, request):
    is_twice = name == TWICE or (name not in ALWAYS and request.config.getoption("--thorough"))
    assert_as_expected(name, repeat=2 if is_twice else 1)


@pytest.mark.thorough
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", CASES)
def test_verdicts_ten_times(name):
    assert_as_expected(name, repeat=10)


@pytest.mark.thorough
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "workers",
    [pytest.param((), marks=pytest.mark.thorough), ("-p", "xdist.plugin", "-n", "2")],
    ids=["one process", "xdist"],
)
def test_two_incidents_of_one_folder_in_both_orders(tmp_path, request, workers):
    project = verdicts.Project(CASES["charged_twice"], tmp_path)
    names = ("incidents/monday", "incidents/tuesday")
    for name in names:  # the second is recorded with the state that the first has left
        for words in (("run", "agent.py"), ("incident", "new", "last", name)):
            done = python(tmp_path, "-m", "autochron", *words, env=verdicts.PLUGINS)
            assert done.status == 0, done.text + done.said
    files = project.digests()
    orders = list(itertools.permutations(names))
    if workers and not request.config.getoption("--thorough"):
        del orders[1:]  # two workers run the two at once, in whichever order they are named
    for order in orders:
        text = project.test(*workers, *order).text
        assert "2 failed" in text, text
        assert ("ReproducedError" in text, "InconclusiveError" in text) == (True, False), text
        assert verdicts.difference(files, project.digests()) == []
    project.apply("right")
    files = project.digests()
    for order in orders:
        text = project.test(*workers, *order).text
        assert "2 passed" in text, text
        assert verdicts.difference(files, project.digests()) == []


# --- the cases ------------------------------------------------------------------------------------------------------------


def test_there_are_enough_cases():
    assert len(CASES) >= 34
    assert {*ALWAYS, *IN_BUILDS} < set(CASES)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_edit_applies_and_is_python(variant):
    for case in CASES.values():
        for name, text in case.edited(variant).items():
            assert text != case.files[name]
            compile(text, f"{case.name}/{name}", "exec")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in ALWAYS else pytest.mark.thorough) for name in CASES]
)
def test_each_variant_does_what_the_case_says(name):
    """Without autochron, all variants but the right fix and the crash do the harm, and only the crash crashes."""
    for library in CASES[name].needs:
        pytest.importorskip(library)
    assert list(verdicts.check_case(CASES[name])) == []


# --- the driver -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "text", "expected"),
    [
        (0, "1 passed in 0.5s", "prevented"),
        (1, "E   autochron.errors.ReproducedError: again\n1 failed", "reproduced"),
        (1, "E   autochron.errors.InconclusiveError: not judged\n1 failed", "inconclusive"),
        (1, "E   ZeroDivisionError\n1 failed", "broken"),
        (5, "no tests ran", "broken"),
        (0, "1 skipped", "broken"),
    ],
)
def test_a_test_run_counts_as_a_verdict(status, text, expected):
    assert verdicts.verdict(Result(status, text.encode(), b"")) == expected


def test_touched_files_are_listed():
    before = {"kept": "1", "changed": "1", "gone": "1"}
    after = {"kept": "1", "changed": "2", "pay.db-wal": "1"}
    assert verdicts.difference(before, after) == ["changed changed", "gone is gone", "pay.db-wal is new"]


def test_a_row_of_the_table():
    case = CASES["refund_row"]
    reds = {"wrong_1": ["inconclusive"], "wrong_2": ["reproduced"], "unrelated": ["reproduced"]}
    good = {"unchanged": ["reproduced"] * 2, "right": ["prevented"] * 2, **reds, "crash": ["inconclusive"]}
    row = verdicts.Row(case, good, (), {})
    assert row.faults == []
    assert row.cells() == [
        "refund_row",
        "2/2 red",
        "2/2 green",
        "inconclusive",
        "reproduced",
        "inconclusive",
        "reproduced",
        "untouched",
    ]
    bad = {**good, "unchanged": ["reproduced", "broken"], "wrong_2": ["prevented"]}
    row = verdicts.Row(case, bad, ("right: pay.db changed",), {})
    assert row.faults == ["unchanged: 1 times broken", "wrong_2: 1 times prevented", "right: pay.db changed"]
    assert row.cells()[1] == "! 1/2 broken"
    assert row.cells()[4] == "! prevented"
    assert row.cells()[-1] == "! 1 touched"


def test_all_variants_are_tried_as_often_as_asked():
    for case in CASES.values():
        tried = verdicts.schedule(case, 10)
        assert tried == verdicts.schedule(case, 10)
        assert (tried[0], len(tried)) == ("unchanged", 24)
        counts = {variant: tried.count(variant) for variant in ("unchanged", *VARIANTS)}
        assert counts == {
            "unchanged": 10,
            "right": 10,
            "wrong_1": 1,
            "wrong_2": 1,
            "crash": 1,
            "unrelated": 1,
        }


def test_the_driver_is_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "tests.incidents.verdicts", "nosuch"], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, "no case nosuch; there are refund_row" in done.stderr) == (2, True)


# --- the page -------------------------------------------------------------------------------------------------------------


def test_the_page_has_a_row_for_each_case():
    """`python -m tests.incidents.verdicts --write` writes the table anew."""
    assert verdicts.names_on_page() == list(CASES)


def test_the_page_is_written_between_its_marks(tmp_path):
    page = os.path.join(tmp_path, "page.md")
    with open(page, "w", encoding="utf-8") as file:
        file.write(f"before\n\n{verdicts.BEGIN}\nold\n{verdicts.END}\n\nafter\n")
    case = CASES["refund_row"]
    row = verdicts.Row(case, {variant: ["reproduced"] for variant in ("unchanged", *VARIANTS)}, (), {})
    verdicts.write_page([row], 1, page)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    assert verdicts.names_on_page(page) == ["refund_row"]
    assert (text.startswith("before\n"), text.endswith("\n\nafter\n"), "old" in text) == (True, True, False)
    assert f"| `refund_row` | {case.about} | 1/1 red | ! 0/1 reproduced |" in text
