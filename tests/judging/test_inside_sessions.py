"""A judge that is called during a recording or a replay is not part of it."""

import json

import pytest

import autochron
from autochron import provider
from autochron.errors import JudgeError
from autochron.store import open_store
from tests.agents.workshop import Fresh, write
from tests.judging.conftest import SCRIPT

POLITE = "The answer is polite."


@autochron.boundary
def answer(question):
    return f"Thanks for asking about {question}!"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "judged.jsonl"


def test_a_judge_is_not_part_of_a_recording_or_a_replay(model, tmp_path, block):
    def run(name):
        reply = answer("tea")
        judgement = autochron.judge(POLITE, reply, model="openai:m", record=tmp_path / name, mode="record")
        return judgement.score, judgement.recorded, answer("milk")

    with autochron.record(store=f"{tmp_path}/traces.db", rules=block.rules) as recording:
        assert run("first.jsonl") == (0.9, False, "Thanks for asking about milk!")
    assert recording.problems == ()
    trace = recording.trace()
    assert [envelope.address for envelope in trace.envelopes] == ["answer[1]", "answer[2]"]
    assert (trace.footer.ledger, trace.footer.connections) == ((), ())
    with autochron.replay(trace, rules=block.rules) as replaying:
        assert run("second.jsonl") == (0.9, False, "Thanks for asking about milk!")
    assert replaying.divergences == ()
    assert model.calls == 2


@pytest.mark.slow
def test_a_judge_inside_a_crossing_is_not_part_of_the_trace(model, path, block):
    @autochron.boundary
    def checked(question):
        judgement = autochron.judge(POLITE, question, model="openai:m", record=path, mode="record")
        return answer(question) if judgement.passed else None

    result, trace = block.record(lambda: checked("tea"))
    assert result == "Thanks for asking about tea!"
    assert [(envelope.name, envelope.parent) for envelope in trace.envelopes] == [
        (checked.__name__, None),
        ("answer", 1),
    ]
    assert model.calls == 1


def test_boundaries_that_a_callable_judge_calls_are_not_recorded(path, block):
    def judges(prompt):
        return json.dumps({"reason": answer("the judge"), "score": 1})

    def run():
        autochron.judge(POLITE, answer("tea"), model=judges, record=path, mode="rewrite")
        return answer("milk")

    result, trace = block.record(run)
    assert [envelope.input for envelope in trace.envelopes] == [b'{"question":"tea"}', b'{"question":"milk"}']
    assert block.replay(trace, run) == (result, ())


def test_boundaries_that_reading_a_subject_calls_are_not_recorded(path, block, counting):
    class Told:
        @property
        @autochron.boundary
        def text(self):
            return "hello"

        def __reduce__(self):
            return (Told, (), {"text": self.text})

    def run():
        with pytest.raises(JudgeError):
            autochron.judge(POLITE, Told(), model=counting(), record=path, mode="record")

    _, trace = block.record(run)
    assert trace.envelopes == ()


AGENT = """
import os

import autochron
from openai import OpenAI


said = OpenAI().chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}])
judgement = autochron.judge("It is polite.", "Thanks!", model="openai:m", record="judged.jsonl")
print(judgement.score, said.choices[0].message.content)
"""


@pytest.mark.thorough
def test_a_judge_in_a_replayed_program_uses_the_endpoint_and_key_of_the_user(model, tmp_path):
    """A replay sets the recorded endpoint and placeholder keys in the environment; the judge sees neither."""
    write(tmp_path, AGENT)
    fresh = Fresh()
    recorded = fresh.run(tmp_path, "run", "agent.py", model=model, AUTOCHRON_JUDGE="record")
    assert recorded.status == 0, recorded.stderr
    assert recorded.stdout.startswith(b"0.9 ")
    assert "model ×1" in recorded.stderr
    assert "child" not in recorded.stderr
    trace = open_store(f"{tmp_path}/.autochron/traces.db").load("last")
    assert [envelope.name for envelope in trace.envelopes] == ["model"]
    assert model.calls == 2

    served = fresh.run(tmp_path, "replay", "last")
    assert (served.status, served.stdout) == (0, recorded.stdout), served.stderr
    assert model.calls == 2

    rewritten = fresh.run(tmp_path, "replay", "last", AUTOCHRON_JUDGE="rewrite")
    assert (
        "OPENAI_API_KEY holds no more than a replay's placeholder, so openai:m has no key; set it to a real one (judge-setup)"
        in rewritten.stderr
    )
    assert model.calls == 2

    with provider.serve(script=SCRIPT) as other_provider:
        rewritten_elsewhere = fresh.run(
            tmp_path, "replay", "last", model=other_provider, AUTOCHRON_JUDGE="rewrite"
        )
        assert other_provider.calls == 1
    assert (rewritten_elsewhere.status, rewritten_elsewhere.stdout) == (0, recorded.stdout), (
        rewritten_elsewhere.stderr
    )
    assert model.calls == 2
