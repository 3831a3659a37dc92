"""A quote is dealt at while it is firm, and not after."""

import agent
import pytest


def check(replay):
    """The first quote was in time and is honoured, and the second, which had run out, was refused."""
    accepted = [each for each in replay.only(kind="tool") if each.name == "accept_quote"]
    assert [each.input["tool_args"]["number"] for each in accepted] == ["Q-001", "Q-002"]
    assert [each.result["status"] for each in accepted] == ["dealt", "blocked"]


@pytest.mark.autochron(
    "trace.jsonl",
    rules="autochron.toml",
    live="kind:tool",
    swap={"tools.py:accept_quote": "guarded.py:accept_quote"},
)
def test_the_expired_quote_is_refused(replay):
    agent.main()
    check(replay)
