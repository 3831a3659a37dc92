"""There is no search that the budget doesn't pay for."""

import contextlib

import agent
import pytest
import tools

SWAP = {"tools.py:search": "guarded.py:search"}
EDGES = [
    [{"query": "cells"}] * 5 + [{"query": "cells"}],
    [{"query": "cells"}] * 5 + [{"query": ""}],
    [{"query": "cells"}] * 5 + [{"query": "?"}],
    [{"query": "cells"}] * 5 + [{"query": None}],
    [{"query": "cells"}] * 5 + [{"query": 0}],
    [{"query": "cells"}] * 5 + [{"query": "cells 21700"}],
    [{"query": ""}] * 9,
]
"""Calls that go up to the edge of what is allowed, and past it."""


def check(replay):
    """The model asked for what went wrong; `predicate.py` says whether it did harm."""
    assert "model[6]" in replay.sequence()


def check_twin(replay):
    """All five searches were made that the budget pays for."""
    assert sum(tools.charged) == tools.BUDGET_CENTS


@pytest.mark.autochron(
    "trace.jsonl",
    live=["kind:tool", "kind:router"],
    swap=SWAP,
    predicate="predicate.py",
)
def test_the_budget_is_kept(replay):
    """However a fix refuses: by a value, or by an exception that ends the agent."""
    with contextlib.suppress(Exception):
        agent.main()
    check(replay)


@pytest.mark.autochron(
    "twin.jsonl",
    live=["kind:tool", "kind:router"],
    swap=SWAP,
    predicate="predicate.py",
    part="twin",
)
def test_what_the_budget_pays_for_is_searched(replay):
    """What is right goes through, as it did without a fix."""
    agent.main()
    check_twin(replay)


@pytest.mark.parametrize("calls", EDGES, ids=str)
@pytest.mark.autochron(
    "trace.jsonl",
    live=["kind:tool", "kind:router"],
    swap=SWAP,
    check=False,
    predicate="predicate.py",
    part="edges",
)
def test_no_call_gets_past(calls):
    for arguments in calls:
        with contextlib.suppress(Exception):
            tools.search(**arguments)
