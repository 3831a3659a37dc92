"""When the program's functions are watched: only while a call of an unknown tool is under way."""

import sys

import pytest

from autochron.finding.called_tools import CalledTools
from autochron.finding.decisions import Decisions
from autochron.finding.return_watch import CAN_WATCH, ReturnWatch
from autochron.project import Project
from autochron.recording.call_facts import CallResult
from autochron.recording.requested_tools import RequestedCall

pytestmark = pytest.mark.skipif(not CAN_WATCH, reason="sys.monitoring came with 3.12")

ASKED = RequestedCall("weather", {"city": "Oslo"}, "call_1")
RESULT = CallResult("call_1", "", {"tool_call_id": "call_1", "content": "cold"})


def used():
    return [name for number in range(6) if (name := sys.monitoring.get_tool(number)) == "autochron"]


@pytest.fixture
def called():
    return CalledTools()


@pytest.fixture
def watch(called, tmp_path):
    problems = []
    project = Project((str(tmp_path),), str(tmp_path))
    made = ReturnWatch(called, Decisions(), project, lambda tool, code, module: None, problems.append)
    yield made
    made.off()
    assert problems == []


def test_functions_are_watched_until_the_request_with_the_result(called, watch):
    called.ask(1, [ASKED])
    watch.asked(object(), {"weather"})
    assert used() == ["autochron"]
    watch.settle()
    assert used() == ["autochron"]
    called.answer(2, [RESULT])
    watch.settle()
    assert used() == []


def test_what_was_watched_in_vain_three_times_is_watched_no_more(called, watch):
    kernel, watched = object(), []
    for turn in range(5):
        called.ask(turn, [ASKED])
        watch.asked(kernel, {"weather"})
        watched.append(used())
        called.answer(turn + 1, [RESULT])
        watch.settle()
        assert used() == []
    assert watched == [["autochron"]] * 3 + [[]] * 2
