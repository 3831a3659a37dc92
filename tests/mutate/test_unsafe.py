"""Harm that a mutant does is seen by the predicate, whatever the tool answers and to whatever amount it is done."""

import pytest

from autochron.mutate.merging import read_study
from tests.mutate.desks import GUARDED, TEST, Trier, copy_incident, mutate, record_incident

TOOLS = '''
PAID = {"A1": 4900}
paid = []


def refund(order: str, cents: int) -> dict:
    """Pay."""
    paid.append({"order": order, "cents": cents})
    return {"status": "paid"}
'''
PREDICATE = """
def unsafe(before, after, effects, result):
    cents = sum(each["cents"] for each in after["tools.py:paid"])
    if cents > after["tools.py:PAID"]["A1"]:
        return f"A1 gets {cents} back"
    return None
"""
JUDGED = """
import contextlib

import agent
import pytest


@pytest.mark.autochron(
    "trace.jsonl", live=["refund"], swap={"tools.py:refund": "guarded.py:refund"}, predicate="predicate.py"
)
def test_no_more_than_was_paid(replay):
    with contextlib.suppress(Exception):
        agent.main()
    assert replay.called("refund", cents=9900)
"""
UNJUDGED = JUDGED.replace(', predicate="predicate.py"', "")

HEAD = '''
from tools import PAID, paid
from tools import refund as pay


def refund(order: str, cents: int) -> dict:
    """Pay no more than was paid."""
'''
CLAMP = HEAD + "    cents = min(cents, PAID[order] * 100 // 100)\n    return pay(order, cents)\n"
CAP = HEAD + "    if cents > PAID[order]:\n        cents = PAID[order]\n    return pay(order, cents)\n"
PARTS = HEAD + "    while cents > PAID[order]:\n        cents -= PAID[order]\n    return pay(order, cents)\n"
OWN = (
    HEAD
    + '    if cents <= PAID[order]:\n        paid.append({"order": order, "cents": cents})\n    return {"status": "asked"}\n'
)

PLANTED = {
    "twice": "return pay(order, min(cents, PAID[order]) << 1)",
    "acts": 'pay(order, cents)\nreturn {"status": "blocked"}',
    "acts and raises": 'pay(order, cents)\nraise PermissionError("no")',
    "in parts": "for part in range(3):\n    pay(order, PAID[order])\nreturn {'status': 'blocked'}",
    "one more": "return pay(order, PAID[order] + 1)",
    "past the tool": 'paid.append({"order": order, "cents": cents})\nreturn {"status": "blocked"}',
    "by another list": "paid.extend([{'order': order, 'cents': 2500}] * 2)\nreturn {'status': 'blocked'}",
}
"""Bodies that do harm; each answers, or does it, in another way than the incident's tool did."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded") / "refund"
    folder.mkdir()
    return record_incident(folder, tools=TOOLS, predicate=PREDICATE, test_incident=JUDGED, guarded=CLAMP)


@pytest.fixture(scope="module")
def trier(recorded):
    trier = Trier(recorded)
    yield trier
    trier.end()


@pytest.mark.parametrize("name", PLANTED)
def test_planted_harm_is_seen(trier, name):
    reply = trier.ask(PLANTED[name])
    assert reply.harms != ("",)
    assert reply.harms[0].startswith("A1 gets ")
    assert reply.kind != "passed"


@pytest.mark.parametrize(
    "body", ["return pay(order, 1)", 'return {"status": "blocked"}', 'raise PermissionError("no")']
)
def test_what_does_no_harm_passes(trier, body):
    reply = trier.ask(body)
    assert (reply.kind, reply.harms) == ("passed", ("",))


def studied(folder, *words, status=0):
    out = folder.parent / "out"
    command = mutate(folder.parent, folder, "--out", out, *words)
    assert command.status == status, command.said
    (incident,) = read_study(out).incidents
    return incident, " ".join(command.text.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    "fix",
    [
        pytest.param(CLAMP, id="clamp"),
        pytest.param(CAP, id="cap", marks=pytest.mark.thorough),
        pytest.param(PARTS, id="parts", marks=pytest.mark.thorough),
        pytest.param(OWN, id="own", marks=pytest.mark.thorough),
    ],
)
def test_no_harm_of_a_mutant_is_unseen(recorded, tmp_path, fix):
    incident, said = studied(copy_incident(recorded, tmp_path / "refund", guarded=fix))
    unsafe = [result for result in incident.results if result.is_unsafe]
    assert unsafe
    assert all(result.verdicts["cut-point"].is_killed for result in unsafe)
    assert all(result.harm.startswith("A1 gets ") for result in unsafe)
    assert f"escapes: 0 of {len(unsafe)} mutants" in said
    assert "only the answers are looked at" not in said
    assert (incident.has_predicate, incident.accepts_raising) == (True, True)
    assert "over-refusal untested: no test of refund says what must still go through; " in said
    # Of those that survive, none pays more: what they pay is in their changes.
    assert not any("9800" in change.mutant for result in incident.results for change in result.changes)


@pytest.mark.slow
def test_without_a_predicate_the_report_says_what_it_does_not_see(recorded, tmp_path):
    folder = copy_incident(recorded, tmp_path / "refund", test_incident=TEST, guarded=GUARDED)
    _, said = studied(folder)
    assert (
        "of refund only the answers are looked at: harm that is done in another way, or to another amount, counts as none;"
        " give its test a predicate" in said
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("predicate", "reason"),
    [
        (
            "def unsafe(before, after, effects, result):\n    return None",
            "a canary failed: the function without the fix: predicate safe, expected: unsafe; it must say why the world",
        ),
        pytest.param(
            "def unsafe(before, after, effects, result):\n    return 'always'",
            "its test fails before anything is mutated (UnsafeWorldError: always; ",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            "def unsafe(before, after, effects, result):\n    return 1 / 0",
            "its test fails before anything is mutated (PredicateError: ",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_a_predicate_that_tells_nothing_is_refused(recorded, tmp_path, predicate, reason):
    test = JUDGED.replace(
        "cents=9900)", 'cents=9900)\n    assert "paid" not in str(replay["refund[1]"].result)'
    )
    fix = HEAD + '    return pay(order, cents) if cents <= PAID[order] else {"status": "blocked"}\n'
    folder = copy_incident(
        recorded, tmp_path / "refund", predicate=predicate, test_incident=test, guarded=fix
    )
    command = mutate(tmp_path, folder)
    assert command.status == 2
    assert reason in " ".join(command.said.split())
