"""A test with a predicate fails where the world is unsafe, whatever the tool answers."""

import pytest

from tests.cli.processes import python
from tests.mutate.desks import PLAIN, record_incident

TOOLS = '''
from dataclasses import dataclass
from datetime import UTC, datetime

PAID = {"A1": 4900}
RATE = 1.25


class Desk:
    """It keeps what it pays."""

    def __init__(self):
        self.paid = []


@dataclass
class Payment:
    order: str
    cents: int
    at: datetime

    def __eq__(self, other):
        raise RuntimeError("nobody may ask")


desk = Desk()


def refund(order: str, cents: int) -> dict:
    """Pay."""
    desk.paid.append(Payment(order, cents, datetime(2026, 1, 2, tzinfo=UTC)))
    return {"status": "paid", "cents": cents}
'''
PREDICATE = '''"""No order gets back more than was paid for it."""

from datetime import UTC, datetime


def unsafe(before, after, effects, result):
    paid = after["tools.py:PAID"]
    assert before["tools.py:desk"] == {"paid": []}
    assert after["tools.py:RATE"] * 4 == 5
    for payment in after["tools.py:desk"]["paid"]:
        assert payment["at"] == datetime(2026, 1, 2, tzinfo=UTC)
        if payment["cents"] > paid[payment["order"]]:
            return f"{payment['order']} gets {payment['cents']} back"
    return None
'''
ACTS = '''
from tools import refund as pay


def refund(order: str, cents: int) -> dict:
    """Pay, and say that nothing was paid."""
    pay(order, cents)
    return {"status": "blocked"}
'''
REFUSES = '''
def refund(order: str, cents: int) -> dict:
    """Pay nothing."""
    raise PermissionError("no")
'''
CAPS = '''
from tools import PAID
from tools import refund as pay


def refund(order: str, cents: int) -> dict:
    """Pay what was paid, twice."""
    return pay(order, min(cents, PAID[order]) << 1)
'''
TEST = """
import contextlib

import agent
import pytest
import tools


@pytest.mark.autochron(
    "trace.jsonl", live=["refund"], swap={"tools.py:refund": "guarded.py:refund"}, predicate="predicate.py"
)
def test_no_more_than_was_paid(replay):
    with contextlib.suppress(PermissionError):
        agent.main()
    assert replay.called("refund", cents=9900)


def test_what_it_did_is_undone():
    assert tools.desk.paid == []
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop") / "refund"
    folder.mkdir()
    return record_incident(folder, tools=TOOLS, test_incident=TEST, predicate=PREDICATE)


@pytest.fixture
def tried(recorded):
    def run(guarded, predicate=PREDICATE):
        (recorded / "guarded.py").write_text(guarded)
        (recorded / "predicate.py").write_text(predicate)
        words = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
        return python(recorded, *words, env=PLAIN).text

    return run


def test_a_fix_that_acts_and_then_answers_that_it_did_not_fails(tried):
    output = tried(ACTS)
    assert (
        "A1 gets 9900 back; predicate.py says that this must never be, whatever the tool answers (unsafe)"
        in output
    )
    assert "1 failed, 1 passed" in output


def test_a_fix_that_caps_to_another_amount_fails(tried):
    assert "A1 gets 9800 back; " in tried(CAPS)


def test_a_fix_that_raises_passes(tried):
    assert "2 passed" in tried(REFUSES)


def test_a_test_that_fails_for_another_reason_says_that_the_world_is_unsafe(tried, recorded):
    (recorded / "test_incident.py").write_text(TEST.replace("cents=9900)", "cents=1)"))
    try:
        output = tried(ACTS)
    finally:
        (recorded / "test_incident.py").write_text(TEST)
    assert "autochron: the world is unsafe: A1 gets 9900 back" in output


@pytest.mark.parametrize(
    ("predicate", "reason"),
    [
        ("def unsafe(", "predicate.py:1 is no Python: "),
        ("import nothing_such", "predicate.py can't be read: ModuleNotFoundError: "),
        ("def unsafe(world): ...", "predicate.py defines no `def unsafe(before, after, effects, result)`; "),
        (
            "import tools\ndef unsafe(before, after, effects, result): ...",
            "predicate.py uses tools of tools.py, which a fix or a mutant may have changed; read the data from ",
        ),
        (
            "from tools import refund\ndef unsafe(before, after, effects, result): ...",
            "predicate.py uses refund of tools.py, ",
        ),
        (
            "def unsafe(before, after, effects, result):\n    return after['tools.py:desk']['pays']",
            "predicate.py:2 raises KeyError: 'pays'; it must return why the world is unsafe, or None (bad-predicate)",
        ),
        (
            "def unsafe(before, after, effects, result):\n    return after['tools.py:DESK']",
            "predicate.py:2: it asks for tools.py:DESK, which is no data of a loaded module; tools.py has ",
        ),
        (
            "def unsafe(before, after, effects, result):\n    return after['till.py:desk']",
            "predicate.py:2: it asks for till.py:desk, and no module till.py of the project was loaded then; ",
        ),
        (
            "def unsafe(before, after, effects, result):\n    return True",
            "predicate.py: unsafe() returns True; return why the world is unsafe as a text, or None (bad-predicate)",
        ),
    ],
)
def test_a_predicate_that_cannot_tell_fails_the_test(tried, predicate, reason):
    output = tried(REFUSES, predicate)
    assert reason in output
    assert "1 failed" in output
    assert "INTERNALERROR" not in output


def test_a_world_that_is_too_large_to_know_fails_the_test(tried):
    padded = "HEAP = [[number] for number in range(20_001)]\n" + REFUSES
    assert "the project's modules hold more than 20,000 values, so the world is not wholly known" in tried(
        padded
    )


def test_numbers_dates_and_sets_are_values(tried):
    fix = (
        """
import datetime as dt
from decimal import Decimal
from fractions import Fraction

KEPT = [1.5, b"a", Decimal("2.50"), Fraction(1, 3), dt.date(2026, 1, 2), {3, 1}, (2, None), {1: "a"}]
"""
        + REFUSES
    )
    predicate = """
import datetime as dt
from decimal import Decimal
from fractions import Fraction

def unsafe(before, after, effects, result):
    kept = [1.5, b"a", Decimal("2.50"), Fraction(1, 3), dt.date(2026, 1, 2), [1, 3], [2, None], {"1": "a"}]
    return None if after["guarded.py:KEPT"] == kept else str(after["guarded.py:KEPT"])
"""
    assert "2 passed" in tried(fix, predicate)


def test_a_predicate_sees_the_effects_and_the_last_result(tried):
    predicate = """
def unsafe(before, after, effects, result):
    effect = [(each.address, each.path, each.what, each.value["order"]) for each in effects]
    return f"{effect} {result}"
"""
    effect = "('refund[1]', 'tools.py:desk', 'added at paid', 'A1')"
    assert f"[{effect}] {{'status': 'blocked'}}; predicate.py says" in tried(ACTS, predicate)
    assert "[] no; predicate.py says" in tried(REFUSES, predicate)


def test_a_missing_file_is_named(tried, recorded):
    (recorded / "test_incident.py").write_text(TEST.replace('"predicate.py"', '"predikate.py"'))
    try:
        output = tried(REFUSES)
    finally:
        (recorded / "test_incident.py").write_text(TEST)
    assert (
        "predikate.py can't be read: No such file or directory; name the file of the predicate (bad-predicate)"
        in output
    )


def test_a_test_in_a_process_of_its_own_has_effects_and_no_modules(tried, recorded):
    test = TEST.replace("agent.main()", "replay.run()")
    (recorded / "test_incident.py").write_text(test)
    looks = "def unsafe(before, after, effects, result):\n    return str([each.path for each in effects])"
    try:
        of_modules, of_effects = tried(ACTS), tried(ACTS, looks)
    finally:
        (recorded / "test_incident.py").write_text(TEST)
    assert (
        "it asks for tools.py:PAID, and replay.run() runs the program in a process of its own" in of_modules
    )
    assert "predicate.py says that this must never be" in of_effects
