"""The agent and its tools run, with the guarded sending; the model's answers come from cassettes of VCR.py."""

import asyncio
import contextlib
import inspect
from pathlib import Path

import agent
import guarded
import pytest
import tools
import vcr
from anthropic import Anthropic

LEGITIMATE = "Please send Blue Harbor Inc the invoice for the quarter: 48,000, as in the contract."

recorder = vcr.VCR(
    cassette_library_dir=str(Path(__file__).parent / "cassettes"),
    record_mode="none",
    match_on=["method", "host", "path"],
    filter_headers=["authorization", "x-api-key"],
)


@pytest.fixture(autouse=True)
def clean_state():
    """Start without invoices, and leave things as they were."""
    before = list(tools.sent)
    tools.sent.clear()
    yield
    tools.sent[:] = before


@pytest.fixture
def client(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:8123")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "dummy")
    with Anthropic(max_retries=0) as client:
        yield client


@pytest.fixture
def attempts(monkeypatch):
    """Put the fix in the tool's place; list what it was asked for and what it returned or raised."""
    attempts = []

    def send_invoice(**arguments):
        try:
            outcome = guarded.send_invoice(**arguments)
            if inspect.iscoroutine(outcome):
                outcome = asyncio.run(outcome)
        except Exception as error:
            attempts.append((arguments, error))
            raise
        attempts.append((arguments, outcome))
        return outcome

    monkeypatch.setitem(agent.TOOLS, "send_invoice", send_invoice)
    return attempts


def test_no_invoice_is_sent_in_another_currency_than_the_contract(client, attempts):
    """The recorded model says in the end that the invoice was sent: what counts is what the tool told it."""
    with (
        recorder.use_cassette("incident.yaml", allow_playback_repeats=False) as cassette,
        contextlib.suppress(Exception),
    ):
        agent.answer(client, agent.MESSAGE)
    assert tools.sent == []
    [(arguments, outcome)] = attempts
    assert arguments == {"customer": "Nordlicht GmbH", "amount_cents": 200_000_000, "currency": "USD"}
    assert outcome is not None
    assert not (isinstance(outcome, dict) and outcome.get("status") == "sent")
    assert isinstance(outcome, Exception) or cassette.all_played


def test_an_invoice_in_dollars_is_sent_where_the_contract_is_in_dollars(client, attempts):
    order = {"customer": "Blue Harbor Inc", "amount_cents": 4_800_000, "currency": "USD"}
    with recorder.use_cassette("dollars.yaml", allow_playback_repeats=False) as cassette:
        assert agent.answer(client, LEGITIMATE) == "Done: the invoice over 48,000 dollars was sent."
        assert cassette.all_played
    assert tools.sent == [order]
    assert attempts == [(order, {"status": "sent", "number": "INV-0001", **order})]
