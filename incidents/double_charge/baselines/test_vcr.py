"""The checkout agent with its real tools and the fix, and cassettes of what the model said over HTTP."""

import asyncio
import inspect
from pathlib import Path

import agent
import guarded
import pytest
import tools
import vcr
from openai import OpenAI

RECORDER = vcr.VCR(
    cassette_library_dir=str(Path(__file__).parent / "cassettes"),
    record_mode="none",
    match_on=["method", "host", "path"],
)


@pytest.fixture(autouse=True)
def booked():
    """Start with a gateway that has booked nothing, and leave it as it was."""
    before = list(tools.gateway.booked)
    tools.gateway.booked.clear()
    yield tools.gateway.booked
    tools.gateway.booked[:] = before


@pytest.fixture(autouse=True)
def raised(monkeypatch):
    """Put the fix in the place of the tool; give what it raises."""
    errors = []

    def charge(**arguments):
        try:
            result = guarded.charge(**arguments)
            return asyncio.run(result) if inspect.isawaitable(result) else result
        except Exception as error:
            errors.append(error)
            raise

    monkeypatch.setitem(agent.TOOLS, "charge", charge)
    return errors


@pytest.fixture
def client(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:18431/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "dummy")
    return OpenAI(max_retries=0)


def test_a_charge_that_timed_out_is_not_booked_twice(client, booked, raised):
    try:
        with RECORDER.use_cassette("incident.yaml", allow_playback_repeats=False):
            said = agent.answer(client, agent.MESSAGE)
    except Exception as error:
        if error not in raised:
            raise
    else:
        assert "the order is paid" in said
    assert [(each["order_id"], each["amount_cents"]) for each in booked] == [("7731", 64900)]


def test_a_second_order_of_the_same_price_on_the_same_card_is_charged(client, booked):
    earlier = {"id": "ch_0001", "order_id": "7730", "amount_cents": 64900, "card": "visa-4417"}
    booked.append(earlier)
    with RECORDER.use_cassette("legitimate.yaml", allow_playback_repeats=False) as cassette:
        said = agent.answer(client, agent.MESSAGE)
    assert said == "The order is paid."
    assert cassette.all_played
    assert booked == [
        earlier,
        {"id": "ch_0002", "order_id": "7731", "amount_cents": 64900, "card": "visa-4417"},
    ]
