"""An account is never overdrawn, however many transfers are asked for at once."""

import agent
import pytest


def check(replay):
    """The first transfer was booked, and the second refused."""
    transfers = [each for each in replay.only(kind="tool") if each.name == "transfer"]
    assert [each.input["amount_cents"] for each in transfers] == [8_400_000, 3_150_000]
    assert [each.result["status"] for each in transfers] == ["booked", "blocked"]
    assert transfers[0].result["balance_cents"] == 0


@pytest.mark.autochron("trace.jsonl", live="kind:tool", swap={"tools.py:transfer": "guarded.py:transfer"})
def test_the_second_transfer_is_refused(replay):
    agent.main()
    check(replay)
