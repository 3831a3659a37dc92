"""Scores of single mutants, from replies written by hand."""

import pytest

from autochron.mutate.protocol import LiveOutcome, TrialReply
from autochron.mutate.scoring import FixBaseline, MutantReplies, score
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
