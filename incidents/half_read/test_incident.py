"""No call is made before the model has written the end of it."""

import agent
import pytest


def check(replay):
    """Nothing began early, and what was to be kept was kept."""
    asked = [each for each in replay.only(kind="tool") if each.name == "ready"]
    assert {each.result["status"] for each in asked if not each.input["ended"]} == {"blocked"}
    assert [each.result["status"] for each in asked if each.input["ended"]] == ["ready", "ready"]
    cleaned = replay["clean_up[1]"]
    assert cleaned.input["keep"] == ["payroll-2024.csv", "contracts-signed.pdf", "audit-2024.xlsx"]
    assert cleaned.result["deleted"] == ["draft-1.csv", "draft-2.csv"]


@pytest.mark.autochron("trace.jsonl", live="kind:tool", swap={"tools.py:ready": "guarded.py:ready"})
def test_nothing_begins_early(replay):
    agent.main()
    check(replay)
