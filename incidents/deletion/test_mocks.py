"""The same agent, tested by a mock of its model and of its tool."""

import json
from unittest import mock

import agent
from agents import Model, ModelResponse, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

delete = mock.Mock(return_value={"status": "deleted"})


@function_tool
def delete_object(bucket: str, key: str) -> dict:
    """Delete an object for good."""
    return delete(bucket, key)


def asked(**arguments):
    call = {"type": "function_call", "call_id": "call_1", "name": "delete_object"}
    return ModelResponse([ResponseFunctionToolCall(**call, arguments=json.dumps(arguments))], Usage(), None)


def said(text):
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
    return ModelResponse([ResponseOutputMessage(**message, content=[part])], Usage(), None)


def test_the_object_is_deleted_and_said_to_be():
    model = mock.AsyncMock(Model)
    model.get_response.side_effect = [
        asked(bucket="reports-staging", key="2025/ledger.parquet"),
        said("It was deleted."),
    ]
    with mock.patch.multiple(agent.janitor, model=model, tools=[delete_object]):
        assert agent.answer(agent.MESSAGE) == "It was deleted."
    delete.assert_called_once_with("reports-staging", "2025/ledger.parquet")
