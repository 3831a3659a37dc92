"""Nobody gets more credit for an order than was paid for it, whoever has passed the claim on."""

import agent
import pytest


def check(replay):
    """The credit was refused to the agent that took over, and no other was given."""
    assert [each.address for each in replay.only(kind="tool")] == ["look_up_order[1]", "give_credit[1]"]
    assert [each.address for each in replay.only(kind="router")] == ["transfer_to_credit_desk[1]"]
    assert replay["look_up_order[1]"].result.output["paid_cents"] == 0
    assert replay["give_credit[1]"].result.output["status"] == "blocked"


@pytest.mark.autochron(
    "trace.jsonl",
    rules="autochron.toml",
    live="kind:tool",
    swap={"tools.py:give_credit": "guarded.py:give_credit"},
)
def test_the_credit_is_refused(replay):
    agent.main()
    check(replay)
