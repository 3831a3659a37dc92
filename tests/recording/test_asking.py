"""Which calls that a model asked for are answered by a crossing."""

import pytest

from autochron.recording.asking import Asking, Call

GIVEN = '{"order": "48213", "cents": 500}'
WHOLE = b'{"order":"48213","cents":500}'


def unwoven(*told):
    """Give what is unwoven after calls and crossings in this order: a Call, or (names, input) with kind and parent."""
    asking = Asking()
    for seq, each in enumerate(told, 1):
        if isinstance(each, Call):
            asking.ask(seq, (each,))
        else:
            names, body, *more = each
            asking.cross(seq, names, more[0] if more else "tool", more[1] if more[1:] else None, body)
    return tuple(each.label for each in asking.unanswered())


REFUND = ("refund", "refund")
CALL = Call("refund", GIVEN)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ((CALL, (REFUND, WHOLE)), ()),
        ((CALL, (("tool", "refund"), WHOLE)), ()),
        ((CALL,), ("refund",)),
        ((CALL, CALL, (REFUND, WHOLE)), ("refund (1 of 2 calls)",)),
        (((REFUND, WHOLE), CALL), ("refund",)),
        ((CALL, (REFUND, b'{"text":"another thing"}')), ("refund",)),
        ((CALL, (REFUND, b"{}")), ()),
        ((CALL, (REFUND, b'{"number":48213}')), ()),
        ((Call("refund"), (REFUND, b'{"number":1}')), ()),
        ((CALL, CALL, (REFUND, WHOLE), (REFUND, WHOLE, "tool", 3)), ("refund (1 of 2 calls)",)),
        ((CALL, (REFUND, WHOLE), (REFUND, WHOLE)), ()),
        ((CALL, (("do_refund", "do_refund"), WHOLE)), ()),
        ((CALL, (("do_refund", "do_refund"), b'{"raw":"{\\"order\\":\\"48213\\",\\"cents\\":500}"}')), ()),
        ((CALL, (("do_refund", "do_refund"), b'{"order":"48213"}')), ("refund",)),
        ((CALL, (("note", "note"), WHOLE, "state")), ("refund",)),
        ((CALL, Call("note", GIVEN), (REFUND, WHOLE)), ("note",)),
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
def test_a_call_is_answered_by_a_crossing_after_it(told, expected):
    assert unwoven(*told) == expected
