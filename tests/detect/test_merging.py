"""Findings of a run and of a scan are merged into one list."""

import msgspec

from autochron.detect.merge import merged
from autochron.model import Finding, Site


def finding(line, category, call, **fields):
    return Finding(
        site=Site("agent.py", line, "act", "0" * 12), category=category, call=call, **{"count": 0, "tier": "direct", **fields}
    )  # fmt: skip


def test_a_finding_of_the_run_replaces_that_of_the_scan():
    ran = [finding(6, "network", "socket.socket.connect", count=3, tier="library", via="requests.api.get")]
    read = [finding(6, "network", "requests.get", ran=False)]
    assert merged(ran, read) == ran


def test_findings_of_the_scan_only_are_added_in_the_order_of_lines():
    ran = [finding(9, "clock", "time.time", count=1)]
    read = [
        finding(9, "uuid", "uuid.uuid4", ran=False),
        finding(9, "clock", "time.time", ran=False),
        finding(2, "set-order", "set.__iter__", ran=False),
    ]
    assert merged(ran, read) == [read[2], ran[0], read[0]]
    assert merged([], read) == [read[2], read[1], read[0]]
    assert msgspec.json.decode(msgspec.json.encode(merged(ran, [])), type=list[Finding]) == ran
