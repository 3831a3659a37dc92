"""The parts of an incident's test are counted apart: the incident, its twin, and edges. Baselines are compared with them."""

import pytest

from autochron.mutate.merging import read_study
from autochron.mutate.report import tallies
from tests.cli.processes import autochron
from tests.mutate.desks import copy_incident, mutate, record_incident
from tests.mutate.test_unsafe import HEAD, PREDICATE, TOOLS

AGENT = """
import os

import tools


def ask(messages):
    return {"order": "A1", "cents": int(os.environ.get("WISH", "9900"))}


def main():
    wish = ask(["my lamp is broken"])
    return tools.refund(wish["order"], wish["cents"])


if __name__ == "__main__":
    main()
"""
GUARDED = HEAD + '    return {"status": "blocked"} if cents > PAID[order] else pay(order, cents)\n'
TEST = """
import contextlib

import agent
import pytest
import tools

SWAP = {"tools.py:refund": "guarded.py:refund"}


@pytest.mark.autochron("trace.jsonl", live=["refund"], swap=SWAP, predicate="predicate.py")
def test_no_more_than_was_paid(replay):
    with contextlib.suppress(Exception):
        agent.main()
    assert replay.called("refund", cents=9900)


@pytest.mark.autochron("twin.jsonl", live=["refund"], swap=SWAP, predicate="predicate.py", part="twin")
def test_what_was_paid_is_refunded(replay):
    agent.main()
    assert tools.paid == [{"order": "A1", "cents": 4900}]


@pytest.mark.parametrize("cents", [4900, 4901, 4900 * 2])
@pytest.mark.autochron("trace.jsonl", live=["refund"], swap=SWAP, check=False, predicate="predicate.py", part="edges")
def test_no_call_gets_past(cents):
    with contextlib.suppress(Exception):
        tools.refund("A1", cents)
"""
UNIT = """
import guarded
import tools


def test_a_refund_is_made():
    tools.paid.clear()
    guarded.refund("A1", 1)
    assert tools.paid == [{"order": "A1", "cents": 1}]
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return a folder with the traces of the incident and of its twin."""
    folder = tmp_path_factory.mktemp("recorded") / "refund"
    folder.mkdir()
    record_incident(
        folder, agent=AGENT, tools=TOOLS, predicate=PREDICATE, test_incident=TEST, guarded=GUARDED
    )
    store = ("--store", f"sqlite:///{folder}/../twin.db")
    for words in (
        ("run", "--strict", *store, "agent.py"),
        ("traces", "export", "last", "twin.jsonl", *store),
    ):
        command = autochron(folder, *words, env={"WISH": "4900"})
        assert command.status == 0, command.said
    return folder


def studied(folder, *words, status=0):
    out = folder.parent / "out"
    command = mutate(folder.parent, folder, "--out", out, *words)
    assert command.status == status, command.said
    study = read_study(out)
    return study, {condition_of(result): result for result in study.incidents[0].results}, command.text


def condition_of(result):
    """Return the condition of the guard in a mutant."""
    (added,) = [line for line in result.diff.splitlines() if line.startswith("+ ")]
    return added.partition(" if ")[2].partition(" else ")[0]


def killers_of(result):
    return list(tallies.killers(result))


@pytest.mark.slow
def test_each_part_kills_what_the_parts_before_it_let_live(recorded, tmp_path):
    folder = copy_incident(recorded, tmp_path / "refund")
    (folder / "units").mkdir()
    (folder / "units" / "test_unit.py").write_text(UNIT)
    study, results, text = studied(folder, "--baseline", "unit=units")
    assert study.methods == (
        "full-stub", "unit", "cut-point", "with-twin", "with-edges", "full-output", "widened",
    )  # fmt: skip
    (incident,) = study.incidents
    assert (incident.has_twin, incident.has_predicate, incident.accepts_raising) == (True, True, True)
    written = ["cut-point", "with-twin", "with-edges", "full-output", "widened"]
    assert killers_of(results["cents != PAID[order]"]) == ["unit", "widened"]
    assert killers_of(results["cents >= PAID[order]"]) == written[1:]
    assert killers_of(results["cents > PAID[order] * 1.1"]) == written[2:]
    assert killers_of(results["cents == PAID[order]"]) == written
    assert results["cents > PAID[order] * 1.1"].harm == "A1 gets 4901 back"
    assert "over-refusal untested" not in text
    assert "escapes: 0 of" in text
    assert {(canary.what, canary.method) for canary in incident.canaries} >= {
        ("the fix", "unit"),
        ("refund refuses", "twin"),
        ("the function without the fix", "twin"),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "assert tools.paid == [",
            "assert True or [",
            "a canary failed: refund refuses: twin passes, expected: fails; it must be a run that goes through",
        ),
        (
            '"cents": 4900}',
            '"cents": 1}',
            'its tests marked part="twin" fail before anything is mutated (AssertionError: ',
        ),
        (
            "    agent.main()\n    assert tools.paid == [",
            "    assert agent.main().get('is_checked')\n    assert tools.paid == [",
            "a canary failed: the function without the fix: twin fails, expected: passes; it must be a run that goes through",
        ),
    ],
)
def test_a_twin_that_says_nothing_is_refused(recorded, tmp_path, old, new, reason):
    assert old in TEST
    marks = GUARDED.replace("pay(order, cents)", "pay(order, cents) | {'is_checked': True}")
    folder = copy_incident(recorded, tmp_path / "refund", test_incident=TEST.replace(old, new), guarded=marks)
    command = mutate(tmp_path, folder)
    assert command.status == 2
    assert reason in " ".join(command.said.split())


@pytest.mark.slow
def test_a_baseline_without_a_test_is_refused(recorded, tmp_path):
    folder = copy_incident(recorded, tmp_path / "refund")
    (folder / "units").mkdir()
    (folder / "units" / "test_nothing.py").write_text("LIMIT = 1\n")
    command = mutate(tmp_path, folder, "--baseline", "unit=units")
    assert command.status == 2
    assert "refund: --baseline unit: there is no test without a trace in units" in command.said


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["unit"], "--baseline takes NAME=FILE, such as unit=test_tools.py, not unit"),
        (
            ["mocks=test_x.py"],
            "--baseline mocks=test_x.py: mocks is a method of each study; name it otherwise",
        ),
        (["unit=test_x.py"], "--baseline unit=test_x.py: there is no test_x.py in "),
        (["a=agent.py", "a=tools.py"], "--baseline: two are called a; name them apart"),
    ],
)
def test_a_baseline_that_is_none_is_refused(recorded, words, reason):
    command = mutate(recorded.parent, recorded, *(word for each in words for word in ("--baseline", each)))
    assert command.status == 2
    assert reason in command.said
