"""What a verdict rests on, and what it says where the facts are missing."""

import pytest
from msgspec import structs

import autochron
from autochron.errors import InconclusiveError
from autochron.model import Returned
from autochron.reproduction.baseline import Baseline
from autochron.reproduction.blockers import no_source_changed, why_not_fixed
from autochron.reproduction.case import Case
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
