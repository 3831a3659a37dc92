"""The same agent, tested by a mock of its model and of its tool."""

import functools
from unittest import mock

import agent
import tools
from pydantic_ai import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel


def test_the_shares_are_bought_and_said_to_be():
    order = {"account": "Lindqvist", "symbol": "ORSK", "quantity": 121}
    desk = mock.Mock(
        __name__="desk",
        side_effect=[
            ModelResponse([ToolCallPart("place_order", order)]),
            ModelResponse([TextPart("121 shares were bought.")]),
        ],
    )
    filled = {"status": "filled", "number": "ORD-0001", "price": 412.50, **order}
    place = functools.wraps(tools.place_order)(mock.Mock(return_value=filled))
    with agent.trader.override(model=FunctionModel(desk), tools=[place]):
        assert agent.answer(agent.MESSAGE) == "121 shares were bought."
    place.assert_called_once_with(**order)
