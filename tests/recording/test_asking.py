"""Which calls that a model asked for are answered by a crossing."""

import tracemalloc

import pytest

from autochron.recording.requested_tools import RequestedCall, RequestedTools

GIVEN = '{"order": "48213", "cents": 500}'
WHOLE = b'{"order":"48213","cents":500}'


def unwoven(*events):
    """Return what is unwoven after calls and crossings in this order: a Call, or (names, input) with kind and parent."""
    requested = RequestedTools()
    for seq, each in enumerate(events, 1):
        if isinstance(each, RequestedCall):
            requested.note_calls(seq, (each,))
        else:
            names, body, *more = each
            requested.note_crossing(
                seq, names, more[0] if more else "tool", more[1] if more[1:] else None, body
            )
    return tuple(each.label for each in requested.unanswered())


REFUND = ("refund", "refund")
CALL = RequestedCall("refund", GIVEN)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((CALL, (REFUND, WHOLE)), ()),
        ((CALL, (("tool", "refund"), WHOLE)), ()),
        ((CALL,), ("refund",)),
        ((CALL, CALL, (REFUND, WHOLE)), ("refund (1 of 2 calls)",)),
        (((REFUND, WHOLE), CALL), ("refund",)),
        ((CALL, (REFUND, b'{"text":"another thing"}')), ("refund",)),
        ((CALL, (REFUND, b"{}")), ()),
        ((CALL, (REFUND, b'{"number":48213}')), ()),
        ((RequestedCall("refund"), (REFUND, b'{"number":1}')), ()),
        ((CALL, CALL, (REFUND, WHOLE), (REFUND, WHOLE, "tool", 3)), ("refund (1 of 2 calls)",)),
        ((CALL, (REFUND, WHOLE), (REFUND, WHOLE)), ()),
        ((CALL, (("do_refund", "do_refund"), WHOLE)), ()),
        ((CALL, (("do_refund", "do_refund"), b'{"raw":"{\\"order\\":\\"48213\\",\\"cents\\":500}"}')), ()),
        ((CALL, (("do_refund", "do_refund"), b'{"order":"48213"}')), ("refund",)),
        ((CALL, (("note", "note"), WHOLE, "state")), ("refund",)),
        ((CALL, RequestedCall("note", GIVEN), (REFUND, WHOLE)), ("note",)),
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
def test_a_call_is_answered_by_a_crossing_after_it(events, expected):
    assert unwoven(*events) == expected


def long_run(turns, *, unanswered=(), between=()):
    """Return what is unwoven after so many turns: a model asks, helpers run, and the tool answers except in some turns."""
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
    return tuple(each.label for each in requested.unanswered()), requested.answering


@pytest.mark.parametrize(
    "between", [(), ((("note", "note"), b'{"text":"a helper"}'),), ((REFUND, b'{"text":"x"}'),)]
)
@pytest.mark.parametrize(
    ("unanswered", "expected"),
    [((), ()), ((3,), ("refund (1 of 20000 calls)",)), ((3, 9_000, 19_999), ("refund (3 of 20000 calls)",))],
)
def test_each_call_of_a_long_run_is_answered_by_its_own_crossing(unanswered, expected, between):
    assert long_run(20_000, unanswered=unanswered, between=between) == (expected, {"shop"})


def test_a_tool_that_no_call_reached_is_told_of_after_a_long_run_too():
    requested = RequestedTools()
    requested.note_calls(1, (CALL,))
    for seq in range(2, 30_000):
        requested.note_crossing(seq, ("note", "note"), "tool", None, b'{"text":"a helper"}')
    assert [each.label for each in requested.unanswered()] == ["refund"]


def test_what_a_stream_is_known_to_have_asked_for_at_its_end_is_answered_by_what_crossed_meanwhile():
    requested = RequestedTools()
    requested.may_be_asked = True
    requested.note_calls(1, (), is_open=True)
    requested.note_crossing(2, REFUND, "tool", None, WHOLE)
    for seq in range(3, 20_000):
        requested.note_crossing(seq, ("note", "note"), "tool", None, b'{"text":"a helper"}')
    requested.note_calls(1, (CALL,))
    assert requested.unanswered() == ()


def test_what_crosses_inside_of_a_model_may_answer_it_at_its_end():
    requested = RequestedTools()
    requested.may_be_asked = True
    requested.note_crossing(2, REFUND, "tool", 1, WHOLE, in_model=True)
    for seq in range(3, 2_000):
        requested.note_crossing(seq, ("note", "note"), "tool", None, b"{}")
    requested.settle()
    requested.note_calls(1, (CALL,))
    requested.note_crossing(1, ("agent", "agent"), "model", None, b"{}")
    assert requested.unanswered() == ()


def test_memory_stays_flat_however_many_crossings_answer_a_model():
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


def test_a_stream_that_answered_a_call_long_before_its_end_answers_no_other_one():
    requested = RequestedTools()
    requested.note_calls(1, (CALL,))
    requested.note_crossing(2, REFUND, "tool", None, WHOLE)
    for seq in range(3, 10_000):
        requested.note_crossing(seq, ("note", "note"), "tool", None, b"{}")
    requested.note_calls(10_000, (CALL,))
    requested.note_crossing(2, REFUND, "tool", None, WHOLE, is_update=True)
    assert [each.label for each in requested.unanswered()] == ["refund (1 of 2 calls)"]
