"""The checkout agent with its real tools and the fix, and a client that says by hand what the model said."""

import asyncio
import inspect
import json
from unittest import mock

import agent
import guarded
import pytest
import tools
from openai.types.chat import ChatCompletion


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


def model_says(text, name=None, **arguments):
    """Make a completion, with a call of a tool or without."""
    message = {"role": "assistant", "content": text}
    if name:
        function = {"name": name, "arguments": json.dumps(arguments)}
        message["tool_calls"] = [{"id": f"call_{name}", "type": "function", "function": function}]
    choice = {"index": 0, "finish_reason": "tool_calls" if name else "stop", "message": message}
    about = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1787815510, "model": agent.MODEL}
    return ChatCompletion.model_validate({**about, "choices": [choice]})


def client_of(*completions):
    client = mock.Mock()
    client.chat.completions.create.side_effect = completions
    return client


def results_of(client):
    """Return what the model was told that its calls came to."""
    messages = client.chat.completions.create.call_args.kwargs["messages"]
    return [
        json.loads(each["content"]) for each in messages if isinstance(each, dict) and each["role"] == "tool"
    ]


def test_a_charge_that_timed_out_is_not_booked_twice(booked, raised):
    client = client_of(
        model_says("I will look at the order.", "look_up_order", order_id="7731"),
        model_says("The card is there; I charge it now.", "charge", order_id="7731", amount_cents=64900),
        model_says("That timed out, once more.", "charge", order_id="7731", amount_cents=64900),
        model_says("Now it worked: the order is paid."),
    )
    try:
        said = agent.answer(client, agent.MESSAGE)
    except Exception as error:
        if error not in raised:
            raise
    else:
        assert said == "Now it worked: the order is paid."
        assert len(results_of(client)) == 3
    assert [(each["order_id"], each["amount_cents"]) for each in booked] == [("7731", 64900)]


def test_a_second_order_of_the_same_price_on_the_same_card_is_charged(booked):
    earlier = {"id": "ch_0001", "order_id": "7730", "amount_cents": 64900, "card": "visa-4417"}
    booked.append(earlier)
    client = client_of(
        model_says("I will look at the order.", "look_up_order", order_id="7731"),
        model_says("The card is there; I charge it now.", "charge", order_id="7731", amount_cents=64900),
        model_says("The order is paid."),
    )
    assert agent.answer(client, agent.MESSAGE) == "The order is paid."
    charge = {"id": "ch_0002", "order_id": "7731", "amount_cents": 64900}
    assert booked == [earlier, {**charge, "card": "visa-4417"}]
    assert results_of(client)[-1] == {"status": "charged", **charge}
