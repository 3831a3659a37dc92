"""Tests that are marked with a trace: what they can check, what makes them fail, and what remains after them."""

import pytest

from tests.pytest_plugin.projects import CROSSED, copy_project

PASSING = """
import asyncio
import socket
import unittest

import pytest

import agent
import autochron
from autochron.errors import AutochronError, NetworkRefusedError

TRACE = "trace.jsonl"


@pytest.mark.autochron(TRACE)
def test_full(replay):
    said, done = agent.run()
    assert (said, done["order"]) == ("answer 3", agent.Order("A1", 500))
    assert type(done["order"]) is agent.Order
    assert replay["refund[2]"].result == done
    with pytest.raises(agent.Refused) as refused:
        replay["refund[1]"].result
    assert refused.value.cents == 15000
    assert replay.called("refund", cents=500) and not replay.called("refund", cents=1)
    assert replay.sequence() == CROSSED
    assert not replay.only(live=True)


@pytest.mark.autochron(TRACE, live=["refund[2]", "look_up"])
def test_live(replay):
    agent.run()
    assert [each.address for each in replay.crossings if each.live] == ["look_up[1]", "refund[2]"]


@pytest.mark.autochron(TRACE)
def test_without_the_fixture():
    assert agent.run()[0] == "answer 3"


def test_unmarked():
    before = open("ran").read()
    agent.look_up("B")
    assert open("ran").read() == before + "look_up "


@pytest.mark.autochron(TRACE, live="refund", swap={"agent:refund": "fixed:refund"})
def test_swap(replay):
    assert agent.run()[1] == "fixed"


def test_after_the_swap():
    assert agent.refund(agent.Order("x", 1), 1)["cents"] == 1


@pytest.mark.autochron(TRACE)
class TestClass:
    def test_in_a_class(self, replay):
        assert agent.run()[0] == "answer 3"

    @pytest.mark.autochron(TRACE, live="kind:tool")
    def test_the_closest_wins(self, replay):
        agent.run()
        assert replay.sequence() == CROSSED
        assert [each.kind for each in replay.only(live=True)] == ["tool"] * 3

    class TestInner:
        def test_deeper(self, replay):
            assert agent.run()[0] == "answer 3"


@pytest.mark.autochron(TRACE)
class TestCase(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def keep(self, replay):
        self.replay = replay

    def test_of_unittest(self):
        agent.run()
        self.assertEqual(self.replay.sequence(), CROSSED)


@pytest.mark.autochron(TRACE)
def test_asyncio_run():
    async def main():
        return await asyncio.to_thread(agent.run)
    assert asyncio.run(main())[0] == "answer 3"


@pytest.fixture
def early(replay):
    with replay:
        yield agent.run()


@pytest.mark.autochron(TRACE)
def test_a_fixture_runs_the_agent(early, replay):
    assert early[0] == "answer 3" and replay.sequence() == CROSSED


@pytest.fixture
def desk():
    agent.note("fixture")
    yield
    assert agent.look_up("C").id == "C"


@pytest.mark.autochron(TRACE)
def test_between_fixtures(desk, replay):
    assert agent.run()[0] == "answer 3"


@pytest.mark.autochron(TRACE, check=False)
def test_unchecked(replay):
    agent.run("B2")
    assert [each.kind for each in replay.divergences][:2] == ["input", "input"]


@pytest.mark.autochron(TRACE, check=False)
def test_network():
    with pytest.raises(NetworkRefusedError):
        socket.create_connection(("127.0.0.1", 9))
    agent.run()


def test_a_block_of_its_own():
    with autochron.replay(TRACE, live="refund") as replay:
        agent.run()
    assert replay["refund[2]"].live
    with autochron.record(store="memory:") as recording:
        agent.run()
    assert len(recording.trace().envelopes) == 5


@pytest.mark.autochron(TRACE)
def test_a_block_inside_is_refused():
    with pytest.raises(AutochronError, match="under way"), autochron.replay(TRACE):
        pass
    agent.run()


@pytest.mark.autochron(TRACE)
def test_in_a_process_of_its_own(replay):
    assert replay.run().stdout == "answer 3\\n"
    assert replay.sequence() == CROSSED


@pytest.mark.xfail
@pytest.mark.autochron(TRACE)
def test_xfail():
    agent.run(factor=40)


@pytest.mark.skip
@pytest.mark.autochron("nowhere.jsonl", liv=1)
def test_skip(replay):
    raise AssertionError


@pytest.mark.autochron(TRACE)
def test_skips_itself(replay):
    agent.look_up("A1")
    pytest.skip("no")
""".replace("CROSSED", repr(CROSSED))
FIXED = "def refund(order, cents):\n    return 'fixed'\n"

FAILING = """
import sys
import unittest

import pytest
import agent

TRACE = "trace.jsonl"
mark = pytest.mark.autochron


@mark(TRACE)
def test_never():
    pass

@mark(TRACE, check=False)
def test_never_unchecked():
    pass

@mark(TRACE)
def test_input(replay):
    agent.run(factor=31)

@mark(TRACE)
def test_missing():
    agent.look_up("A1")
    agent.ask([{"role": "user", "content": "refund A1"}])

@mark(TRACE)
def test_extra():
    agent.run()
    agent.look_up("A2")

@mark(TRACE)
def test_swallowed():
    agent.run()
    try:
        agent.look_up("A2")
    except Exception:
        pass

@mark(TRACE, live="refund[2]")
def test_assertion(replay):
    agent.run()
    assert replay["refund[2]"].result["blocked"]

@mark(TRACE)
def test_called(replay):
    agent.run()
    assert replay.called("refund", cents=7)

@mark(TRACE)
def test_sequence(replay):
    agent.run()
    assert replay.sequence() == ["look_up[1]", "model[1]", "refund[1]", "model[2]"]

@mark(TRACE)
def test_result(replay):
    agent.run()
    assert replay["model[2]"].result == {"role": "assistant", "content": "another"}

@mark(TRACE)
def test_no_such(replay):
    agent.run()
    replay["refnd[1]"]

@mark(TRACE)
def test_leaves():
    agent.look_up("A1")
    sys.exit(3)

class TestUnit(unittest.TestCase):
    @mark(TRACE)
    def test_unit(self):
        agent.run(factor=31)

    @mark([TRACE])
    def test_unit_of_several(self):
        agent.run()

@mark(TRACE)
def test_after_all():
    assert agent.run()[0] == "answer 3"
"""
WRONG = """
import pytest
import agent

mark = pytest.mark.autochron


@mark
def test_bare(): ...

@mark()
def test_nothing(): ...

@mark("trace.jsonl", "refund[1]")
def test_two(): ...

@mark("trace.jsonl", liv="refund[1]")
def test_typo(): ...

@mark("nowhere.jsonl")
def test_no_file(): ...

@mark(["trace.jsonl", 3])
def test_no_trace(): ...

@mark([])
def test_empty(): ...

@mark("traces/*.jsonl")
def test_glob(): ...

@mark("trace.jsonl", rules="none.toml")
def test_no_rules(): ...

@mark("trace.jsonl", live="refnd[1]")
def test_no_such_live():
    agent.run()

@mark("trace.jsonl", live="refund[9]")
def test_no_such_occurrence():
    agent.run()

@mark("trace.jsonl", live="refund", rules="less.toml")
def test_not_woven():
    agent.run()

@mark("broken.jsonl")
def test_broken():
    agent.run()

@mark("no-such-run", store="memory:")
def test_no_name():
    agent.run()

@mark("trace.jsonl", inputs="strickt")
def test_inputs(): ...

@mark("trace.jsonl", part="twins")
def test_part(): ...

@mark("trace.jsonl", deny="netwrk")
def test_deny():
    agent.run()

@mark("trace.jsonl", check="no")
def test_check(): ...

def test_no_mark(replay): ...

def test_fine():
    pass
"""
MESSAGES = {
    "test_bare": "names no trace",
    "test_nothing": "names no trace; give a trace file or a name",
    "test_two": "give several traces as a list",
    "test_typo": "has no liv=; did you mean live?",
    "test_no_file": "no trace file nowhere.jsonl; record it with `pytest --autochron=record test_wrong.py::test_no_file`",
    "test_no_trace": "can't replay 3; give the path of a trace file",
    "test_empty": "list of traces is empty",
    "test_glob": "no trace file fits 'traces/*.jsonl'",
    "test_no_rules": "none.toml",
    "test_no_such_live": "no crossing refnd[1]; did you mean refund[1]?",
    "test_no_such_occurrence": "no refund[9]; refund crossed 2×",
    "test_not_woven": "refund (agent.py:refund) crossed a boundary when it was recorded, and by today's rules does not",
    "test_broken": "broken.jsonl:1: this is no autochron trace",
    "test_no_name": "no-such-run",
    "test_inputs": "did you mean strict?",
    "test_part": "part='twins' in the marker autochron: it is one of incident, twin, edges; did you mean twin?",
    "test_deny": "what can be denied is network, subprocess, files; 'netwrk'",
    "test_check": "check='no'",
    "test_no_mark": "asks for `replay` and says nothing of a trace; mark it with @pytest.mark.autochron",
}
_IN_THE_CALL = {
    "test_no_such_live",
    "test_no_such_occurrence",
    "test_not_woven",
    "test_broken",
    "test_no_name",
    "test_deny",
}


@pytest.fixture(scope="module")
def passed(recorded, tmp_path_factory):
    folder = copy_project(recorded.folder, tmp_path_factory.mktemp("passing"))
    folder.write(test_passing=PASSING, fixed=FIXED)
    result = folder.pytest("-v")
    return result, folder.bodies_run()


def test_marked_tests_are_replayed(passed):
    result, _ = passed
    outcomes = {
        name: outcome for name, outcome in result.outcomes.items() if outcome not in {"PASSED", "SKIPPED"}
    }
    assert outcomes == {"test_xfail": "XFAIL"}, result.text
    assert ("18 passed, 2 skipped, 1 xfailed" in result.text, result.status) == (True, 0), result.text


def test_only_live_bodies_run(passed):
    _, bodies = passed
    live = ["look_up", "refund"]  # test_live
    unmarked = ["look_up", "refund"]
    tools = ["look_up", "refund", "refund"]
    fixtures = ["fixture", "look_up"]
    block = ["refund", "refund", "look_up", "ask", "refund", "refund", "ask"]
    assert bodies == [*live, *unmarked, *tools, *fixtures, *block]


def test_verbose_pytest_reports_what_was_replayed(passed):
    result, _ = passed
    report = result.text[result.text.index("= autochron =") :]
    assert "test_passing.py::test_live: 5 crossings of trace.jsonl, 2 live" in report
    assert "test_passing.py::test_live: refund[2] runs live after" in report
    assert "test_passing.py::test_unchecked: look_up[1] was given another input" in report


@pytest.fixture(scope="module")
def failed(recorded, tmp_path_factory):
    folder = copy_project(recorded.folder, tmp_path_factory.mktemp("failing"))
    folder.write(test_failing=FAILING)
    return folder.pytest()


def test_a_replay_that_fails_fails_in_the_call_phase(failed):
    outcomes = dict.fromkeys(failed.outcomes, "FAILED") | {
        "test_after_all": "PASSED",
        "test_unit_of_several": "ERROR",
    }
    assert (failed.outcomes, len(outcomes), failed.status) == (outcomes, 15, 1), failed.text


@pytest.mark.parametrize(
    ("test", "messages"),
    [
        ("test_never", ["nothing crossed a boundary", "call the agent inside the replay"]),
        ("test_never_unchecked", ["nothing crossed a boundary"]),
        ("test_input", ["refund[1] was given another input: cents was 15000, now it is 15500", "≠ refund[1]"]),
        ("test_missing", ["was recorded and did not happen", "− refund[1]", "− model[2]"]),
        ("test_extra", ["look_up[2] in lane 0 was not recorded", 'agent.look_up("A2")']),
        ("test_swallowed", ["look_up[2] in lane 0 was not recorded", "nothing live"]),
        ("test_assertion", ["assert False", "● refund[2]", "live: refund[2]"]),
        ("test_called", ["no refund(cents=7)", '; refund[2] was given {"cents":500']),
        ("test_sequence", ["at [3]: refund[2] instead of model[2]", ">  [3] refund[2]  model[2]", ">  [4] model[2]   –"]),
        ("test_result", ["not expected, first at content:", "gave      'answer 3'", "expected  'another'"]),
        ("test_no_such", ["no crossing refnd[1] in this replay"]),
        ("test_leaves", ["SystemExit: 3"]),
        ("TestUnit.test_unit", ["refund[1] was given another input"]),
    ],
)  # fmt: skip
def test_a_failed_test_reports_what_differed(failed, test, messages):
    text = failed.of(test)
    assert [message for message in messages if message not in text] == [], text
    assert "autochron replay" in text


@pytest.mark.parametrize("test", ["test_never", "test_input", "test_missing"])
def test_our_report_has_no_traceback_and_no_second_tree(failed, test):
    text = failed.of(test)
    assert ("pluggy" in text, text.count("did not happen") < 12, "sessions.py" in text) == (
        False,
        True,
        False,
    ), text


@pytest.fixture(scope="module")
def wrong(recorded, tmp_path_factory):
    folder = copy_project(recorded.folder, tmp_path_factory.mktemp("wrong"))
    less = (folder.folder / "autochron.toml").read_text().replace("agent:refund", "agent:nothing")
    folder.write(test_wrong=WRONG, **{"less.toml": less, "broken.jsonl": "{}\n"})
    return folder.pytest(), folder.bodies_run()


def test_each_mistake_is_an_error_of_its_own(wrong):
    result, bodies = wrong
    assert result.outcomes == {
        **{name: "FAILED" if name in _IN_THE_CALL else "ERROR" for name in MESSAGES},
        "test_fine": "PASSED",
    }, result.text
    assert (result.status, bodies) == (1, [])


@pytest.mark.parametrize("test", MESSAGES)
def test_a_mistake_is_reported_with_its_remedy(wrong, test):
    text = wrong[0].of(test)
    assert MESSAGES[test] in text
    assert ("Traceback" in text, "During handling" in text) == (False, False), text
