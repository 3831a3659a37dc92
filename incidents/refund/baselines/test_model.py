"""The agent and its tools run, with the guarded refund; only the model is mocked, by answers written by hand."""

import asyncio
import inspect
import json
from unittest import mock

import agent
import guarded
import pytest
import tools
from openai.types.chat import ChatCompletion

ORDER = {"order_id": "48213"}
APOLOGY = "Dear customer, a colleague looks after your refund by tomorrow. Reference: 5a31c09f7d2e."
PAID = "Good day, your refund is on its way. Reference: a2f0741eeb21."


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


def says(text=None, **calls):
    """Make an answer of the model: a text, tool calls or both."""
    asked = [
        {
            "id": f"call_{name}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for name, arguments in calls.items()
    ]
    message = {"role": "assistant", "content": text, "tool_calls": asked or None}
    choice = {"index": 0, "finish_reason": "tool_calls" if asked else "stop", "message": message}
    return ChatCompletion.model_validate(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": agent.MODEL,
            "choices": [choice],
        }
    )


def client_that(*answers):
    client = mock.Mock()
    client.chat.completions.create.side_effect = answers
    return client


def test_the_number_of_the_order_is_not_paid_back(attempts):
    client = client_that(
        says("I am sorry to hear that. Let me look at the order.", look_up_order=ORDER),
        says("Got it: you get your money back.", issue_refund={**ORDER, "amount_cents": 4821300}),
        says("I must not refund that.", send_reply={**ORDER, "text": APOLOGY}),
        says("Done: the customer knows about it."),
    )
    try:
        answer = agent.answer(client, agent.MESSAGE)
    except Exception:
        answer = None
    assert tools.refunds == []
    [(arguments, outcome)] = attempts
    assert arguments == {"order_id": "48213", "amount_cents": 4821300}
    assert outcome is not None
    assert not isinstance(outcome, tools.Refund)
    assert isinstance(outcome, Exception) or answer == "Done: the customer knows about it."
    assert tools.outbox == ([] if answer is None else [("mara@example.com", APOLOGY)])


def test_all_that_was_paid_can_be_paid_back(attempts):
    client = client_that(
        says("I am sorry to hear that. Let me look at the order.", look_up_order=ORDER),
        says("Got it: you get your money back.", issue_refund={**ORDER, "amount_cents": 3990}),
        says(send_reply={**ORDER, "text": PAID}),
        says("Done: the customer knows about it."),
    )
    assert agent.answer(client, agent.MESSAGE) == "Done: the customer knows about it."
    paid = tools.Refund("48213", 3990, 3990, number=1)
    assert tools.refunds == [paid]
    assert tools.outbox == [("mara@example.com", PAID)]
    assert [outcome for _, outcome in attempts] == [paid]
