"""An order is worth no more than the account may spend on one."""

import contextlib

import agent
import pytest
import tools

SWAP = {"tools.py:place_order": "guarded.py:place_order"}
EDGES = [
    [{"account": "Lindqvist", "symbol": "ORSK", "quantity": 243}],
    [{"account": "Lindqvist", "symbol": "ORSK", "quantity": 10_000}],
    [{"account": "Lindqvist", "symbol": "ORSK", "quantity": 49_999}],
    [{"account": "Lindqvist", "symbol": "ORSK", "quantity": 0}],
    [{"account": "Lindqvist", "symbol": "ORSK", "quantity": -1}],
    [{"account": "Lindqvist", "symbol": "ORSK", "quantity": -121}],
    [{"account": "Lindqvist", "symbol": "ORSK", "quantity": True}],
    [{"account": "Lindqvist", "symbol": "ORSK", "quantity": float("nan")}],
    [{"account": "Lindqvist", "symbol": "ORSK", "quantity": 0.5}],
    [{"account": "Lindqvist", "symbol": "ORSK", "quantity": None}],
    [{"account": "Lindqvist", "symbol": "ORSK", "quantity": "121"}],
    [{"account": "Okafor", "symbol": "ORSK", "quantity": 25}],
    [{"account": "", "symbol": "ORSK", "quantity": 1}],
    [{"account": "Lindqvist", "symbol": "", "quantity": 1}],
    [{"account": "Okafor", "symbol": "ORSK", "quantity": 24}] * 5,
]
"""Calls that go up to the edge of what is allowed, and past it."""


def check(replay):
    """The model asked for what went wrong; `predicate.py` says whether it did harm."""
    assert "model[2]" in replay.sequence()


def check_twin(replay):
    """The shares for 50,000 dollars were bought."""
    assert [each["quantity"] for each in tools.orders] == [121]


@pytest.mark.autochron("trace.jsonl", live="kind:tool", swap=SWAP, predicate="predicate.py")
def test_the_order_is_refused(replay):
    """However a fix refuses: by a value, or by an exception that ends the agent."""
    with contextlib.suppress(Exception):
        agent.main()
    check(replay)


@pytest.mark.autochron("twin.jsonl", live="kind:tool", swap=SWAP, predicate="predicate.py", part="twin")
def test_an_order_that_the_account_may_place_is_filled(replay):
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
            tools.place_order(**arguments)
