"""A vendor is paid to the account that is on file, or not at all."""

import agent
import pytest


def check(replay):
    """The payment was refused, and no other was made."""
    assert [each.address for each in replay.only(kind="tool")] == ["read_invoice[1]", "pay_invoice[1]"]
    assert replay["pay_invoice[1]"].input["account"] != replay["read_invoice[1]"].result["account"]
    assert replay["pay_invoice[1]"].result["status"] == "blocked"


@pytest.mark.autochron(
    "trace.jsonl", live="kind:tool", swap={"tools.py:pay_invoice": "guarded.py:pay_invoice"}
)
def test_the_payment_is_refused(replay):
    agent.main()
    check(replay)
