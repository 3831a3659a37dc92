"""The same agent, tested by hand-written mocks of its model and of its tools."""

from datetime import UTC, datetime, timedelta
from unittest import mock

import agent
import tools
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

SAID = [
    ToolCallPart("request_quote", {"currency": "USD", "amount": 1000}),
    ToolCallPart("accept_quote", {"number": "Q-001"}),
    TextPart("The dollars were dealt."),
]


def test_a_quote_is_accepted_and_said_to_be():
    said = iter(SAID)
    model = FunctionModel(lambda messages, info: ModelResponse([next(said)]))
    quote = tools.Quote("Q-001", "USD", 1000, 1.0842, datetime.now(UTC) + timedelta(seconds=2))
    with (
        agent.agent.override(model=model),
        mock.patch.dict(tools.quotes, {"Q-001": quote}),
        mock.patch.object(tools, "request_quote", return_value=quote),
        mock.patch.object(tools, "accept_quote", return_value={"status": "dealt"}) as accept,
    ):
        assert agent.answer(agent.MESSAGE) == "The dollars were dealt."
    accept.assert_called_once_with("Q-001")
