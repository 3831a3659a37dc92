"""What a run met and what its source says, as one list."""

import msgspec

from autochron.detect.merge import merged
from autochron.model import Finding, Site


def finding(line, category, call, **more):
    return Finding(
        site=Site("agent.py", line, "act", "0" * 12), category=category, call=call, **{"count": 0, "tier": "direct", **more}
    )  # fmt: skip


def test_the_run_knows_more_of_a_line_than_the_source_does():
    ran = [finding(6, "network", "socket.socket.connect", count=3, tier="library", via="requests.api.get")]
    read = [finding(6, "network", "requests.get", ran=False)]
    assert merged(ran, read) == ran


def test_what_only_the_source_shows_is_added_in_its_place():
    ran = [finding(9, "clock", "time.time", count=1)]
    read = [
        finding(9, "uuid", "uuid.uuid4", ran=False),
        finding(9, "clock", "time.time", ran=False),
        finding(2, "set-order", "set.__iter__", ran=False),
    ]
    assert merged(ran, read) == [read[2], ran[0], read[0]]
    assert merged([], read) == [read[2], read[1], read[0]]
    assert msgspec.json.decode(msgspec.json.encode(merged(ran, [])), type=list[Finding]) == ran
