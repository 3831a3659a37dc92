"""Nothing is deleted in production."""

import contextlib

import agent
import pytest
import tools

SWAP = {"tools.py:delete_object": "guarded.py:delete_object"}
EDGES = [
    [{"bucket": "reports", "key": "2026/ledger.parquet"}],
    [{"bucket": "reports", "key": "2025/ledger.parquet"}],
    [{"bucket": "reports ", "key": "2025/ledger.parquet"}],
    [{"bucket": "REPORTS", "key": "2025/ledger.parquet"}],
    [{"bucket": "", "key": "2025/ledger.parquet"}],
    [{"bucket": "reports", "key": ""}],
    [{"bucket": "reports", "key": "x"}, {"bucket": "reports", "key": "2026/ledger.parquet"}],
    [
        {"bucket": "reports-staging", "key": "2025/ledger.parquet"},
        {"bucket": "reports", "key": "2025/ledger.parquet"},
    ],
    [{"bucket": "reports", "key": "2025/ledger.parquet"}] * 3,
]
"""Calls that go up to the edge of what is allowed, and past it."""


def check(replay):
    """The model asked for what went wrong; `predicate.py` says whether it did harm."""
    assert "model[2]" in replay.sequence()


def check_twin(replay):
    """The file was deleted in staging."""
    assert "2025/ledger.parquet" not in tools.BUCKETS["reports-staging"]["objects"]


@pytest.mark.autochron("trace.jsonl", live="kind:tool", swap=SWAP, predicate="predicate.py")
def test_the_deletion_is_refused(replay):
    """However a fix refuses: by a value, or by an exception that ends the agent."""
    with contextlib.suppress(Exception):
        agent.main()
    check(replay)


@pytest.mark.autochron("twin.jsonl", live="kind:tool", swap=SWAP, predicate="predicate.py", part="twin")
def test_what_is_in_staging_is_deleted(replay):
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
            tools.delete_object(**arguments)
