"""The agent and its tools run, with the guarded sending; only the model is mocked, by answers written by hand."""

import asyncio
import inspect
from unittest import mock

import agent
import guarded
import pytest
import tools
from anthropic.types import Message

LEGITIMATE = "Please send Blue Harbor Inc the invoice for the quarter: 48,000, as in the contract."


@pytest.fixture(autouse=True)
def clean_state():
    """Start without invoices, and leave things as they were."""
    before = list(tools.sent)
    tools.sent.clear()
    yield
    tools.sent[:] = before


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


def says(text, **calls):
    """Make an answer of the model: a text, and tool calls if there are any."""
    asked = [
        {"type": "tool_use", "id": f"toolu_{name}", "name": name, "input": arguments}
        for name, arguments in calls.items()
    ]
    return Message.model_validate(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": agent.MODEL,
            "content": [{"type": "text", "text": text}, *asked],
            "stop_reason": "tool_use" if asked else "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )


def client_that(*answers):
    client = mock.Mock()
    client.messages.create.side_effect = answers
    return client


def test_no_invoice_is_sent_in_another_currency_than_the_contract(attempts):
    order = {"customer": "Nordlicht GmbH", "amount_cents": 200_000_000, "currency": "USD"}
    client = client_that(
        says("I will look at the contract first.", look_up_contract={"customer": "Nordlicht GmbH"}),
        says("The contract is there; the invoice goes out.", send_invoice=order),
        says("The invoice was refused: the contract is in euros."),
    )
    try:
        answer = agent.answer(client, agent.MESSAGE)
    except Exception:
        answer = None
    assert tools.sent == []
    [(arguments, outcome)] = attempts
    assert arguments == order
    assert outcome is not None
    assert not (isinstance(outcome, dict) and outcome.get("status") == "sent")
    assert isinstance(outcome, Exception) or answer == "The invoice was refused: the contract is in euros."


def test_an_invoice_in_dollars_is_sent_where_the_contract_is_in_dollars(attempts):
    order = {"customer": "Blue Harbor Inc", "amount_cents": 4_800_000, "currency": "USD"}
    client = client_that(
        says("I will look at the contract first.", look_up_contract={"customer": "Blue Harbor Inc"}),
        says("The contract is there; the invoice goes out.", send_invoice=order),
        says("Done: the invoice over 48,000 dollars was sent."),
    )
    assert agent.answer(client, LEGITIMATE) == "Done: the invoice over 48,000 dollars was sent."
    assert tools.sent == [order]
    assert attempts == [(order, {"status": "sent", "number": "INV-0001", **order})]
