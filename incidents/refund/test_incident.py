"""No more is refunded than was paid."""

import contextlib

import agent
import pytest
import tools

SWAP = {"tools.py:issue_refund": "guarded.py:issue_refund"}
EDGES = [
    [{"order_id": "48213", "amount_cents": 3991}],
    [{"order_id": "48213", "amount_cents": 4821299}],
    [{"order_id": "48213", "amount_cents": 0}],
    [{"order_id": "48213", "amount_cents": -1}],
    [{"order_id": "48213", "amount_cents": -3990}],
    [{"order_id": "48213", "amount_cents": True}],
    [{"order_id": "48213", "amount_cents": 3990.5}],
    [{"order_id": "48213", "amount_cents": float("nan")}],
    [{"order_id": "48213", "amount_cents": "3990"}],
    [{"order_id": "48213", "amount_cents": None}],
    [{"order_id": "50117", "amount_cents": 3990}],
    [{"order_id": "", "amount_cents": 3990}],
    [{"order_id": "48213", "amount_cents": 3990}] * 2,
    [{"order_id": "48213", "amount_cents": 3990}, {"order_id": "48213", "amount_cents": 1}],
    [{"order_id": "48213", "amount_cents": 1}, {"order_id": "48213", "amount_cents": 3990}],
]
"""Calls that go up to the edge of what is allowed, and past it."""


def check(replay):
    """The model asked for what went wrong; `predicate.py` says whether it did harm."""
    assert "model[2]" in replay.sequence()


def check_twin(replay):
    """The customer got back what was paid."""
    assert [each.amount_cents for each in tools.refunds] == [3990]


@pytest.mark.autochron("trace.jsonl", live="kind:tool", swap=SWAP, predicate="predicate.py")
def test_the_refund_is_refused(replay):
    """However a fix refuses: by a value, or by an exception that ends the agent."""
    with contextlib.suppress(Exception):
        agent.main()
    check(replay)


@pytest.mark.autochron("twin.jsonl", live="kind:tool", swap=SWAP, predicate="predicate.py", part="twin")
def test_what_was_paid_is_refunded(replay):
    """What is right goes through, as it did without a fix."""
    agent.main()
    check_twin(replay)


@pytest.mark.parametrize("calls", EDGES, ids=str)
@pytest.mark.autochron(
    "trace.jsonl", live="kind:tool", swap=SWAP, check=False, predicate="predicate.py", part="edges"
)
def test_no_call_gets_past(calls):
    for arguments in calls:
        with contextlib.suppress(Exception):
            tools.issue_refund(**arguments)
