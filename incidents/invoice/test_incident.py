"""An invoice is sent in the currency of the contract, or not at all."""

import contextlib

import agent
import pytest
import tools

SWAP = {"tools.py:send_invoice": "guarded.py:send_invoice"}
EDGES = [
    [{"customer": "Nordlicht GmbH", "amount_cents": 200_000_000, "currency": "USD"}],
    [{"customer": "Nordlicht GmbH", "amount_cents": 200_000_000, "currency": "GBP"}],
    [{"customer": "Nordlicht GmbH", "amount_cents": 200_000_000, "currency": "eur"}],
    [{"customer": "Nordlicht GmbH", "amount_cents": 200_000_000, "currency": "EUR "}],
    [{"customer": "Nordlicht GmbH", "amount_cents": 200_000_000, "currency": "EU"}],
    [{"customer": "Nordlicht GmbH", "amount_cents": 200_000_000, "currency": ""}],
    [{"customer": "Nordlicht GmbH", "amount_cents": 200_000_000, "currency": None}],
    [{"customer": "Nordlicht GmbH", "currency": "EUR", "amount_cents": 0}],
    [{"customer": "Nordlicht GmbH", "currency": "EUR", "amount_cents": -1}],
    [{"customer": "Nordlicht GmbH", "currency": "EUR", "amount_cents": True}],
    [{"customer": "Nordlicht GmbH", "currency": "EUR", "amount_cents": float("nan")}],
    [{"customer": "Nordlicht GmbH", "currency": "EUR", "amount_cents": 1.5}],
    [{"customer": "Nordlicht GmbH", "currency": "EUR", "amount_cents": None}],
    [{"customer": "Blue Harbor Inc", "amount_cents": 4_800_000, "currency": "EUR"}],
    [{"customer": "Nordlicht", "amount_cents": 200_000_000, "currency": "EUR"}],
    [{"customer": "", "amount_cents": 1, "currency": "EUR"}],
]
"""Calls that go up to the edge of what is allowed, and past it."""


def check(replay):
    """The model asked for what went wrong; `predicate.py` says whether it did harm."""
    assert "model[2]" in replay.sequence()


def check_twin(replay):
    """The invoice was sent in euros."""
    assert [each["currency"] for each in tools.sent] == ["EUR"]


@pytest.mark.autochron("trace.jsonl", live="kind:tool", swap=SWAP, predicate="predicate.py")
def test_the_invoice_is_refused(replay):
    """However a fix refuses: by a value, or by an exception that ends the agent."""
    with contextlib.suppress(Exception):
        agent.main()
    check(replay)


@pytest.mark.autochron("twin.jsonl", live="kind:tool", swap=SWAP, predicate="predicate.py", part="twin")
def test_an_invoice_in_the_right_currency_is_sent(replay):
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
            tools.send_invoice(**arguments)
