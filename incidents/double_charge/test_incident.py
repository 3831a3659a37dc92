"""A customer pays once, whatever the gateway's silence makes the model do."""

import agent
import pytest


def check(replay):
    """The first charge was booked without an answer, and the second refused."""
    asked = [each.address for each in replay.only(kind="tool") if each.name == "charge"]
    assert asked == ["charge[1]", "charge[2]"]
    with pytest.raises(agent.tools.GatewayTimeout):
        _ = replay["charge[1]"].result
    assert replay["charge[2]"].result["status"] == "blocked"
    assert [each["order_id"] for each in agent.tools.gateway.booked] == ["7731"]


@pytest.mark.autochron("trace.jsonl", live="kind:tool", swap={"tools.py:charge": "guarded.py:charge"})
def test_the_second_charge_is_refused(replay):
    agent.main()
    check(replay)
