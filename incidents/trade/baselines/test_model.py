"""The agent and its tools run, with the guarded order; only the model is mocked, by answers written by hand."""

import agent
import guarded
import pytest
import tools
from pydantic_ai import ModelResponse, TextPart, ToolCallPart, capture_run_messages
from pydantic_ai.models.function import FunctionModel

LEGITIMATE = "Please put 100,000 into Orsk Minerals (ORSK) for Lindqvist, at the market."


@pytest.fixture(autouse=True)
def clean_state():
    """Start without orders, and leave things as they were."""
    before = list(tools.orders)
    tools.orders.clear()
    yield
    tools.orders[:] = before


def fixed_agent(*answers):
    """Let a model that gives these answers, one after the other, use the fix in the tool's place."""
    left = iter(answers)

    def model(_messages, _info):
        return ModelResponse(next(left))

    return agent.trader.override(model=FunctionModel(model), tools=[tools.get_quote, guarded.place_order])


def orders_in(messages):
    """Find the orders that the model asked for, and what it was told of them."""
    parts = [part for message in messages for part in message.parts]
    parts = [part for part in parts if getattr(part, "tool_name", None) == "place_order"]
    asked = [part.args_as_dict() for part in parts if isinstance(part, ToolCallPart)]
    told = [part.content for part in parts if not isinstance(part, ToolCallPart)]
    return asked, told


def is_receipt(content):
    return isinstance(content, dict) and content.get("status") == "filled"


def test_dollars_are_not_bought_as_shares():
    order = {"account": "Lindqvist", "symbol": "ORSK", "quantity": 50_000}
    conversation = fixed_agent(
        [TextPart("First a quote."), ToolCallPart("get_quote", {"symbol": "ORSK"})],
        [TextPart("Thanks; the order goes out now."), ToolCallPart("place_order", order)],
        [TextPart("The order was refused: it is larger than Lindqvist may place.")],
    )
    with conversation, capture_run_messages() as messages:
        try:
            answer = agent.answer(agent.MESSAGE)
        except Exception:
            answer = None
    asked, told = orders_in(messages)
    assert asked == [order]
    assert tools.orders == []
    if answer is not None:
        assert answer == "The order was refused: it is larger than Lindqvist may place."
        assert len(told) == 1
    assert all(content is not None and not is_receipt(content) for content in told)


def test_as_many_shares_as_the_limit_allows_are_bought():
    order = {"account": "Lindqvist", "symbol": "ORSK", "quantity": 242}
    conversation = fixed_agent(
        [TextPart("First a quote."), ToolCallPart("get_quote", {"symbol": "ORSK"})],
        [TextPart("Thanks; the order goes out now."), ToolCallPart("place_order", order)],
        [TextPart("Done: 242 of Orsk Minerals were bought for Lindqvist.")],
    )
    with conversation, capture_run_messages() as messages:
        answer = agent.answer(LEGITIMATE)
    assert answer == "Done: 242 of Orsk Minerals were bought for Lindqvist."
    assert tools.orders == [{**order, "price": 412.50}]
    receipt = {"status": "filled", "number": "ORD-0001", **order, "price": 412.50}
    assert orders_in(messages) == ([order], [receipt])
