"""The same agent, tested by hand-written mocks of its model and of its search."""

import json
from unittest import mock

import agent
from langchain_core.messages import AIMessage, ToolMessage


def test_it_searches_and_then_answers():
    call = {"name": "search", "args": {"query": "makers of cells"}, "id": "call_1", "type": "tool_call"}
    said = "Voltara delivers 15,000 a month."
    model = mock.Mock()
    model.return_value.bind_tools.return_value.invoke.side_effect = [
        AIMessage("One search.", tool_calls=[call]),
        AIMessage(said),
    ]
    hits = {"Voltara (Poland)": "up to 15,000 a month"}
    found = ToolMessage(json.dumps({"status": "found", "hits": hits}), tool_call_id="call_1")
    with (
        mock.patch.object(agent, "ChatOpenAI", model),
        mock.patch.object(agent.ToolNode, "invoke", return_value={"messages": [found]}) as search,
    ):
        assert agent.answer(agent.MESSAGE) == said
    search.assert_called_once()
