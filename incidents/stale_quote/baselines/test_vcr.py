"""The agent with its real tools and the fix; the model answers from cassettes of its HTTP traffic.

`slow.yaml` has the incident, in which the model took three seconds before it accepted the second quote; in `in_time.yaml`
it took 1.7. Both were recorded with the fix in place. A cassette answers at once, so each test says how old a
quote is when it is accepted, and its end is set to fit that. Requests match by method, host and path, in order: what the
tools say may differ from the recording.
"""

import asyncio
import inspect
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import agent
import guarded
import pytest
import tools
import vcr

CASSETTES = Path(__file__).parent / "cassettes"

recorder = vcr.VCR(
    cassette_library_dir=str(CASSETTES), record_mode="none", match_on=["method", "host", "path"]
)


@pytest.fixture(autouse=True)
def desk(monkeypatch):
    """Begin with no quote and no deal, and put back afterwards what there was."""
    monkeypatch.setenv("OPENAI_API_KEY", "dummy")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8791/v1")
    quotes, deals = dict(tools.quotes), list(tools.deals)
    tools.quotes.clear()
    tools.deals.clear()
    yield
    tools.deals[:] = deals
    tools.quotes.clear()
    tools.quotes.update(quotes)


class GuardedTool:
    """The guarded tool, with how old each quote is when it is accepted, in seconds; it notes its calls and its answers."""

    def __init__(self):
        self.ages = {}
        self.asked = []
        self.answers = []

    def __call__(self, number):
        self.asked.append(number)
        left = tools.FIRM_FOR - timedelta(seconds=self.ages[number])
        tools.quotes[number].valid_until = datetime.now(UTC) + left
        result = guarded.accept_quote(number)
        if inspect.isawaitable(result):
            result = asyncio.run(wait(result))
        self.answers.append(result)
        return result


async def wait(result):
    return await result


@pytest.fixture
def accept_quote(monkeypatch):
    """Put the guarded tool into the agent."""
    tool = GuardedTool()
    monkeypatch.setattr(agent, "tools", SimpleNamespace(**{**vars(tools), "accept_quote": tool}))
    return tool


def is_dealt(result):
    return isinstance(result, dict) and result.get("status") == "dealt"


def dealt():
    return [(each["number"], each["currency"], each["amount"], each["rate"]) for each in tools.deals]


def test_no_deal_at_a_quote_that_ran_out_while_the_model_was_thinking(accept_quote):
    accept_quote.ages = {"Q-001": 0.1, "Q-002": 3.1}

    with recorder.use_cassette("slow.yaml", allow_playback_repeats=False) as cassette:
        try:
            said = agent.answer(agent.MESSAGE)
        except Exception:
            said = None  # the tool's refusal may end the run

    assert accept_quote.asked == ["Q-001", "Q-002"]
    assert dealt() == [("Q-001", "USD", 250_000, 1.0842)]
    assert [is_dealt(each) for each in accept_quote.answers].count(True) == 1
    assert said is None or ("the quote for the pounds" in said and cassette.all_played)


def test_both_quotes_are_dealt_at_when_the_model_is_slow_but_in_time(accept_quote):
    accept_quote.ages = {"Q-001": 0.1, "Q-002": 1.8}

    with recorder.use_cassette("in_time.yaml", allow_playback_repeats=False) as cassette:
        said = agent.answer(agent.MESSAGE)

    assert accept_quote.asked == ["Q-001", "Q-002"]
    assert dealt() == [("Q-001", "USD", 250_000, 1.0842), ("Q-002", "GBP", 100_000, 0.8563)]
    assert [is_dealt(each) for each in accept_quote.answers] == [True, True]
    assert "both currencies" in said
    assert cassette.all_played
