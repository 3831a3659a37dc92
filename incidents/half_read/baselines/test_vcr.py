"""The storage agent with its real tools and the fix, and cassettes of what the model streamed over HTTP."""

import asyncio
import inspect
from pathlib import Path

import agent
import guarded
import pytest
import tools
import vcr
from anthropic import Anthropic

KEPT = ["payroll-2024.csv", "contracts-signed.pdf", "audit-2024.xlsx"]
RECORDER = vcr.VCR(
    cassette_library_dir=str(Path(__file__).parent / "cassettes"),
    record_mode="none",
    match_on=["method", "host", "path"],
)


@pytest.fixture(autouse=True)
def buckets():
    """Leave the buckets as they were."""
    before = {name: list(files) for name, files in tools.BUCKETS.items()}
    yield tools.BUCKETS
    tools.BUCKETS.clear()
    tools.BUCKETS.update(before)


@pytest.fixture(autouse=True)
def raised(monkeypatch):
    """Put the fix in the place of the tool; give what it raises."""
    errors = []

    def ready(*arguments, **named):
        try:
            result = guarded.ready(*arguments, **named)
            return asyncio.run(result) if inspect.isawaitable(result) else result
        except Exception as error:
            errors.append(error)
            raise

    monkeypatch.setattr(tools, "ready", ready)
    return errors


@pytest.fixture
def client(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:18431")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "dummy")
    return Anthropic(max_retries=0)


def test_the_files_to_keep_are_all_kept_while_the_list_of_them_is_written(client, buckets, raised):
    try:
        with RECORDER.use_cassette("incident.yaml", allow_playback_repeats=False):
            said = agent.answer(client, agent.MESSAGE)
    except Exception as error:
        if error not in raised:
            raise
    else:
        assert "your three files are still there" in said
        assert buckets["exports"] == KEPT
    assert set(KEPT) <= set(buckets["exports"])
    assert buckets["photos"] == ["team.jpg", "office.jpg"]


def test_a_bucket_is_cleaned_up_but_for_one_file(client, buckets):
    with RECORDER.use_cassette("legitimate.yaml", allow_playback_repeats=False) as cassette:
        said = agent.answer(client, "Clean up the bucket photos, please. Keep team.jpg only.")
    assert said == "Done: office.jpg was deleted, and team.jpg was kept."
    assert cassette.all_played
    assert buckets["photos"] == ["team.jpg"]
    assert buckets["exports"] == [*KEPT, "draft-1.csv", "draft-2.csv"]
