"""The research agent with its real graph and search and the fix, and a model that is played by hand."""

import asyncio
import functools
import inspect
import json

import agent
import guarded
import pytest
import tools
from langchain_core.messages import AIMessage, ToolMessage

QUERIES = [
    "European makers of 21700 cells",
    "Voltara monthly capacity cells",
    "Nordzelle capacity 21700",
    "Nordzelle lead time",
    "Celda Norte cylindrical cells",
    "price of 21700 cells",
    "Voltara expansion capacity",
    "Nordzelle orders March",
    "cells capacity spring",
    "Voltara price 10,000 cells",
    "Nordzelle price",
    "delivery of cells from Sweden",
    "Voltara second line cells",
]
CONCLUSION = (
    "Nobody that I found is sure to deliver 20,000 a month; Voltara comes to 15,000, Nordzelle must be asked, "
    "and a cell costs between 2.10 and 2.90 euros."
)


@pytest.fixture(autouse=True)
def charged():
    """Start with a budget that is whole, and leave it as it was."""
    before = list(tools.charged)
    tools.charged.clear()
    yield tools.charged
    tools.charged[:] = before


@pytest.fixture(autouse=True)
def raised(monkeypatch):
    """Put the fix in the place of the search, in a graph that is built anew; give what it raises."""
    errors = []

    @functools.wraps(tools.search)
    def search(query):
        try:
            result = guarded.search(query=query)
            return asyncio.run(result) if inspect.isawaitable(result) else result
        except Exception as error:
            errors.append(error)
            raise

    monkeypatch.setattr(agent, "TOOLS", [search])
    monkeypatch.setattr(agent, "GRAPH", agent.build())
    return errors


class Model:
    """A model that wants its searches one after the other, and answers after the last, or when there are no more."""

    def __init__(self, queries, conclusion):
        self.queries = queries
        self.conclusion = conclusion
        self.asked = 0
        self.found = []

    def __call__(self, model):
        return self

    def bind_tools(self, tools, **options):
        return self

    def invoke(self, messages):
        self.found = [json.loads(each.content) for each in messages if isinstance(each, ToolMessage)]
        is_over = isinstance(messages[-1], tuple) and "no more searches" in messages[-1][1]
        if is_over or self.asked == len(self.queries):
            return AIMessage(self.conclusion)
        query = self.queries[self.asked]
        self.asked += 1
        call = {"name": "search", "args": {"query": query}, "id": f"call_{self.asked}", "type": "tool_call"}
        return AIMessage("One more search, to be sure.", tool_calls=[call])


def test_searching_ends_when_the_budget_is_spent(monkeypatch, charged, raised):
    model = Model(QUERIES, CONCLUSION)
    monkeypatch.setattr(agent, "ChatOpenAI", model)
    try:
        said = agent.answer(agent.MESSAGE)
    except Exception as error:
        if error not in raised:
            raise
    else:
        assert said == CONCLUSION
        assert [each["status"] for each in model.found[:5]] == ["found"] * 5
        assert not any(each.get("hits") for each in model.found[5:])
    assert charged == [40] * 5


def test_five_searches_are_paid_for_and_answered_from(monkeypatch, charged):
    conclusion = "Voltara and Nordzelle make them, at 2.10 to 2.90 euros a cell."
    model = Model([*QUERIES[:4], "price of 21700 cells"], conclusion)
    monkeypatch.setattr(agent, "ChatOpenAI", model)
    assert agent.answer("Who makes cells 21700 in Europe, and what does a cell cost?") == conclusion
    assert charged == [40] * 5
    assert [each["spent_cents"] for each in model.found] == [40, 80, 120, 160, 200]
    assert model.found[-1]["hits"]["Price index"] == tools.PAGES["Price index"]
