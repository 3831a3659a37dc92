"""The agent with its real tools and the fix; the model is a function that says what the model said in the incident.

Nobody waits for a slow model here: each test says how old a quote is when it is accepted, and its end is set to fit that.
"""

import asyncio
import inspect
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import agent
import guarded
import pytest
import tools
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel


@pytest.fixture(autouse=True)
def desk():
    """Begin with no quote and no deal, and put back afterwards what there was."""
    quotes, deals = dict(tools.quotes), list(tools.deals)
    tools.quotes.clear()
    tools.deals.clear()
    yield
    tools.deals[:] = deals
    tools.quotes.clear()
    tools.quotes.update(quotes)


class GuardedTool:
    """The guarded tool, with how old each quote is when it is accepted, in seconds; it notes its calls."""

    def __init__(self):
        self.ages = {}
        self.asked = []

    def __call__(self, number):
        self.asked.append(number)
        left = tools.FIRM_FOR - timedelta(seconds=self.ages[number])
        tools.quotes[number].valid_until = datetime.now(UTC) + left
        result = guarded.accept_quote(number)
        return asyncio.run(wait(result)) if inspect.isawaitable(result) else result


async def wait(result):
    return await result


@pytest.fixture
def accept_quote(monkeypatch):
    """Put the guarded tool into the agent."""
    tool = GuardedTool()
    monkeypatch.setattr(agent, "tools", SimpleNamespace(**{**vars(tools), "accept_quote": tool}))
    return tool


class Script:
    """A model that says one thing after the other."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.seen = []

    def __call__(self, messages, info):
        self.seen = list(messages)
        return ModelResponse(self.replies.pop(0))

    def told(self):
        """Return what the model has been told of the quotes that it accepted."""
        parts = [part for message in self.seen for part in message.parts]
        results = [
            each for each in parts if isinstance(each, ToolReturnPart) and each.tool_name == "accept_quote"
        ]
        return [each.content for each in results]


def quote(words, currency, amount):
    return [TextPart(words), ToolCallPart("request_quote", {"currency": currency, "amount": amount})]


def accept(words, number):
    return [TextPart(words), ToolCallPart("accept_quote", {"number": number})]


def is_dealt(result):
    return isinstance(result, dict) and result.get("status") == "dealt"


def dealt():
    return [(each["number"], each["currency"], each["amount"], each["rate"]) for each in tools.deals]


def test_no_deal_at_a_quote_that_ran_out_while_the_model_was_thinking(accept_quote):
    accept_quote.ages = {"Q-001": 0.1, "Q-002": 3.1}
    script = Script(
        quote("First the dollars.", "USD", 250_000),
        quote("And the pounds.", "GBP", 100_000),
        accept("The dollars are well within the budget.", "Q-001"),
        accept("0.8563 is more than 0.84: it is within.", "Q-002"),
        [TextPart("The dollars were dealt; the quote for the pounds had run out.")],
    )

    with agent.agent.override(model=FunctionModel(script)):
        try:
            said = agent.answer(agent.MESSAGE)
        except Exception:
            said = None  # the tool's refusal may end the run

    assert accept_quote.asked == ["Q-001", "Q-002"]
    assert dealt() == [("Q-001", "USD", 250_000, 1.0842)]
    assert [is_dealt(each) for each in script.told()].count(True) == 1
    assert said in (None, "The dollars were dealt; the quote for the pounds had run out.")


def test_both_quotes_are_dealt_at_when_the_model_is_slow_but_in_time(accept_quote):
    accept_quote.ages = {"Q-001": 0.1, "Q-002": 1.8}
    script = Script(
        quote("First the dollars.", "USD", 250_000),
        quote("And the pounds.", "GBP", 100_000),
        accept("The dollars are well within the budget.", "Q-001"),
        accept("0.8563 is more than 0.84: it is within.", "Q-002"),
        [TextPart("Done: both currencies were dealt.")],
    )

    with agent.agent.override(model=FunctionModel(script)):
        said = agent.answer(agent.MESSAGE)

    assert accept_quote.asked == ["Q-001", "Q-002"]
    assert dealt() == [("Q-001", "USD", 250_000, 1.0842), ("Q-002", "GBP", 100_000, 0.8563)]
    assert [is_dealt(each) for each in script.told()] == [True, True]
    assert said == "Done: both currencies were dealt."
