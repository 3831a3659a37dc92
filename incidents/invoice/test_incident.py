"""An invoice is sent in the currency of the contract, or not at all."""

import agent
import pytest


def check(replay):
    """The invoice was refused, and no other was sent."""
    assert [each.address for each in replay.only(kind="tool")] == ["look_up_contract[1]", "send_invoice[1]"]
    assert replay["send_invoice[1]"].input["currency"] == "USD"
    assert replay["send_invoice[1]"].result["status"] == "blocked"


@pytest.mark.autochron(
    "trace.jsonl", live="kind:tool", swap={"tools.py:send_invoice": "guarded.py:send_invoice"}
)
def test_the_invoice_is_refused(replay):
    agent.main()
    check(replay)
