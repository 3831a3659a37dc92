"""A live model call of a real SDK reaches its provider unless the network is denied."""

import pytest

from autochron import provider
from tests.agents.cases import CASES
from tests.agents.workshop import Fresh, record, set_up


@pytest.fixture(
    scope="module", params=["openai_chat", pytest.param("openai_chat_async", marks=pytest.mark.thorough)]
)
def recorded(request, tmp_path_factory):
    """Yield a folder with a recorded agent of the openai SDK, and its provider."""
    (case,) = [candidate for candidate in CASES if candidate.module == request.param]
    folder = set_up(case, tmp_path_factory.mktemp(case.module))
    with provider.serve() as model:
        record(Fresh(), case, folder, model)
        yield folder, model


def replay(recorded, *words):
    folder, model = recorded
    before = model.calls
    done = Fresh().run(folder, "replay", "last", "--live", "model[1]", *words, model=model)
    return done, model.calls - before


def test_a_live_model_call_reaches_its_provider(recorded):
    done, calls = replay(recorded)
    assert (calls, "model[1]" in done.stderr) == (1, True), done.stderr
    assert "reaches for" not in done.stderr


def test_a_live_model_call_works_with_files_and_processes_denied(recorded):
    done, calls = replay(recorded, "--deny", "files,subprocess")
    assert calls == 1, done.stderr
    assert "(denied)" not in done.stderr


def test_a_live_model_call_is_refused_the_network_and_reported_once(recorded):
    done, calls = replay(recorded, "--deny", "network")
    assert (calls, done.status) == (0, 1), done.stderr
    report = done.stderr.partition("autochron: diverged")[2]
    assert report.count("first: model[1] reaches for 127.0.0.1:") == 1, (
        report
    )  # however often the SDK retries
    assert "APIConnectionError" in done.stderr
    assert "denied to what is live" in done.stderr
    assert "outside every live crossing" not in done.stderr
