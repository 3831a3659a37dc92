"""Whether a Python call has the arguments of a tool call, and which call a call of a shared function answers."""

import sys
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autochron.finding.argument_match import takes_call
from autochron.finding.called_tools import CalledTools, is_inside
from autochron.recording.call_facts import CallResult
from autochron.recording.requested_tools import RequestedCall

CALL = RequestedCall("move", {"from": "4711", "to": "4712", "amount": 50}, "call_1")


@dataclass
class Move:
    source: str
    target: str
    amount: int


def frame_of(function, *args, **kwargs):
    """Return the frame of a function when it has just been called."""
    frames = []

    def trace(frame, event, _argument):
        if event == "call" and not frames:
            frames.append((frame.f_code, dict(frame.f_locals)))

    sys.setprofile(trace)
    try:
        function(*args, **kwargs)
    finally:
        sys.setprofile(None)
    return frames[0]


def spread(source, target, amount):
    pass


def with_more(source, target, amount, currency="EUR", *, dry=False):
    pass


def whole(arguments):
    pass


def keywords(**arguments):
    pass


def dispatched(name, arguments):
    pass


class Desk:
    def method(self, source, target, amount):
        pass


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "expected"),
    [
        (spread, ("4711", "4712", 50), {}, True),
        (spread, ("4712", "4711", 50), {}, True),  # the names may be others, and so may the order
        (spread, ("4711", "4712", 51), {}, False),
        (spread, ("4711", "4712", "50"), {}, False),
        (spread, ("4711", "4711", 50), {}, False),
        (with_more, ("4711", "4712", 50), {}, True),
        (whole, ({"from": "4711", "to": "4712", "amount": 50},), {}, True),
        (whole, ({"from": "4711", "to": "4712"},), {}, False),
        (keywords, (), {"from": "4711", "to": "4712", "amount": 50}, True),
        (dispatched, ("move", {"from": "4711", "to": "4712", "amount": 50}), {}, False),
        (dispatched, ("call_1", {"from": "4711", "to": "4712", "amount": 50}), {}, False),
        (Desk().method, ("4711", "4712", 50), {}, True),
        (whole, ('{"from": "4711", "to": "4712", "amount": 50}',), {}, False),
    ],
)
def test_a_function_takes_a_call(function, args, kwargs, expected):
    code, variables = frame_of(function, *args, **kwargs)
    assert takes_call(code, variables, CALL) is expected


def test_the_fields_of_an_object_may_be_the_arguments():
    call = RequestedCall("move", {"source": "4711", "target": "4712", "amount": 50})
    code, variables = frame_of(whole, Move("4711", "4712", 50))
    assert takes_call(code, variables, call)


def test_a_call_without_arguments_fits_a_function_without_any():
    code, variables = frame_of(lambda: None)
    assert takes_call(code, variables, RequestedCall("list_all", {}))
    code, variables = frame_of(whole, "something")
    assert not takes_call(code, variables, RequestedCall("list_all", {}))


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from("abc"), PLAIN, min_size=1))
def test_any_arguments_are_recognised_spread_out_and_whole(arguments):
    call = RequestedCall("the tool", arguments, "the id")
    code, variables = frame_of(lambda *values: None, *arguments.values())
    assert takes_call(code, variables, call)
    code, variables = frame_of(whole, arguments)
    assert takes_call(code, variables, call)


def asked(*calls):
    called = CalledTools()
    called.ask(3, calls)
    return called


def names(called):
    return [call.call.id for call in called.calls_of("look")]


def test_a_call_is_open_until_its_result_is_sent():
    called = asked(RequestedCall("look", {}, "a"), RequestedCall("look", {}, "b"))
    called.answer(5, [CallResult("b", "", {})])
    assert names(called) == ["a"]
    called.answer(6, [CallResult("a", "", {})])
    assert names(called) == []


def test_without_ids_a_result_answers_the_first_call_of_its_tool():
    called = asked(RequestedCall("look", {"n": 1}), RequestedCall("look", {"n": 2}))
    called.answer(5, [CallResult("", "look", {})])
    assert [call.call.arguments for call in called.calls_of("look")] == [{"n": 2}]


def test_an_id_that_is_used_again_is_not_answered_by_the_request_that_asks_again():
    called = asked(RequestedCall("look", {}, "a"))
    called.answer(3, [CallResult("a", "", {})])
    assert names(called) == ["a"]


def test_what_a_model_asks_for_replaces_what_it_asked_for_before():
    called = asked(RequestedCall("look", {}, "a"))
    called.ask(3, [RequestedCall("look", {}, "a"), RequestedCall("look", {}, "b")])
    assert names(called) == ["a", "b"]


def test_the_number_of_open_calls_is_bounded():
    called = CalledTools()
    for model in range(5_000):
        called.ask(model, [RequestedCall("look", {}, str(model))])
    assert len(called.calls_of("look")) == 4_096


class Root:
    parent = None


class Open:
    def __init__(self, kind, seq, parent=None, name="other"):
        self.rule = type("Rule", (), {"kind": kind})
        self.seq, self.parent, self.name = seq, parent, name


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        (Root(), False),
        (Open("tool", 2), False),  # it asked the model itself
        (Open("tool", 4), True),
        (Open("model", 4), False),
        (Open("router", 5, Open("tool", 4)), True),
        (Open("router", 4), False),
        (Open("router", 4, name="look"), True),  # a handoff
        (Open("model", 4, name="look"), False),
    ],
)
def test_what_runs_inside_a_tool_answers_no_call(current, expected):
    [call] = asked(RequestedCall("look", {}, "a")).calls_of("look")
    assert is_inside(call, current) is expected
