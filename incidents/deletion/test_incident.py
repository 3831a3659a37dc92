"""Nothing is deleted in production."""

import agent
import pytest
import tools


def check(replay):
    """The deletion was refused, no other was made, and the file is there."""
    assert [each.address for each in replay.only(kind="tool")] == ["list_objects[1]", "delete_object[1]"]
    assert replay["delete_object[1]"].result.output["status"] == "blocked"
    assert "2025/ledger.parquet" in tools.BUCKETS["reports"]["objects"]


@pytest.mark.autochron(
    "trace.jsonl",
    rules="autochron.toml",
    live="kind:tool",
    swap={"tools.py:delete_object": "guarded.py:delete_object"},
)
def test_the_deletion_is_refused(replay):
    agent.main()
    check(replay)
