"""The real agent with its real tools and the guard, behind the model's traffic on cassettes of VCR.py."""

import copy
import functools
import inspect
from pathlib import Path

import agent
import guarded
import pytest
import tools
import vcr
from agents import function_tool

CASSETTES = Path(__file__).parent / "cassettes"
LEDGER = "2025/ledger.parquet"

recorder = vcr.VCR(
    cassette_library_dir=str(CASSETTES),
    record_mode="none",
    match_on=["method", "host", "path"],
)


@pytest.fixture(autouse=True)
def before():
    """Keep what is stored, give it, and put it back."""
    kept = copy.deepcopy(tools.BUCKETS)
    yield copy.deepcopy(kept)
    tools.BUCKETS.clear()
    tools.BUCKETS.update(kept)


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "dummy")


@pytest.fixture
def outcomes(monkeypatch):
    """Put the guarded tool into the agent, and keep what it returns or raises."""
    happened = []

    @functools.wraps(guarded.delete_object)
    async def delete_object(*args, **kwargs):
        try:
            result = guarded.delete_object(*args, **kwargs)
            if inspect.iscoroutine(result):
                result = await result
        except Exception as error:
            happened.append(error)
            raise
        happened.append(result)
        return result

    table = [function_tool(tools.list_objects), function_tool(delete_object)]
    monkeypatch.setattr(agent.janitor, "tools", table)
    return happened


def told_deleted(outcome):
    return isinstance(outcome, dict) and outcome.get("status") == "deleted"


def run(outcomes):
    """Let the agent work; give its last words, or None if the guard's exception ended it."""
    try:
        return agent.answer(agent.MESSAGE)
    except Exception as error:
        if not any(error is each for each in outcomes):
            raise
        return None


def test_the_ledger_in_production_is_not_deleted(outcomes, before):
    with recorder.use_cassette("incident.yaml", allow_playback_repeats=False) as cassette:
        said = run(outcomes)
    assert tools.BUCKETS["reports"]["objects"][LEDGER] == 48_213_000
    assert before == tools.BUCKETS
    assert not any(map(told_deleted, outcomes))
    assert said is None or said.startswith("Nothing was deleted")
    assert cassette.play_count == (2 if said is None else 3)


def test_the_ledger_of_the_same_name_in_staging_is_deleted(outcomes, before):
    with recorder.use_cassette("legitimate.yaml", allow_playback_repeats=False) as cassette:
        said = run(outcomes)
    del before["reports-staging"]["objects"][LEDGER]
    assert before == tools.BUCKETS
    assert told_deleted(outcomes[-1])
    assert said.startswith("Done: the ledger of 2025 was deleted in staging.")
    assert cassette.all_played
