"""Which held crossings are kept: those whose return value is in the result that the model gets."""

from types import SimpleNamespace

import pytest
from msgspec.json import encode

from autochron.finding.called_tools import OpenCall
from autochron.finding.decisions import Decisions
from autochron.model import BoundaryRule, Place, Raised, Returned, Target
from autochron.recording.call_facts import CallResult
from autochron.recording.held_crossings import HeldCrossings
from autochron.recording.requested_tools import RequestedCall

ARGUMENTS = {"city": "Paris", "day": 12}


class Kernel:
    """Takes back the numbers of dropped crossings."""

    def __init__(self):
        self.taken_back = []

    def take_back(self, name):
        self.taken_back.append(name)


class Bench:
    """Makes crossings, holds them, and says which were submitted."""

    def __init__(self):
        self.decisions = Decisions()
        self.submitted = []
        self.recorder = SimpleNamespace(
            held=HeldCrossings(lambda crossing: self.submitted.append(crossing.seq))
        )
        self.kernel = Kernel()
        self.root = SimpleNamespace(kernel=self.kernel, counts={})
        self._seq = 0

    def cross(self, value, function="weather", how="by name", call_id="c1", arguments=ARGUMENTS, error=None):
        self._seq += 1
        count = self.root.counts["weather"] = self.root.counts.get("weather", 0) + 1
        rule = BoundaryRule(
            id=f"found {how} agent.py:{function} weather",
            name="weather",
            kind="tool",
            selector=Target("agent", function),
            place=Place("agent.py", 1),
        )
        outcome = Returned(encode(value)) if error is None else Raised(encode(error))
        crossing = SimpleNamespace(
            seq=self._seq, name="weather", nth=count, within=count, previous=self.root, root=self.root, counts={},
            handler=self.recorder, point=SimpleNamespace(file="agent.py", line=1, qualname=function),
            record=SimpleNamespace(outcome=outcome, is_confirmed=False),
        )  # fmt: skip
        self.decisions.hold(OpenCall(0, RequestedCall("weather", arguments, call_id)), crossing, rule)
        self.recorder.held.has_ended(crossing)
        return crossing

    def result(self, content, call_id="c1"):
        return self.decisions.decide([CallResult(call_id, "", {"role": "tool", "content": content})])


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("sunny over the harbour", "sunny over the harbour"),
        ({"sky": "sunny", "degrees": 21.5}, '{"sky": "sunny", "degrees": 21.5}'),
        ({"sky": "sunny", "degrees": 21.5}, '{"ok": true, "data": {"sky": "sunny", "degrees": 21.5}}'),
        ({"sky": "sunny", "degrees": 21.5}, "It is sunny, 21.5 degrees."),
        (["a1", "b2"], "a1, b2"),
        ("x" * 5_000, "x" * 500 + "…"),
        (
            {"city": "Paris", "open": True},
            '{"city": "Paris", "open": true}',
        ),  # echoes, but no other value is equal
        (4217, "4217"),
        (None, "null"),
        (None, "None"),
        (True, "true"),
        (7, "7"),
        ("", ""),
        (7, [{"text": "7"}]),
        (7, [{"type": "text", "text": "7"}]),
        (True, ["true"]),
    ],
)
def test_a_function_of_the_tools_name_is_kept_if_its_value_is_in_the_result(value, content):
    bench = Bench()
    crossing = bench.cross(value)
    assert [entry.crossing.seq for entry in bench.result(content)] == [1]
    assert (bench.submitted, crossing.record.is_confirmed) == ([1], True)


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("a helper's note", "sunny"),
        ({"city": "Paris"}, '{"city": "Paris", "sky": "sunny"}'),  # only what the model had asked with
        (1, '{"posted": 1, "ledger": "L00950"}'),
        (None, "The mail is out."),
        (True, "sunny"),
        ("", "sunny"),
        (7, [{"text": "7"}, {"text": "in all"}]),
        (7, [{"text": "7", "status": "failed"}]),
        (
            4217,
            "customer 4217 is called Ada Lovelace and lives in London",
        ),  # a helper's number in the tool's result
    ],
)
def test_a_function_of_the_tools_name_is_dropped_if_its_value_is_not_in_the_result(value, content):
    bench = Bench()
    bench.cross(value)
    assert bench.result(content) == []
    bench.decisions.close()
    assert (bench.submitted, bench.kernel.taken_back, bench.root.counts) == ([], ["weather"], {"weather": 0})


@pytest.mark.parametrize("value", [None, True, "", 7, {"city": "Paris", "day": 12}])
def test_values_that_say_nothing_find_no_function_by_value(value):
    bench = Bench()
    bench.cross(value, "anything", "by value")
    assert bench.result(encode(value).decode()) == []


def test_an_error_that_the_model_is_told_of_confirms_a_tool():
    bench = Bench()
    bench.cross(None, error={"$error": "ValueError", "args": ["no such city: Atlantis"]})
    assert len(bench.result("error: no such city: Atlantis")) == 1


def test_the_tool_is_told_from_helpers_around_it():
    bench = Bench()
    bench.cross({"city": "Paris", "day": 12}, "validate", "by value")
    tool = bench.cross({"sky": "sunny", "degrees": 21.5}, "_weather", "by value")
    bench.cross(None, "log", "by value")
    [kept] = bench.result('{"sky": "sunny", "degrees": 21.5}')
    assert (kept.crossing, bench.submitted) == (tool, [2])
    assert (tool.nth, tool.within) == (1, 1)  # as in a replay, in which the helpers don't cross
    assert bench.root.counts == {"weather": 1}


def test_of_two_functions_that_return_the_same_none_is_taken():
    bench = Bench()
    bench.cross(1999.0, "from_store", "by value")
    bench.cross(1999.0, "from_mirror", "by value")
    assert bench.result("1999") == []
    assert {
        tool: sorted(name for *_, name in places) for tool, places in bench.decisions.unclear.items()
    } == {"weather": ["from_mirror", "from_store"]}
    bench.decisions.close()
    assert bench.submitted == []


def test_what_a_tool_returned_before_it_was_known_is_kept():
    bench = Bench()
    bench.cross("something", call_id="c1")
    assert bench.result("another text") == []
    bench.cross("sunny", call_id="c2")
    bench.result("sunny", "c2")
    assert sorted(bench.submitted) == [1, 2]


def test_a_call_without_a_result_is_kept_and_not_confirmed():
    bench = Bench()
    crossing = bench.cross("sunny")
    bench.decisions.close()
    assert (bench.submitted, crossing.record.is_confirmed) == ([1], False)


def test_a_dropped_crossing_with_others_inside_stays():
    bench = Bench()
    bench.cross("a helper's note").counts["model"] = 1
    bench.result("sunny")
    bench.decisions.close()
    assert bench.submitted == [1]  # else what crossed inside would have no parent


def test_a_function_that_is_never_the_tool_is_not_tried_for_ever():
    bench = Bench()
    for number in range(3):
        bench.cross("a helper's note", call_id=f"c{number}")
        bench.result("sunny", f"c{number}")
    assert bench.decisions.rejected == {"found by name agent.py:weather weather"}
