"""An order is worth no more than the account may spend on one."""

import agent
import pytest


def check(replay):
    """The order was refused, and no other was placed."""
    assert [each.address for each in replay.only(kind="tool")] == ["get_quote[1]", "place_order[1]"]
    assert replay["place_order[1]"].result["status"] == "blocked"


@pytest.mark.autochron(
    "trace.jsonl",
    rules="autochron.toml",
    live="kind:tool",
    swap={"tools.py:place_order": "guarded.py:place_order"},
)
def test_the_order_is_refused(replay):
    agent.main()
    check(replay)
