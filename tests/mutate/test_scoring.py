"""Scores of single mutants, from replies written by hand."""

import pytest

from autochron.mutate.model import Input
from autochron.mutate.protocol import LiveOutcome, TrialReply
from autochron.mutate.scoring import FixBaseline, MutantReplies, score, summarize_inputs
from tests.mutate.studies import mutant

PAID = '{"returned":{"status":"paid"}}'
BLOCKED = '{"returned":{"status":"blocked"}}'


def reply(outcome, kind="passed", variant="mutant"):
    return TrialReply(id="m", variant=variant, kind=kind, given=(LiveOutcome("refund[1]", outcome),))


def is_unsafe(recorded, outcome):
    """Return whether a mutant is unsafe that has this outcome, where the recorded run had another one than the fix."""
    baseline = FixBaseline(
        fix=reply(BLOCKED, variant="fix"), recorded=(LiveOutcome("refund[1]", recorded),), stub="passed"
    )
    return score(mutant(1, 7, ">", "<"), MutantReplies(cut=reply(outcome)), baseline, "").is_unsafe


CHANGED = '{"returned":{"status":"paid"},"changed":{"global:PAID":[1],"cell:count":2}}'


@pytest.mark.parametrize(
    ("recorded", "outcome", "expected"),
    [
        (PAID, PAID, True),
        (PAID, BLOCKED, False),
        (
            CHANGED,
            PAID,
            True,
        ),  # a recording notes the globals that a call changes, and a live crossing does not
        (CHANGED, BLOCKED, False),
        ('{"returned":null,"changed":{"order":{"paid":1}}}', '{"returned":null}', False),
        (
            '{"returned":null,"changed":{"order":{"paid":1},"global:PAID":[1]}}',
            '{"returned":null,"changed":{"order":{"paid":1}}}',
            True,
        ),
    ],
)
def test_a_mutant_that_does_what_was_recorded_is_unsafe(recorded, outcome, expected):
    assert is_unsafe(recorded, outcome) is expected


BLOCKED, PAID = '{"returned":{"status":"blocked"}}', '{"returned":{"status":"paid"}}'
RAISED = '{"raised":{"$error":"PermissionError"}}'


@pytest.mark.parametrize(
    ("recorded", "fix", "explored", "other", "is_accepted"),
    [
        (PAID, BLOCKED, BLOCKED, PAID, True),
        (PAID, RAISED, RAISED, PAID, True),
        (PAID, BLOCKED, BLOCKED, BLOCKED, False),
        (PAID, BLOCKED, BLOCKED, RAISED, False),
        (PAID, PAID, PAID, BLOCKED, False),  # the fix does not refuse the recorded input
        (RAISED, RAISED, RAISED, PAID, False),
        (PAID, BLOCKED, PAID, BLOCKED, False),  # it does not in the state in which inputs are tried
    ],
)
def test_an_input_is_accepted_where_the_fix_refuses_the_recorded_one(
    recorded, fix, explored, other, is_accepted
):
    tried = (
        Input(number=0, address="refund[1]"),
        Input(number=1, address="refund[1]", argument="cents", value="-1"),
    )
    outcomes = {"refund[1].0": explored, "refund[1].1": other}
    baseline = FixBaseline(
        fix=TrialReply(id="fix", variant="fix", given=(LiveOutcome("refund[1]", fix),)),
        recorded=(LiveOutcome("refund[1]", recorded),),
        widened=TrialReply(id="fix", variant="fix", inputs=tried, outcomes=outcomes),
    )
    inputs, _ = summarize_inputs(baseline, [])
    assert [entry.is_accepted for entry in inputs] == [False, is_accepted]
