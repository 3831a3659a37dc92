"""Nobody gets more credit for an order than was paid for it, whoever has passed the claim on."""

import contextlib

import agent
import pytest
import tools

SWAP = {"tools.py:give_credit": "guarded.py:give_credit"}
EDGES = [
    [{"customer_id": "C-1042", "order_id": "7731", "amount_cents": 48_000}],
    [{"customer_id": "C-1042", "order_id": "7731", "amount_cents": 1}],
    [{"customer_id": "C-1042", "order_id": "7731", "amount_cents": 3490}],
    [{"customer_id": "C-1042", "order_id": "7744", "amount_cents": 3491}],
    [{"customer_id": "C-1042", "order_id": "7744", "amount_cents": 0}],
    [{"customer_id": "C-1042", "order_id": "7744", "amount_cents": -1}],
    [{"customer_id": "C-1042", "order_id": "7744", "amount_cents": -3490}],
    [{"customer_id": "C-1042", "order_id": "7744", "amount_cents": True}],
    [{"customer_id": "C-1042", "order_id": "7744", "amount_cents": float("nan")}],
    [{"customer_id": "C-1042", "order_id": "7744", "amount_cents": None}],
    [{"customer_id": "C-1042", "order_id": "7744", "amount_cents": 3490}] * 2,
    [
        {"customer_id": "C-1042", "order_id": "7744", "amount_cents": 3490},
        {"customer_id": "C-1042", "order_id": "7744", "amount_cents": 1},
    ],
    [
        {"customer_id": "C-1042", "order_id": "7744", "amount_cents": 1},
        {"customer_id": "C-1042", "order_id": "7744", "amount_cents": 3490},
    ],
    [{"customer_id": "C-1042", "order_id": "7802", "amount_cents": 18_900}],
    [{"customer_id": "C-1042", "order_id": "", "amount_cents": 48_000}],
    [{"customer_id": "C-1042", "order_id": "9999", "amount_cents": 48_000}],
    [{"customer_id": "", "order_id": "7744", "amount_cents": 3490}],
]
"""Calls that go up to the edge of what is allowed, and past it."""


def check(replay):
    """The model asked for what went wrong; `predicate.py` says whether it did harm."""
    assert "model[3]" in replay.sequence()


def check_twin(replay):
    """The customer got credit for what was paid."""
    assert [each["amount_cents"] for each in tools.given] == [3490]


@pytest.mark.autochron("trace.jsonl", live="kind:tool", swap=SWAP, predicate="predicate.py")
def test_the_credit_is_refused(replay):
    """However a fix refuses: by a value, or by an exception that ends the agent."""
    with contextlib.suppress(Exception):
        agent.main()
    check(replay)


@pytest.mark.autochron("twin.jsonl", live="kind:tool", swap=SWAP, predicate="predicate.py", part="twin")
def test_what_was_paid_is_given_as_credit(replay):
    """What is right goes through, as it did without a fix."""
    agent.main()
    check_twin(replay)


@pytest.mark.parametrize("calls", EDGES, ids=str)
@pytest.mark.autochron(
    "trace.jsonl",
    live="kind:tool",
    swap=SWAP,
    check=False,
    predicate="predicate.py",
    part="edges",
)
def test_no_call_gets_past(calls):
    for arguments in calls:
        with contextlib.suppress(Exception):
            tools.give_credit(**arguments)
