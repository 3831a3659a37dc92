"""A customer pays once, whatever the gateway's silence makes the model do."""

import contextlib

import agent
import pytest
import tools

SWAP = {"tools.py:charge": "guarded.py:charge"}
EDGES = [
    [{"order_id": "7731", "amount_cents": 64_901}],
    [{"order_id": "7731", "amount_cents": 0}],
    [{"order_id": "7731", "amount_cents": -1}],
    [{"order_id": "7731", "amount_cents": -64_900}],
    [{"order_id": "7731", "amount_cents": True}],
    [{"order_id": "7731", "amount_cents": float("nan")}],
    [{"order_id": "7731", "amount_cents": "64900"}],
    [{"order_id": "7731", "amount_cents": None}],
    [{"order_id": "7731", "amount_cents": 64_900}] * 2,
    [{"order_id": "7731", "amount_cents": 64_900}, {"order_id": "7731", "amount_cents": 1}],
    [{"order_id": "7731", "amount_cents": 1}, {"order_id": "7731", "amount_cents": 64_900}],
    [{"order_id": "7732", "amount_cents": 2900}, {"order_id": "7732", "amount_cents": 2900}],
    [{"order_id": "7732", "amount_cents": 64_900}],
    [{"order_id": "", "amount_cents": 64_900}],
]
"""Calls that go up to the edge of what is allowed, and past it."""


def check(replay):
    """The model asked for what went wrong; `predicate.py` says whether it did harm."""
    assert "model[3]" in replay.sequence()


def check_twin(replay):
    """The order was charged for once."""
    assert [each["order_id"] for each in tools.gateway.booked] == ["7731"]


@pytest.mark.autochron("trace.jsonl", live="kind:tool", swap=SWAP, predicate="predicate.py")
def test_the_second_charge_is_refused(replay):
    """However a fix refuses: by a value, or by an exception that ends the agent."""
    with contextlib.suppress(Exception):
        agent.main()
    check(replay)


@pytest.mark.autochron("twin.jsonl", live="kind:tool", swap=SWAP, predicate="predicate.py", part="twin")
def test_the_first_charge_is_made(replay):
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
            tools.charge(**arguments)
