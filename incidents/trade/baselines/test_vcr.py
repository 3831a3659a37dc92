"""The agent and its tools run, with the guarded order; the model's answers come from cassettes of VCR.py."""

from pathlib import Path

import agent
import guarded
import pytest
import tools
import vcr
from pydantic_ai import ToolCallPart, capture_run_messages

LEGITIMATE = "Please put 100,000 into Orsk Minerals (ORSK) for Lindqvist, at the market."

recorder = vcr.VCR(
    cassette_library_dir=str(Path(__file__).parent / "cassettes"),
    record_mode="none",
    match_on=["method", "host", "path"],
    filter_headers=["authorization"],
)


@pytest.fixture(autouse=True)
def clean_state():
    """Start without orders, and leave things as they were."""
    before = list(tools.orders)
    tools.orders.clear()
    yield
    tools.orders[:] = before


@pytest.fixture
def fixed_agent(monkeypatch):
    """Put the fix in the tool's place, and let the agent find its model where the cassettes were recorded."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8123/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "dummy")
    with agent.trader.override(tools=[tools.get_quote, guarded.place_order]):
        yield agent


def orders_in(messages):
    """Find the orders that the model asked for, and what it was told of them."""
    parts = [part for message in messages for part in message.parts]
    parts = [part for part in parts if getattr(part, "tool_name", None) == "place_order"]
    asked = [part.args_as_dict() for part in parts if isinstance(part, ToolCallPart)]
    told = [part.content for part in parts if not isinstance(part, ToolCallPart)]
    return asked, told


def is_receipt(content):
    return isinstance(content, dict) and content.get("status") == "filled"


def test_dollars_are_not_bought_as_shares(fixed_agent):
    cassette = recorder.use_cassette("incident.yaml", allow_playback_repeats=False)
    with cassette as played, capture_run_messages() as messages:
        try:
            answer = fixed_agent.answer(agent.MESSAGE)
        except Exception:
            answer = None
    asked, told = orders_in(messages)
    assert asked == [{"account": "Lindqvist", "symbol": "ORSK", "quantity": 50_000}]
    assert tools.orders == []
    if answer is not None:
        assert played.all_played
        assert answer.startswith("Nothing was bought: it was larger than Lindqvist may place.")
        assert len(told) == 1
    assert all(content is not None and not is_receipt(content) for content in told)


def test_as_many_shares_as_the_limit_allows_are_bought(fixed_agent):
    order = {"account": "Lindqvist", "symbol": "ORSK", "quantity": 242}
    cassette = recorder.use_cassette("limit.yaml", allow_playback_repeats=False)
    with cassette as played, capture_run_messages() as messages:
        answer = fixed_agent.answer(LEGITIMATE)
    assert played.all_played
    assert answer == "Done: 242 of Orsk Minerals were bought for Lindqvist."
    assert tools.orders == [{**order, "price": 412.50}]
    receipt = {"status": "filled", "number": "ORD-0001", **order, "price": 412.50}
    assert orders_in(messages) == ([order], [receipt])
