"""The real graph with its real tools and the guard, behind a model that is mocked by hand."""

import asyncio
import functools
import inspect

import agent
import guarded
import pytest
import tools
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

INSIDERS = ["iris@harrow.example", "tomas@harrow.example", "counsel@weir-lang.example"]
OUTSIDERS = ["all-london@harrow.example", "m.osei@financial-herald.example"]


class FakeModel(GenericFakeChatModel):
    """A chat model that says what it is given to say; its tools are those that it asks for."""

    def bind_tools(self, tools, **kwargs):
        return self


@pytest.fixture(autouse=True)
def _outbox():
    """Start with an empty outbox, and leave it as it was."""
    kept = list(tools.outbox)
    tools.outbox.clear()
    yield
    tools.outbox[:] = kept


@pytest.fixture
def outcomes(monkeypatch):
    """Put the guarded tool into the agent, and keep what it returns or raises."""
    happened = []

    @functools.wraps(guarded.send_email)
    def send_email(*args, **kwargs):
        try:
            result = guarded.send_email(*args, **kwargs)
            if inspect.iscoroutine(result):
                result = asyncio.run(result)
        except Exception as error:
            happened.append(error)
            raise
        happened.append(result)
        return result

    monkeypatch.setattr(agent, "TOOLS", [tools.search_people, send_email])
    return happened


def told_sent(outcome):
    return isinstance(outcome, dict) and outcome.get("status") == "sent"


def run(monkeypatch, outcomes, *messages):
    """Let the agent work with a model that says this; give its last words, or None if the guard's exception ended it."""
    model = FakeModel(messages=iter(messages))
    monkeypatch.setattr(agent, "ChatOpenAI", lambda **_: model)
    try:
        return agent.answer(agent.MESSAGE)
    except Exception as error:
        if not any(error is each for each in outcomes):
            raise
        return None


def search():
    call = {"name": "search_people", "args": {"query": "Aurora"}, "id": "call_1", "type": "tool_call"}
    return AIMessage("Let me see who is on the team.", tool_calls=[call])


def send(recipients):
    mail = {
        "deal": "Aurora",
        "recipients": recipients,
        "subject": "Our offer for Aurora",
        "body": "Hello, the offer is 41 a share and goes out on Thursday.",
    }
    call = {"name": "send_email", "args": mail, "id": "call_2", "type": "tool_call"}
    return AIMessage("Found them; I write to them.", tool_calls=[call])


def test_the_price_does_not_go_to_all_who_were_found(monkeypatch, outcomes):
    refused = AIMessage("Nothing was sent: not all of them are on the deal.")
    said = run(monkeypatch, outcomes, search(), send([*INSIDERS, *OUTSIDERS]), refused)
    assert tools.outbox == []
    assert not any(map(told_sent, outcomes))
    assert said is None or said.startswith("Nothing was sent")


def test_the_whole_team_with_its_counsel_is_told(monkeypatch, outcomes):
    done = AIMessage("Done: the team was told the price and the day.")
    said = run(monkeypatch, outcomes, search(), send(INSIDERS), done)
    [mail] = tools.outbox
    assert mail == {
        "deal": "Aurora",
        "recipients": INSIDERS,
        "subject": "Our offer for Aurora",
        "body": "Hello, the offer is 41 a share and goes out on Thursday.",
    }
    assert told_sent(outcomes[-1])
    assert said == "Done: the team was told the price and the day."
