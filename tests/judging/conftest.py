"""A provider whose model judges by words in the question, and an environment that points to it."""

import pytest

from autochron import provider
from autochron.judging import judgement, record
from autochron.provider import Script, Step
from tests.agents.workshop import Block

GOOD = '{"reason": "It is polite.", "score": 0.9}'
BAD = '{"reason": "It is rude.", "score": 0.1}'

# A step is chosen by the last user message, which is the question, or the complaint about the first reply.
SCRIPT = Script(
    (
        Step(when=("7, which is not from 0 to 1",), text=GOOD),
        Step(when=("no verdict",), text="I would rather not say."),
        Step(when=("say it in prose",), text="Well. I think:\n```json\n" + GOOD + "\n```\nThat is all."),
        Step(when=("out of range",), text='{"reason": "great", "score": 7}'),
        Step(when=("mumble",), text="Hm {|}."),
        Step(when=("busy",), text=GOOD, fault="429*1"),
        Step(when=("wrong key",), fault="401"),
        Step(when=("broken",), fault="500"),
        Step(when=("rude",), text=BAD),
        Step(text=GOOD),
    )
)
PRIVATE = (
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "AUTOCHRON_JUDGE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
)


@pytest.fixture(scope="session")
def served():
    with provider.serve(script=SCRIPT) as running:
        yield running


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """Remove the developer's own settings, and state from other tests."""
    for name in PRIVATE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(judgement, "_fresh", set())
    monkeypatch.setattr(record, "_cache", {})
    return monkeypatch


@pytest.fixture
def model(served, environment):
    """Point the environment to the provider, and reset its counters."""
    environment.setenv("OPENAI_BASE_URL", served.url)
    environment.setenv("OPENAI_API_KEY", "sk-test")
    served.reset()
    return served


@pytest.fixture
def block(tmp_path):
    """Return an object that records and replays functions of a test, with no rule."""
    file = tmp_path / "autochron.toml"
    file.write_text("version = 1\npacks = []\n", encoding="utf-8")
    return Block(str(file))


class Counting:
    """A callable judge with scripted replies, which keeps the prompts in `asked`."""

    def __init__(self, *replies):
        self.replies = list(replies) or [GOOD]
        self.asked = []

    def __call__(self, prompt):
        self.asked.append(prompt)
        return self.replies[min(len(self.asked), len(self.replies)) - 1]


@pytest.fixture
def counting():
    return Counting
