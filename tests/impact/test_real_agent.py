"""Which sites of an agent on a real framework are harmful; bench/impact.py measures how long that takes."""

import re
from collections import defaultdict
from pathlib import Path

from bench import impact
from tests.impact.test_impact import verdict
from tests.packs.harness import needs

pytestmark = needs("langgraph", "langchain-openai", "openai")

AGENT = Path(__file__).parent / "desk" / "agent.py"
LABELS = {
    number: found[1]
    for number, line in enumerate(AGENT.read_text(encoding="utf-8").splitlines(), start=1)
    if (found := re.search(r"# (harmful|harmless)$", line))
}
KINDS = {"clock", "random", "uuid", "env", "host", "files", "set-order"}


def test_every_verdict_on_an_agent_on_langgraph_is_that_of_its_label(tmp_path):
    impact.record(str(tmp_path))
    said, seconds = impact.perturb(str(tmp_path))
    found = defaultdict(set)
    for each in said["sites"]:
        found[each["site"]["line"]].add(verdict(each))
    assert found == {line: {label} for line, label in LABELS.items()}
    assert {each["category"] for each in said["sites"]} == KINDS
    assert {each["tier"] for each in said["sites"]} == {"direct"}
    assert len(said["sites"]) >= 15
    assert impact.figure([(said, seconds)]).value == seconds
