"""The same agents, tested by hand-written mocks of their model and of the tool."""

import json
from unittest import mock

import agent
from agents import ModelResponse, Usage
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText


def call(name, **arguments):
    asked = ResponseFunctionToolCall(
        call_id=f"call_{name}", name=name, arguments=json.dumps(arguments), type="function_call"
    )
    return ModelResponse(output=[asked], usage=Usage(), response_id=None)


def say(text):
    part = ResponseOutputText(text=text, type="output_text", annotations=[])
    said = ResponseOutputMessage(
        id="msg_1", content=[part], role="assistant", status="completed", type="message"
    )
    return ModelResponse(output=[said], usage=Usage(), response_id=None)


def test_the_credit_desk_gives_what_was_claimed():
    credit = {"customer_id": "C-2210", "order_id": "7802", "amount_cents": 18900}
    model = mock.AsyncMock(spec=Model)
    model.get_response.side_effect = [
        call("transfer_to_credit_desk", reason="the parcel is lost", **credit),
        call("give_credit", **credit),
        say("You have been credited 189 euros."),
    ]
    give = mock.AsyncMock(return_value={"status": "credited", "number": "CR-0001", **credit})
    with (
        mock.patch.object(agent.triage, "model", model),
        mock.patch.object(agent.credit_desk, "model", model),
        mock.patch.object(agent.credit_desk.tools[0], "on_invoke_tool", give),
    ):
        assert agent.answer("My order 7802 is lost.") == "You have been credited 189 euros."
    assert json.loads(give.await_args.args[1]) == credit
