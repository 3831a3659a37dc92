"""What a verdict rests on, and what it says where the facts are missing."""

import pytest
from msgspec import structs

import autochron
from autochron.diagnostics.incident_check import refuse_unless_prevented
from autochron.errors import InconclusiveError, ReproducedError
from autochron.model import Evidence, Replayed, Returned, StateEffect
from autochron.reproduction.baseline import Baseline, CrossingPrint, effects_in_common
from autochron.reproduction.blockers import no_source_changed, why_not_fixed
from autochron.reproduction.case import Case
from autochron.reproduction.prints import print_of
from autochron.reproduction.verdict import judge
from tests.store.samples import CALL

CHANGED = "although no source of the project has changed"
UNKNOWN = "not known whether a source of the project has changed"


def case(**facts):
    return Case(replayed=[], divergences=[], evidence={}, **facts)


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"changed_sources": [], "baseline": Baseline()}, CHANGED),
        ({"changed_sources": None, "baseline": Baseline()}, UNKNOWN),
        ({"changed_sources": ["shop.py"], "baseline": Baseline()}, None),
        ({"changed_sources": None, "baseline": Baseline(), "swaps": True}, None),
        ({"changed_sources": None}, None),
    ],
)
def test_that_no_source_has_changed_is_said_only_where_it_is_known(facts, told):
    reasons = no_source_changed(case(**facts), "pay[1]")
    assert [told in reason for reason in reasons] == ([] if told is None else [True])
    ended_well = why_not_fixed(case(**facts))
    assert [UNKNOWN in reason for reason in ended_well] == ([] if told is None else [told == UNKNOWN])


def test_nothing_that_is_live_is_judged_as_nothing_that_is_known():
    verdict = judge([], case())
    assert (verdict.kind, verdict.crossings, len(verdict.reasons)) == ("inconclusive", (), 1)


@autochron.boundary
def pay(cents):
    return cents


def test_a_replay_that_serves_everything_shows_nothing(tmp_path):
    store = str(tmp_path / "t.sqlite")
    with autochron.record("t", store=store):
        pay(1)
    with (
        pytest.raises(InconclusiveError, match="nothing that was recorded runs live"),
        autochron.replay("t", store=store) as replayed,
    ):
        pay(1)
        replayed.assert_not_reproduced()


def test_a_crossing_that_is_not_reached_is_judged_by_one_reason_where_the_baseline_names_no_sources():
    envelope = structs.replace(CALL, outcome=Returned(b"1"))
    verdict = judge([envelope], case(changed_sources=None, baseline=Baseline()))
    known = [reason for crossing in verdict.crossings for reason in crossing.reasons if "known" in reason]
    assert (verdict.kind, [UNKNOWN in reason for reason in known]) == ("inconclusive", [True])


def sell(side, effects):
    """Return the message of the check after a replay that gave `side` and had these effects."""
    arguments = b'{"quantity":50,"symbol":"ACME"}'
    recorded = structs.replace(CALL, input=arguments, outcome=Returned(b'{"side":"buy"}'))
    usual = [StateEffect("orders.jsonl", "line added", b'{"quantity":50,"side":"buy","symbol":"ACME"}')]
    crossing = CrossingPrint(
        outcome=print_of([{"side": "buy"}]), effects=effects_in_common([usual, usual], recorded.arguments)
    )
    replayed = structs.replace(recorded, outcome=Returned(b'{"side":"%s"}' % side.encode()))
    facts = Case(
        replayed=[Replayed(mode="live", envelope=replayed, recorded=recorded)],
        divergences=[],
        evidence={CALL.address: Evidence(address=CALL.address, effects=tuple(effects or usual))},
        baseline=Baseline(crossings={CALL.address: crossing}),
        changed_sources=["desk.py"],
    )
    with pytest.raises(ReproducedError) as caught:
        refuse_unless_prevented(judge([recorded], facts), "", "test_desk.py:8")
    return str(caught.value)


def test_a_message_says_what_it_gave_now_and_in_the_incident():
    sold = StateEffect("orders.jsonl", "line added", b'{"quantity":50,"side":"sell","symbol":"ACME"}')
    said = sell("sell", [sold])
    assert '  and gave {side: "sell"}; in the incident it gave {side: "buy"}\n' in said
    assert "that is not exactly what it did in the incident, but it holds the same words or amounts" in said
    assert "if it is right now, say in test_desk.py:8 what should happen" in said


def test_a_message_of_the_very_same_says_it_once():
    said = sell("buy", [])
    assert '  and gave {side: "buy"}\n' in said
    assert "in the incident it" not in said
    assert "not exactly" not in said
