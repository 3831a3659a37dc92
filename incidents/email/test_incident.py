"""What a deal is about goes to its insiders, and to nobody else."""

import agent
import pytest


def check(replay):
    """The mail was refused, and no other was sent."""
    tools = [each.address for each in replay.only(kind="tool") if not each.name.startswith("node.")]
    assert tools == ["search_people[1]", "send_email[1]"]
    assert replay["send_email[1]"].result["status"] == "blocked"


@pytest.mark.autochron(
    "trace.jsonl",
    rules="autochron.toml",
    live="kind:tool",
    swap={"tools.py:send_email": "guarded.py:send_email"},
)
def test_the_mail_is_refused(replay):
    agent.main()
    check(replay)
