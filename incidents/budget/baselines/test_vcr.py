"""The research agent with its real graph and search and the fix, and cassettes of what the model said over HTTP."""

import asyncio
import functools
import inspect
from pathlib import Path

import agent
import guarded
import pytest
import tools
import vcr

RECORDER = vcr.VCR(
    cassette_library_dir=str(Path(__file__).parent / "cassettes"),
    record_mode="none",
    match_on=["method", "host", "path"],
)


@pytest.fixture(autouse=True)
def endpoint(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:18431/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "dummy")


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


def test_searching_ends_when_the_budget_is_spent(charged, raised):
    try:
        with RECORDER.use_cassette("incident.yaml", allow_playback_repeats=False):
            said = agent.answer(agent.MESSAGE)
    except Exception as error:
        if error not in raised:
            raise
    else:
        assert "sure to deliver 20,000 a month; Voltara comes to 15,000" in said
    assert charged == [40] * 5


def test_five_searches_are_paid_for_and_answered_from(charged):
    with RECORDER.use_cassette("legitimate.yaml", allow_playback_repeats=False) as cassette:
        said = agent.answer("Who makes cells 21700 in Europe, and what does a cell cost?")
    assert said == "Voltara and Nordzelle make them, at 2.10 to 2.90 euros a cell."
    assert cassette.all_played
    assert charged == [40] * 5
