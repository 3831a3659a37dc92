"""The two agents with their real tools and the fix; the model is mocked by hand, with what it said in the incident."""

import copy
import inspect
import json
from unittest import mock

import agent
import guarded
import pytest
import tools
from agents import ModelResponse, Usage, function_tool
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

PROMISED = {"customer_id": "C-1042", "order_id": "7731", "amount_cents": 48000}
LOST = {"customer_id": "C-2210", "order_id": "7802", "amount_cents": 18900}


@pytest.fixture(autouse=True)
def shop():
    """Begin with no credit given, and put back afterwards what the shop knows."""
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


@pytest.fixture
def model(monkeypatch):
    """Put one mocked model into both agents."""
    model = mock.AsyncMock(spec=Model)
    monkeypatch.setattr(agent.triage, "model", model)
    monkeypatch.setattr(agent.credit_desk, "model", model)
    return model


def text(words):
    part = ResponseOutputText(text=words, type="output_text", annotations=[])
    return ResponseOutputMessage(
        id="msg_1", content=[part], role="assistant", status="completed", type="message"
    )


def call(name, **arguments):
    return ResponseFunctionToolCall(
        call_id=f"call_{name}", name=name, arguments=json.dumps(arguments), type="function_call"
    )


def reply(*output):
    return ModelResponse(output=list(output), usage=Usage(), response_id=None)


def told(model):
    """Return the results of tools that the model has seen in its last request, as text."""
    items = model.get_response.await_args.kwargs["input"]
    return [item["output"] for item in items if item.get("type") == "function_call_output"]


def test_no_credit_for_an_order_that_was_never_paid(model, asked):
    reason = "the order never came; a colleague promised 480 euros"
    model.get_response.side_effect = [
        reply(text("One moment, please."), call("look_up_order", order_id="7731")),
        reply(call("transfer_to_credit_desk", reason=reason, **PROMISED)),
        reply(call("give_credit", **PROMISED)),
        reply(text("I am sorry: there can't be credit for this order, as nothing was paid for it.")),
    ]

    try:
        said = agent.answer(agent.MESSAGE)
    except Exception:
        said = None  # the tool's refusal may end the run

    assert asked == [PROMISED]
    assert tools.given == []
    assert "CR-" not in str(told(model))  # the model has no number of a credit to pass on
    assert said is None or "there can't be credit" in said


def test_a_lost_order_is_credited_to_the_last_cent_that_was_paid(model, asked):
    model.get_response.side_effect = [
        reply(text("I am looking."), call("look_up_order", order_id="7802")),
        reply(call("transfer_to_credit_desk", reason="the parcel is lost", **LOST)),
        reply(call("give_credit", **LOST)),
        reply(text("Done: 189.00 euros are on your account.")),
    ]

    said = agent.answer("This is customer C-2210. My grinder, order 7802, got lost. I want my money back.")

    assert asked == [LOST]
    assert tools.given == [LOST]
    assert "CR-0001" in str(told(model))
    assert said == "Done: 189.00 euros are on your account."
