"""No more is refunded than was paid."""

import agent
import pytest

TOOLS = ["look_up_order[1]", "issue_refund[1]", "send_reply[1]"]


def check(replay):
    """The refund was refused, and no other was tried."""
    assert [each.address for each in replay.only(kind="tool")] == TOOLS
    assert replay["issue_refund[1]"].input == {"order_id": "48213", "amount_cents": 4821300}
    refund = replay["issue_refund[1]"].result
    assert isinstance(refund, dict)
    assert refund["status"] == "blocked"


@pytest.mark.autochron(
    "trace.jsonl", live="kind:tool", swap={"tools.py:issue_refund": "guarded.py:issue_refund"}
)
def test_the_refund_is_refused(replay):
    agent.main()
    check(replay)
