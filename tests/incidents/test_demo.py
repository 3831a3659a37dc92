"""`make demo`: what it shows a newcomer is true."""

import sys

import pytest

from tests.cli.processes import ROOT, finish, start


@pytest.mark.slow
def test_the_demo_shows_the_incident_before_and_after_the_guard():
    done = finish(start([sys.executable, "-m", "incidents.demo"], ROOT, env={"COLUMNS": "140"}))
    assert done.status == 0, done.text + done.said
    assert (done.text.count("✓"), "✗" in done.text) == (9, False)
    before, after = done.text.partition("before: the tools of today")[2].split("after: the guard")
    assert "● issue_refund[1] tool  amount_cents: 4821300" in before
    assert "→ Refund(" in before
    assert '→ {status: "blocked"' in after
    assert "≠ model[3]" in after
