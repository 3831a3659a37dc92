"""The agent and its tools run, with the guarded refund; the model's answers come from cassettes of VCR.py."""

import asyncio
import inspect
from pathlib import Path

import agent
import guarded
import pytest
import tools
import vcr
from openai import OpenAI

recorder = vcr.VCR(
    cassette_library_dir=str(Path(__file__).parent / "cassettes"),
    record_mode="none",
    match_on=["method", "host", "path"],
    filter_headers=["authorization"],
)


@pytest.fixture(autouse=True)
def clean_state():
    """Start without refunds and mails, and leave things as they were."""
    kept = [(each, list(each)) for each in (tools.refunds, tools.outbox)]
    for each, _ in kept:
        each.clear()
    yield
    for each, before in kept:
        each[:] = before


@pytest.fixture
def client(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8123/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "dummy")
    with OpenAI(max_retries=0) as client:
        yield client


@pytest.fixture
def attempts(monkeypatch):
    """Put the fix in the tool's place; list what it was asked for and what it returned or raised."""
    attempts = []

    def issue_refund(**arguments):
        try:
            outcome = guarded.issue_refund(**arguments)
            if inspect.iscoroutine(outcome):
                outcome = asyncio.run(outcome)
        except Exception as error:
            attempts.append((arguments, error))
            raise
        attempts.append((arguments, outcome))
        return outcome

    monkeypatch.setitem(agent.TOOLS, "issue_refund", issue_refund)
    return attempts


def test_the_number_of_the_order_is_not_paid_back(client, attempts):
    with recorder.use_cassette("incident.yaml", allow_playback_repeats=False) as cassette:
        try:
            answer = agent.answer(client, agent.MESSAGE)
        except Exception:
            answer = None
    assert tools.refunds == []
    [(arguments, outcome)] = attempts
    assert arguments == {"order_id": "48213", "amount_cents": 4821300}
    assert outcome is not None
    assert not isinstance(outcome, tools.Refund)
    assert isinstance(outcome, Exception) or cassette.all_played
    if answer is None:
        assert tools.outbox == []
    else:
        assert answer.startswith("All settled: the customer knows about it.")
        [(to, text)] = tools.outbox
        assert to == "mara@example.com"
        assert "a colleague looks after your refund" in text


def test_all_that_was_paid_can_be_paid_back(client, attempts):
    with recorder.use_cassette("full_refund.yaml", allow_playback_repeats=False) as cassette:
        assert agent.answer(client, agent.MESSAGE) == "Done: the customer knows about it."
        assert cassette.all_played
    paid = tools.Refund("48213", 3990, 3990, number=1)
    assert tools.refunds == [paid]
    assert tools.outbox == [("mara@example.com", "Good day, your refund is on its way.")]
    assert [outcome for _, outcome in attempts] == [paid]
