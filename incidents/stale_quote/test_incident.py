"""A quote is dealt at while it is firm, and not after."""

import contextlib
from datetime import UTC, datetime, timedelta

import agent
import pytest
import tools

SWAP = {"tools.py:accept_quote": "guarded.py:accept_quote"}
EDGES = [
    ("Q-001", 0.001),
    ("Q-001", 1),
    ("Q-001", 86_399.5),
    ("Q-001", 86_401),
    ("Q-001", 10_000_000),
    ("", 60),
    (None, 60),
    ("Q-002", 60),
]
"""Quotes that are accepted, and how many seconds after Q-001 was firm."""


def check(replay):
    """The model asked for what went wrong; `predicate.py` says whether it did harm."""
    assert "model[4]" in replay.sequence()


def check_twin(replay):
    """Both quotes were dealt at."""
    assert [each["number"] for each in tools.deals] == ["Q-001", "Q-002"]


@pytest.mark.autochron("trace.jsonl", live="kind:tool", swap=SWAP, predicate="predicate.py")
def test_the_expired_quote_is_refused(replay):
    """However a fix refuses: by a value, or by an exception that ends the agent."""
    with contextlib.suppress(Exception):
        agent.main()
    check(replay)


@pytest.mark.autochron("twin.jsonl", live="kind:tool", swap=SWAP, predicate="predicate.py", part="twin")
def test_quotes_that_are_firm_are_dealt_at(replay):
    """What is right goes through, as it did without a fix."""
    agent.main()
    check_twin(replay)


@pytest.mark.parametrize(("number", "late"), EDGES)
@pytest.mark.autochron(
    "trace.jsonl",
    live="kind:tool",
    swap=SWAP,
    check=False,
    predicate="predicate.py",
    part="edges",
)
def test_no_call_gets_past(number, late):
    until = datetime.now(UTC) - timedelta(seconds=late)
    tools.quotes["Q-001"] = tools.Quote("Q-001", "USD", 5, 1.0842, until)
    with contextlib.suppress(Exception):
        tools.accept_quote(number)
