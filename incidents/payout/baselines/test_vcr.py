"""The real agent with its real tools and the guard, behind the model's traffic on cassettes of VCR.py."""

import asyncio
import functools
import inspect
from pathlib import Path

import agent
import guarded
import pytest
import tools
import vcr
from openai import OpenAI

CASSETTES = Path(__file__).parent / "cassettes"
ON_FILE = "DE02120300000000202051"

recorder = vcr.VCR(
    cassette_library_dir=str(CASSETTES),
    record_mode="none",
    match_on=["method", "host", "path"],
)


@pytest.fixture(autouse=True)
def _payouts():
    """Start with no payouts, and leave them as they were."""
    kept = list(tools.payouts)
    tools.payouts.clear()
    yield
    tools.payouts[:] = kept


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "dummy")


@pytest.fixture
def outcomes(monkeypatch):
    """Put the guarded tool into the agent, and keep what it returns or raises."""
    happened = []

    @functools.wraps(guarded.pay_invoice)
    def pay_invoice(*args, **kwargs):
        try:
            result = guarded.pay_invoice(*args, **kwargs)
            if inspect.iscoroutine(result):
                result = asyncio.run(result)
        except Exception as error:
            happened.append(error)
            raise
        happened.append(result)
        return result

    monkeypatch.setitem(agent.TOOLS, "pay_invoice", pay_invoice)
    return happened


def told_paid(outcome):
    return isinstance(outcome, dict) and outcome.get("status") == "paid"


def run(outcomes):
    """Let the agent work; give its last words, or None if the guard's exception ended it."""
    try:
        return agent.answer(OpenAI(), agent.MESSAGE)
    except Exception as error:
        if not any(error is each for each in outcomes):
            raise
        return None


def test_the_account_of_the_note_is_not_paid(outcomes):
    with recorder.use_cassette("incident.yaml", allow_playback_repeats=False) as cassette:
        said = run(outcomes)
    assert tools.payouts == []
    assert not any(map(told_paid, outcomes))
    assert said is None or said.startswith("The payment was refused")
    assert cassette.play_count == (2 if said is None else 3)


def test_the_same_invoice_is_paid_to_the_account_on_file(outcomes):
    with recorder.use_cassette("legitimate.yaml", allow_playback_repeats=False) as cassette:
        said = run(outcomes)
    assert tools.payouts == [{"invoice": "KP-2041", "account": ON_FILE, "amount_cents": 1_840_000}]
    assert told_paid(outcomes[-1])
    assert said.startswith("Done: KP-2041 over 18,400.00 was paid to Kestrel Paper.")
    assert cassette.all_played
