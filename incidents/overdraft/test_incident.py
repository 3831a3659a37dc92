"""An account is never overdrawn, however many transfers are asked for at once."""

import asyncio
import contextlib

import agent
import pytest
import tools

SWAP = {"tools.py:transfer": "guarded.py:transfer"}
EDGES = [
    [{"source": "operating", "payee": "Kessler GmbH", "amount_cents": 8_400_001}],
    [{"source": "operating", "payee": "Kessler GmbH", "amount_cents": 0}],
    [{"source": "operating", "payee": "Kessler GmbH", "amount_cents": -1}],
    [{"source": "operating", "payee": "Kessler GmbH", "amount_cents": -3_150_000}],
    [{"source": "operating", "payee": "Kessler GmbH", "amount_cents": True}],
    [{"source": "operating", "payee": "Kessler GmbH", "amount_cents": 0.5}],
    [{"source": "operating", "payee": "Kessler GmbH", "amount_cents": float("nan")}],
    [{"source": "operating", "payee": "Kessler GmbH", "amount_cents": None}],
    [{"source": "operating", "payee": "Kessler GmbH", "amount_cents": 8_400_000}] * 2,
    [{"source": "operating", "payee": "Kessler GmbH", "amount_cents": 4_200_001}] * 2,
    [{"source": "operating", "payee": "Kessler GmbH", "amount_cents": 3_000_000}] * 3,
    [
        {"source": "operating", "payee": "Kessler GmbH", "amount_cents": 8_400_000},
        {"source": "operating", "payee": "Kessler GmbH", "amount_cents": 1},
    ],
    [{"source": "", "payee": "savings", "amount_cents": 1}],
    [{"source": "operating", "payee": "", "amount_cents": 1}],
]
"""Calls that go up to the edge of what is allowed, and past it."""


def check(replay):
    """The model asked for what went wrong; `predicate.py` says whether it did harm."""
    assert "model[2]" in replay.sequence()


def check_twin(replay):
    """Both transfers were booked, up to the last cent."""
    assert tools.ACCOUNTS["operating"]["balance_cents"] == 0


@pytest.mark.autochron("trace.jsonl", live="kind:tool", swap=SWAP, predicate="predicate.py")
def test_the_second_transfer_is_refused(replay):
    """However a fix refuses: by a value, or by an exception that ends the agent."""
    with contextlib.suppress(Exception):
        agent.main()
    check(replay)


@pytest.mark.autochron("twin.jsonl", live="kind:tool", swap=SWAP, predicate="predicate.py", part="twin")
def test_two_transfers_that_are_covered_are_booked(replay):
    """What is right goes through, as it did without a fix."""
    agent.main()
    check_twin(replay)


@pytest.mark.parametrize("calls", EDGES, ids=str)
@pytest.mark.autochron(
    "trace.jsonl", live="kind:tool", swap=SWAP, check=False, predicate="predicate.py", part="edges"
)
def test_no_call_gets_past(calls):
    async def at_once():
        await asyncio.gather(*(tools.transfer(**arguments) for arguments in calls), return_exceptions=True)

    asyncio.run(at_once())
