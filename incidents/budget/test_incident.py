"""There is no search that the budget doesn't pay for."""

import agent
import pytest


def check(replay):
    """The five searches that the budget pays for were made, and what was asked for beyond was refused."""
    searches = [each for each in replay.only(kind="tool") if each.name == "search"]
    given = [each.result["status"] for each in searches]
    assert given[:5] == ["found"] * 5
    assert set(given[5:]) == {"blocked"}
    assert searches[4].result["spent_cents"] == 200


@pytest.mark.autochron(
    "trace.jsonl",
    rules="autochron.toml",
    live=["kind:tool", "kind:router"],
    swap={"tools.py:search": "guarded.py:search"},
)
def test_the_budget_is_kept(replay):
    agent.main()
    check(replay)
    # The route is live, too: it went on to the answer with the first refusal.
    assert [each.address for each in replay.only(kind="tool") if each.name == "search"][5:] == ["search[6]"]
    assert replay.sequence()[-2:] == ["node.conclude[1]", "model[12]"]
