"""A test with a predicate fails where the world is unsafe, whatever the tool answers."""

import pytest

import autochron
from autochron.errors import UsageError
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
    assert "A1 gets 9900 back; predicate.py says" in output


@pytest.mark.parametrize(
    ("predicate", "reason"),
    [
        ("def unsafe(", "predicate.py:1 is no Python: "),
        ("import nothing_such", "predicate.py can't be read: ModuleNotFoundError: "),
        ("def unsafe(world): ...", "predicate.py defines no `def unsafe(before, after, effects, result)`; "),
        (
            "import tools\ndef unsafe(before, after, effects, result): ...",
            "predicate.py imports tools, which a fix or a mutant may have changed; read the data from ",
        ),
        (
            "from tools import refund\ndef unsafe(before, after, effects, result): ...",
            "predicate.py imports tools, ",
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


@pytest.mark.parametrize(
    ("kept", "reason"),
    [
        ("[[number] for number in range(20_001)]", "the project's modules hold more than 20,000 values"),
        ("nested(70)", "it is nested deeper than 64"),
        ("{(1, Row()): 5, (2, Row()): 9900}", "two keys of a dictionary are shown as '(tuple)'"),
        ("Total([1])", "a Total has attributes beside what it holds"),
    ],
)
def test_what_is_not_wholly_known_fails_the_test(tried, kept, reason):
    fix = f"""
class Row: ...
class Total(list):
    def __init__(self, rows):
        super().__init__(rows)
        self.cents = 9900

def nested(depth):
    return [nested(depth - 1)] if depth else 9900

KEPT = {kept}
{REFUSES}"""
    predicate = (
        'def unsafe(before, after, effects, result):\n    return None if after["guarded.py:KEPT"] else "none"'
    )
    assert f"it asks for guarded.py:KEPT, which is not wholly known: {reason} (bad-predicate)" in tried(
        fix, predicate
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
    kept = [1.5, b"a", Decimal("2.50"), Fraction(1, 3), dt.date(2026, 1, 2), [1, 3], [2, None], {1: "a"}]
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


HEAD = """
import importlib.util
import sys
import threading
import time
import tools
from tools import refund as pay
"""
HARM = {
    "pays, then raises": "pay(order, cents)\n    raise PermissionError('no')",
    "a number that lies": "return pay(order, Cents(cents))",
    "a list that lies": "pay(order, cents)\n    tools.desk.paid = Empty(tools.desk.paid)",
    "a dictionary that lies": "tools.desk.paid.append(Hiding(order=order, cents=cents, at=tools.AT))",
    "attributes that lie": "pay(order, cents)\n    tools.desk = Lying(tools.desk.paid)",
    "a module of the same file": (
        "pay(order, cents)\n"
        "    spec = importlib.util.spec_from_file_location('tools_again', tools.__file__)\n"
        "    sys.modules['tools_again'] = module = importlib.util.module_from_spec(spec)\n"
        "    spec.loader.exec_module(module)"
    ),
    "another kind of exception": "pay(order, cents)\n    raise Blocked('no')",
}
CLASSES = """

class Blocked(BaseException): ...
class Cents(int):
    def __gt__(self, other): return False
class Empty(list):
    def __iter__(self): return iter(())
class Hiding(dict):
    def items(self): return [("order", "A1"), ("cents", 0), ("at", tools.AT)]
    def __getitem__(self, name): return 0
class Lying:
    def __init__(self, paid): self.paid = paid
    @property
    def __dict__(self): return {"paid": []}
"""


@pytest.mark.parametrize("harm", HARM)
def test_harm_that_hides_is_seen(tried, recorded, harm):
    tools = (recorded / "tools.py").read_text()
    test = TEST.replace("contextlib.suppress(PermissionError)", "contextlib.suppress(BaseException)")
    (recorded / "test_incident.py").write_text(test)
    (recorded / "tools.py").write_text(tools + "\n\nAT = datetime(2026, 1, 2, tzinfo=UTC)\n")
    try:
        output = tried(f"{HEAD}{CLASSES}\n\ndef refund(order: str, cents: int):\n    {HARM[harm]}\n")
    finally:
        (recorded / "test_incident.py").write_text(TEST)
        (recorded / "tools.py").write_text(tools)
    assert "A1 gets 9900 back; predicate.py says" in output or "is not wholly known: " in output
    assert "1 failed, 1 passed" in output


def test_a_test_that_expects_the_refusal_or_skips_does_not_hide_harm(tried, recorded):
    harm = f"{HEAD}\n\ndef refund(order, cents):\n    pay(order, cents)\n    raise PermissionError('no')\n"
    body = "    with contextlib.suppress(PermissionError):\n        agent.main()\n"
    marked = TEST.replace(
        "@pytest.mark.autochron", "@pytest.mark.xfail(raises=PermissionError)\n@pytest.mark.autochron"
    )
    skips = "    try:\n        agent.main()\n    except PermissionError:\n        pytest.skip('no')\n"
    try:
        for test in (marked.replace(body, "    agent.main()\n"), TEST.replace(body, skips)):
            (recorded / "test_incident.py").write_text(test)
            assert "1 failed, 1 passed" in tried(harm)
    finally:
        (recorded / "test_incident.py").write_text(TEST)


@pytest.mark.parametrize(
    ("predicate", "reason"),
    [
        ("    raise SystemExit(0)", "raises SystemExit: 0; it must return why"),
        ("    import pytest\n    pytest.skip('x')", "raises Skipped: x; it must return why"),
        (
            "    import guarded\n    return guarded.check()",
            "predicate.py imports guarded, which a fix or a mutant may have",
        ),
        (
            "    from tools import desk\n    return desk.total()",
            "predicate.py imports tools, which a fix or a mutant may have",
        ),
    ],
)
def test_a_predicate_that_leaves_or_asks_the_project_fails_the_test(tried, predicate, reason):
    output = tried(ACTS, f"def unsafe(before, after, effects, result):\n{predicate}\n")
    assert reason in output
    assert "1 failed, 1 passed" in output


def test_changes_that_are_not_all_known_fail_a_predicate_that_looks_at_them(tried, recorded):
    fix = """
def refund(order: str, cents: int) -> dict:
    with open("paid.txt", "a") as file:
        file.writelines(f"A0 {number}\\n" for number in range(300))
    return {"status": "blocked"}
"""
    (recorded / "paid.txt").write_text("first\n")
    looks = "def unsafe(before, after, effects, result): return None if list(effects) else 'nothing'"
    ignores = "def unsafe(before, after, effects, result): return None"
    output, other = tried(fix, looks), tried(fix, ignores)
    assert "it looks at `effects`, which are not all known: " in output
    assert "2 passed" in other


@pytest.mark.slow
def test_a_thread_that_still_runs_is_named(tried):
    fix = f"{HEAD}\n\ndef refund(order: str, cents: int):\n    threading.Timer(5, print).start()\n"
    assert "the thread" in tried(fix, "def unsafe(before, after, effects, result): return None")


def test_values_that_are_no_json_are_read(tried):
    fix = """
def refund(order: str, cents: int):
    with open("odd.json", "w") as file:
        file.write('{"a": NaN}')
    return {"status": "blocked"}
"""
    assert "2 passed" in tried(
        fix, "def unsafe(before, after, effects, result): return None if effects else 'none'"
    )


def test_reading_the_state_runs_no_code_of_the_program(tried):
    fix = """
import enum

class Cache(dict):
    reads = 0
    def items(self):
        Cache.reads += 1
        return super().items()
class Sly:
    @property
    def __class__(self):
        Cache.reads += 100
        return Sly
class Color(enum.Enum):
    RED = 1
    def __repr__(self):
        Cache.reads += 10_000
        return "red"
CACHE, SLY, COLOR = Cache(a=1), Sly(), Color.RED
def refund(order: str, cents: int):
    raise PermissionError("no")
"""
    looks = """
def unsafe(before, after, effects, result):
    assert after["guarded.py:COLOR"] == "Color.RED"
    return str(after["guarded.py:Cache.reads"]) if after["guarded.py:Cache.reads"] else None
"""
    assert "2 passed" in tried(fix, looks)


@pytest.mark.parametrize("check", [True, False])
def test_a_replay_without_pytest_refuses_an_unsafe_world_whatever_ended_its_block(tried, recorded, check):
    script = f"""
import contextlib
import sys
sys.path.insert(0, "..")
import agent
import autochron

with contextlib.suppress(PermissionError):
    with autochron.replay("trace.jsonl", live=["refund"], swap={{"tools.py:refund": "guarded.py:refund"}},
                          predicate="predicate.py", check={check}):
        agent.main()
"""
    tried(f"{HEAD}\n\ndef refund(order, cents):\n    pay(order, cents)\n    raise PermissionError('no')\n")
    command = python(recorded, "-c", script, env=PLAIN)
    assert command.status == 1
    assert "UnsafeWorldError: A1 gets 9900 back; predicate.py says" in command.said


def test_a_predicate_that_is_no_path_is_refused():
    with pytest.raises(UsageError, match="predicate=3: it is the path of a file"):
        autochron.replay("trace.jsonl", predicate=3)


def test_a_thread_that_is_about_to_end_is_waited_for(tried):
    fix = f"{HEAD}\n\ndef refund(order: str, cents: int):\n    threading.Timer(0.3, {{}}).start()\n    return {{{{}}}}\n"
    assert "2 passed" in tried(fix.format("print"))
    assert "A1 gets 9900 back; predicate.py says" in tried(fix.format("pay, (order, cents)"))
