"""Which sites of an agent on a real framework are harmful; bench/impact.py measures how long that takes."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

from bench import impact
from tests.impact.test_impact import verdict
from tests.packs.harness import needs

pytestmark = needs("langgraph", "langchain-openai", "openai")

AGENT = Path(__file__).parent / "desk" / "agent.py"
LABELS = {
    number: label[1]
    for number, line in enumerate(AGENT.read_text(encoding="utf-8").splitlines(), start=1)
    if (label := re.search(r"# (harmful|harmless)$", line))
}
KINDS = {"clock", "random", "uuid", "env", "host", "files", "set-order"}


@pytest.mark.thorough
def test_each_site_of_a_langgraph_agent_gets_the_verdict_of_its_label(tmp_path):
    impact.record(str(tmp_path))
    report, seconds = impact.perturb(str(tmp_path))
    verdicts = defaultdict(set)
    for site in report["sites"]:
        verdicts[site["site"]["line"]].add(verdict(site))
    assert verdicts == {line: {label} for line, label in LABELS.items()}
    assert {site["category"] for site in report["sites"]} == KINDS
    assert {site["tier"] for site in report["sites"]} == {"direct"}
    assert len(report["sites"]) >= 15
    assert impact.figure([(report, seconds)]).value == seconds
