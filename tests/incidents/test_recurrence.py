"""Whether a tool has the same effects as in the incident, be it in other words, rows, files or pieces."""

import json

import pytest

from autochron.model import StateEffect
from autochron.reproduction.baseline import effects_in_common

ARGUMENTS = {"order": 70_001, "cents": 9_000, "reason": "wrong size"}


def effect(path, kind, value):
    return StateEffect(path, kind, json.dumps(value).encode())


def row(number, cents, **more):
    value = {"id": number, "order": 70_001, "cents": cents, "reason": "wrong size", **more}
    return effect("pay.db", "row added to refunds", value)


def pieces(*amounts):
    return [row(number, cents, reason="") for number, cents in enumerate(amounts, 2)]


def changed(before, after, **more):
    value = {"row": more, "before": {"balance": before}, "after": {"balance": after}}
    return effect("pay.db", "row changed in accounts", value)


def text(path, *lines):
    return effect(path, "file created", list(lines))


ROW = [row(2, 9_000)]
RECURRING = {
    "once more": ROW,
    "another number": [row(3, 9_000)],
    "a cent more": [row(2, 9_001, reason="")],
    "as text": [row(2, "9000", reason="")],
    "as a float": [row(2, 9_000.0, reason="")],
    "in two pieces": pieces(4_500, 4_500),
    "in nine pieces": pieces(*[1_000] * 9),
    "in ninety pieces": pieces(*[100] * 90),
    "in uneven pieces": pieces(8_000, 999, 1),
    "beside another row": [row(2, 9_000), row(3, 5)],
    "in another file": [text("paid.txt", "70001: 9,000.00 for wrong size")],
    "in another table": [effect("pay.db", "row added to payments", ARGUMENTS)],
    "on what is there": [changed(100, 9_100, order="70001 wrong size")],
}
NOT_RECURRING = {
    "nothing": [],
    "less": [row(2, 3_000, reason="")],
    "refused, with the order": [row(2, 0, reason="refused")],
    "refused, with another amount": [row(2, 500, reason="refused 70001")],
    "a log of the refusal": [text("refused.txt", "70001")],
    "pieces of less": pieces(1_000, 1_000),
    "another change": [changed(100, 90)],
}


def recurs(recorded, current, arguments):
    (common,) = effects_in_common([recorded, recorded, recorded], arguments)
    return common.recurs_in(current, arguments)


@pytest.mark.parametrize("name", RECURRING)
def test_a_row_recurs(name):
    assert recurs(ROW, RECURRING[name], ARGUMENTS)


@pytest.mark.parametrize("name", NOT_RECURRING)
def test_a_row_does_not_recur(name):
    assert not recurs(ROW, NOT_RECURRING[name], ARGUMENTS)


MAIL = [text("out/0001.txt", "to bo", "the code is 4711")]
SENT = {"to": "bo", "text": "the code is 4711"}


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        ([text("out/0007.txt", "To: bo", "The code is 4711.")], True),
        ([text("out/0001.txt", "to bo", "the code"), text("out/0002.txt", "is 4711")], True),
        ([text("out/0009.txt", "to bo", "the code is 4711")], True),
        ([text("out/0001.txt", "to bo", "the code is 4712")], False),
        ([text("out/0001.txt", "to bo", "the code"), text("other/0002.txt", "is 4711")], False),
        ([text("out/0001.txt", "to bo", "(redacted)")], False),
    ],
)
def test_a_message_recurs(current, expected):
    assert recurs(MAIL, current, SENT) is expected


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        ([changed(1_000, -4_000)], True),
        ([changed(2_000, -3_000)], True),
        ([changed(1_000, 500)], False),
    ],
)
def test_a_change_of_a_balance_recurs(current, expected):
    assert recurs([changed(1_000, -4_000)], current, {"cents": 5_000}) is expected


BOOKED = {"flight": "LX1", "passenger": "Mara", "seats": 2}


def booking(number, seats):
    value = {"id": number, "flight": "LX1", "passenger": "Mara", "seats": seats, "total": seats * 129.0}
    return effect("bookings.db", "row added to bookings", value)


@pytest.mark.parametrize("number", [1, 2, 8])
def test_the_number_of_a_row_is_not_taken_for_a_number_of_the_input(number):
    assert not recurs([booking(number, 9)], [booking(number, 2)], BOOKED)
    assert recurs([booking(number, 9)], [booking(number + 1, 9)], BOOKED)


@pytest.mark.parametrize(("seats", "expected"), [(2, False), (9, False), (10, True), (90, True)])
def test_more_than_in_the_incident_is_seen(seats, expected):
    (common,) = effects_in_common([[booking(2, 9)]] * 3, BOOKED)
    assert common.is_exceeded_by([booking(2, seats)]) is expected
