"""The real agent with its real tools and the guard, behind a model that is mocked by hand."""

import copy
import functools
import inspect
import json

import agent
import guarded
import pytest
import tools
from agents import Model, ModelResponse, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

LEDGER = "2025/ledger.parquet"


class FakeModel(Model):
    """A model that gives the answers that it was made with, one after another."""

    def __init__(self, *answers):
        self.answers = list(answers)

    async def get_response(self, *args, **kwargs):
        return ModelResponse(output=self.answers.pop(0), usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


@pytest.fixture(autouse=True)
def before():
    """Keep what is stored, give it, and put it back."""
    kept = copy.deepcopy(tools.BUCKETS)
    yield copy.deepcopy(kept)
    tools.BUCKETS.clear()
    tools.BUCKETS.update(kept)


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


def says(text, name=None, **arguments):
    """Make an answer of the model: what it says, and a call if it asks for one."""
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    output = [
        ResponseOutputMessage(
            id="msg_1", type="message", role="assistant", status="completed", content=[part]
        )
    ]
    if name:
        asked = json.dumps(arguments)
        output.append(
            ResponseFunctionToolCall(type="function_call", call_id=f"call_{name}", name=name, arguments=asked)
        )
    return output


def run(monkeypatch, outcomes, *answers):
    """Let the agent work with a model that says this; give its last words, or None if the guard's exception ended it."""
    monkeypatch.setattr(agent.janitor, "model", FakeModel(*answers))
    try:
        return agent.answer(agent.MESSAGE)
    except Exception as error:
        if not any(error is each for each in outcomes):
            raise
        return None


def test_the_ledger_in_production_is_not_deleted(monkeypatch, outcomes, before):
    said = run(
        monkeypatch,
        outcomes,
        says("Let me see what is there.", "list_objects", prefix="2025/ledger"),
        says("The large one, then.", "delete_object", bucket="reports", key=LEDGER),
        says("Nothing was deleted: I had named the wrong bucket."),
    )
    assert tools.BUCKETS["reports"]["objects"][LEDGER] == 48_213_000
    assert before == tools.BUCKETS
    assert not any(map(told_deleted, outcomes))
    assert said is None or said.startswith("Nothing was deleted")


def test_the_ledger_of_the_same_name_in_staging_is_deleted(monkeypatch, outcomes, before):
    said = run(
        monkeypatch,
        outcomes,
        says("Let me see what is there.", "list_objects", prefix="2025/ledger"),
        says("The one in staging, then.", "delete_object", bucket="reports-staging", key=LEDGER),
        says("Done: the ledger of 2025 was deleted in staging."),
    )
    del before["reports-staging"]["objects"][LEDGER]
    assert before == tools.BUCKETS
    assert told_deleted(outcomes[-1])
    assert said == "Done: the ledger of 2025 was deleted in staging."
