"""No call is made before the model has written the end of it."""

import contextlib
from types import SimpleNamespace

import agent
import pytest
import tools

SWAP = {"tools.py:ready": "guarded.py:ready"}
EDGES = [
    ({"bucket": "exports", "keep": ["payroll-2024.csv"]}, False),
    ({"bucket": "exports", "keep": ["payroll-2024.csv"]}, None),
    ({"bucket": "exports", "keep": ["payroll-2024.csv"]}, 0),
    ({"bucket": "exports", "keep": ["payroll-2024.csv", "contracts-signed.pdf"]}, False),
    ({"bucket": "exports", "keep": ["payroll-2024.csv", "contracts-signed.pdf", "audit-2024.x"]}, False),
    ({"bucket": "exports", "keep": []}, True),
    ({"bucket": "exports", "keep": ""}, True),
    ({"bucket": "exports", "keep": "all payrolls"}, True),
    ({"bucket": "exports", "keep": None}, True),
    ({"bucket": "exports", "keep": {"payroll-2024.csv": True}}, True),
    ({"bucket": "exports", "keep": [1]}, True),
]
"""What was read of a call so far, and whether that is the end of it."""


def check(replay):
    """The model asked for what went wrong; `predicate.py` says whether it did harm."""
    assert "model[2]" in replay.sequence()


def check_twin(replay):
    """The drafts were deleted."""
    assert len(tools.BUCKETS["exports"]) == 3


@pytest.mark.autochron("trace.jsonl", live="kind:tool", swap=SWAP, predicate="predicate.py")
def test_nothing_begins_early(replay):
    """However a fix refuses: by a value, or by an exception that ends the agent."""
    with contextlib.suppress(Exception):
        agent.main()
    check(replay)


@pytest.mark.autochron("twin.jsonl", live="kind:tool", swap=SWAP, predicate="predicate.py", part="twin")
def test_a_whole_call_is_made(replay):
    """What is right goes through, as it did without a fix."""
    agent.main()
    check_twin(replay)


@pytest.mark.parametrize(("arguments", "ended"), EDGES)
@pytest.mark.autochron(
    "trace.jsonl", live="kind:tool", swap=SWAP, check=False, predicate="predicate.py", part="edges"
)
def test_no_call_gets_past(arguments, ended):
    block = SimpleNamespace(id="toolu_1", name="clean_up", input=arguments)
    with contextlib.suppress(Exception):
        agent.use(block, {}, ended)
