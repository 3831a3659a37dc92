"""Which of the tool calls that a model requested are answered by a crossing."""

import tracemalloc

import pytest

from autochron.recording.requested_tools import RequestedCall, RequestedTools

ARGUMENTS = '{"order": "48213", "cents": 500}'
INPUT = b'{"order":"48213","cents":500}'


def unanswered_calls(*events):
    """Return the labels of the unanswered calls after some events in this order.

    An event is a requested call, or a crossing as (names, input), optionally with kind and parent.
    """
    requested = RequestedTools()
    for seq, event in enumerate(events, 1):
        if isinstance(event, RequestedCall):
            requested.note_calls(seq, (event,))
        else:
            names, body, *more = event
            requested.note_crossing(
                seq, names, more[0] if more else "tool", more[1] if more[1:] else None, body
            )
    return tuple(call.label for call in requested.unanswered())


REFUND = ("refund", "refund")
CALL = RequestedCall("refund", ARGUMENTS)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((CALL, (REFUND, INPUT)), ()),
        ((CALL, (("tool", "refund"), INPUT)), ()),
        ((CALL,), ("refund",)),
        ((CALL, CALL, (REFUND, INPUT)), ("refund (1 of 2 calls)",)),
        (((REFUND, INPUT), CALL), ("refund",)),
        ((CALL, (REFUND, b'{"text":"another thing"}')), ("refund",)),
        ((CALL, (REFUND, b"{}")), ()),
        ((CALL, (REFUND, b'{"number":48213}')), ()),
        ((RequestedCall("refund"), (REFUND, b'{"number":1}')), ()),
        ((CALL, CALL, (REFUND, INPUT), (REFUND, INPUT, "tool", 3)), ("refund (1 of 2 calls)",)),
        ((CALL, (REFUND, INPUT), (REFUND, INPUT)), ()),
        ((CALL, (("do_refund", "do_refund"), INPUT)), ()),
        ((CALL, (("do_refund", "do_refund"), b'{"raw":"{\\"order\\":\\"48213\\",\\"cents\\":500}"}')), ()),
        ((CALL, (("do_refund", "do_refund"), b'{"order":"48213"}')), ("refund",)),
        ((CALL, (("note", "note"), INPUT, "state")), ("refund",)),
        ((CALL, RequestedCall("note", ARGUMENTS), (REFUND, INPUT)), ("note",)),
        ((CALL, (REFUND, b'{"agent.name":"Refunds"}', "router")), ()),
        ((CALL, (("route", "route"), b'{"agent.name":"Refunds"}', "router")), ("refund",)),
    ],
    ids=[
        "answered", "by the function's name", "not at all", "once of two", "before it was asked", "a namesake", "no input",
        "a converted argument", "unknown arguments", "one inside the other", "once more", "renamed", "renamed, raw",
        "renamed, other arguments", "another kind", "not for another's name",
        "a route of that name", "a route of another name",
    ],
)  # fmt: skip
def test_a_requested_call_is_answered_by_a_matching_later_crossing(events, expected):
    assert unanswered_calls(*events) == expected


def long_run(turns, *, unanswered=(), between=()):
    """Return the labels of the unanswered calls, and the answering modules, after a number of turns.

    In each turn a model requests a call, the crossings in `between` happen, and the tool answers except in some turns.
    """
    requested = RequestedTools()
    seq = 0
    for turn in range(turns):
        seq += 1
        requested.note_calls(seq, (RequestedCall("refund", f'{{"order":"{turn}"}}'),))
        for names, body in between:
            seq += 1
            requested.note_crossing(seq, names, "tool", None, body)
        if turn not in unanswered:
            seq += 1
            requested.note_crossing(seq, REFUND, "tool", None, f'{{"order":"{turn}"}}'.encode(), "shop")
    return tuple(call.label for call in requested.unanswered()), requested.answering


@pytest.mark.parametrize(
    "between", [(), ((("note", "note"), b'{"text":"a helper"}'),), ((REFUND, b'{"text":"x"}'),)]
)
@pytest.mark.parametrize(
    ("unanswered", "expected"),
    [((), ()), ((3,), ("refund (1 of 20000 calls)",)), ((3, 9_000, 19_999), ("refund (3 of 20000 calls)",))],
)
def test_each_call_of_a_long_run_is_answered_by_its_own_crossing(unanswered, expected, between):
    assert long_run(20_000, unanswered=unanswered, between=between) == (expected, {"shop"})


def test_a_call_without_an_answer_is_reported_after_a_long_run_too():
    requested = RequestedTools()
    requested.note_calls(1, (CALL,))
    for seq in range(2, 30_000):
        requested.note_crossing(seq, ("note", "note"), "tool", None, b'{"text":"a helper"}')
    assert [call.label for call in requested.unanswered()] == ["refund"]


def test_a_call_known_at_the_end_of_a_stream_is_answered_by_a_crossing_during_the_stream():
    requested = RequestedTools()
    requested.may_be_asked = True
    requested.note_calls(1, (), is_open=True)
    requested.note_crossing(2, REFUND, "tool", None, INPUT)
    for seq in range(3, 20_000):
        requested.note_crossing(seq, ("note", "note"), "tool", None, b'{"text":"a helper"}')
    requested.note_calls(1, (CALL,))
    assert requested.unanswered() == ()


def test_a_crossing_inside_a_model_call_may_answer_a_call_known_at_its_end():
    requested = RequestedTools()
    requested.may_be_asked = True
    requested.note_crossing(2, REFUND, "tool", 1, INPUT, in_model=True)
    for seq in range(3, 2_000):
        requested.note_crossing(seq, ("note", "note"), "tool", None, b"{}")
    requested.settle()
    requested.note_calls(1, (CALL,))
    requested.note_crossing(1, ("agent", "agent"), "model", None, b"{}")
    assert requested.unanswered() == ()


@pytest.mark.thorough
def test_memory_does_not_grow_with_the_number_of_answered_calls():
    requested = RequestedTools()
    peaks = []
    tracemalloc.start()
    try:
        for turn in range(40_000):
            requested.note_calls(2 * turn + 1, (RequestedCall("refund", f'{{"order":"{turn}"}}'),))
            body = f'{{"order":"{turn}","note":"{"words " * 200}"}}'.encode()
            requested.note_crossing(2 * turn + 2, REFUND, "tool", None, body)
            if turn % 10_000 == 9_999:
                peaks.append(tracemalloc.get_traced_memory()[1])
                tracemalloc.reset_peak()
    finally:
        tracemalloc.stop()
    assert max(peaks[1:]) < 1.2 * peaks[0]


def test_an_update_of_a_crossing_that_answered_a_call_answers_no_second_one():
    requested = RequestedTools()
    requested.note_calls(1, (CALL,))
    requested.note_crossing(2, REFUND, "tool", None, INPUT)
    for seq in range(3, 10_000):
        requested.note_crossing(seq, ("note", "note"), "tool", None, b"{}")
    requested.note_calls(10_000, (CALL,))
    requested.note_crossing(2, REFUND, "tool", None, INPUT, is_update=True)
    assert [call.label for call in requested.unanswered()] == ["refund (1 of 2 calls)"]
