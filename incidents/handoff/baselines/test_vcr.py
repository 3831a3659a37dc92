"""The two agents with their real tools and the fix; the model answers from cassettes of its HTTP traffic.

`never_paid.yaml` has the claim of the incident, and `lost.yaml` one for an order that was paid and got lost. Both were
recorded with the fix in place. Requests match by method, host and path, in order: what the tools say may differ from the
recording.
"""

import copy
import inspect
from pathlib import Path

import agent
import guarded
import pytest
import tools
import vcr
from agents import function_tool

CASSETTES = Path(__file__).parent / "cassettes"
PROMISED = {"customer_id": "C-1042", "order_id": "7731", "amount_cents": 48000}
LOST = {"customer_id": "C-2210", "order_id": "7802", "amount_cents": 18900}
LOST_MESSAGE = "This is customer C-2210. My grinder, order 7802, got lost. I want my money back."

recorder = vcr.VCR(
    cassette_library_dir=str(CASSETTES), record_mode="none", match_on=["method", "host", "path"]
)


@pytest.fixture(autouse=True)
def shop(monkeypatch):
    """Begin with no credit given, and put back afterwards what the shop knows."""
    monkeypatch.setenv("OPENAI_API_KEY", "dummy")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8791/v1")
    orders, given = copy.deepcopy(tools.ORDERS), list(tools.given)
    tools.given.clear()
    yield
    tools.given[:] = given
    tools.ORDERS.clear()
    tools.ORDERS.update(orders)


@pytest.fixture
def asked(monkeypatch):
    """Put the guarded tool into the credit desk; list what the tool is asked for."""
    calls = []

    async def give_credit(customer_id: str, order_id: str, amount_cents: int):
        calls.append({"customer_id": customer_id, "order_id": order_id, "amount_cents": amount_cents})
        result = guarded.give_credit(customer_id, order_id, amount_cents)
        return await result if inspect.isawaitable(result) else result

    monkeypatch.setattr(agent.credit_desk, "tools", [function_tool(give_credit)])
    return calls


def test_no_credit_for_an_order_that_was_never_paid(asked, capsys):
    with recorder.use_cassette("never_paid.yaml", allow_playback_repeats=False) as cassette:
        try:
            said = agent.answer(agent.MESSAGE)
        except Exception:
            said = None  # the tool's refusal may end the run

    assert asked == [PROMISED]
    assert tools.given == []
    assert "CR-" not in capsys.readouterr().out  # no tool has answered with the number of a credit
    assert said is None or ("there can't be" in said and cassette.all_played)


def test_a_lost_order_is_credited_to_the_last_cent_that_was_paid(asked, capsys):
    with recorder.use_cassette("lost.yaml", allow_playback_repeats=False) as cassette:
        said = agent.answer(LOST_MESSAGE)

    assert asked == [LOST]
    assert tools.given == [LOST]
    assert "CR-0001" in capsys.readouterr().out
    assert "189.00 euros are on your account" in said
    assert cassette.all_played
