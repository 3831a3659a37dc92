"""A judge that is asked in the middle of a recording or a replay is no part of it."""

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


def test_a_judge_in_a_recording_and_in_a_replay_is_no_part_of_it(model, tmp_path, block):
    def run(name):
        said = answer("tea")
        judgement = autochron.judge(POLITE, said, model="openai:m", record=tmp_path / name, mode="record")
        return judgement.score, judgement.recorded, answer("milk")

    with autochron.record(store=f"{tmp_path}/traces.db", rules=block.rules) as recording:
        assert run("first.jsonl") == (0.9, False, "Thanks for asking about milk!")
    assert recording.problems == ()
    trace = recording.trace()
    assert [each.address for each in trace.envelopes] == ["answer[1]", "answer[2]"]
    assert (trace.footer.ledger, trace.footer.connections) == ((), ())
    with autochron.replay(trace, rules=block.rules) as replaying:
        assert run("second.jsonl") == (0.9, False, "Thanks for asking about milk!")
    assert replaying.divergences == ()
    assert model.calls == 2


@pytest.mark.slow
def test_a_judge_inside_a_crossing_is_no_part_of_it(model, path, block):
    @autochron.boundary
    def checked(question):
        judgement = autochron.judge(POLITE, question, model="openai:m", record=path, mode="record")
        return answer(question) if judgement.passed else None

    given, trace = block.record(lambda: checked("tea"))
    assert given == "Thanks for asking about tea!"
    assert [(each.name, each.parent) for each in trace.envelopes] == [
        (checked.__name__, None),
        ("answer", 1),
    ]
    assert model.calls == 1


def test_a_callable_and_what_it_calls_cross_nothing(path, block):
    def judges(prompt):
        return json.dumps({"reason": answer("the judge"), "score": 1})

    def run():
        autochron.judge(POLITE, answer("tea"), model=judges, record=path, mode="rewrite")
        return answer("milk")

    given, trace = block.record(run)
    assert [each.input for each in trace.envelopes] == [b'{"question":"tea"}', b'{"question":"milk"}']
    assert block.replay(trace, run) == (given, ())


def test_what_is_read_of_a_subject_crosses_nothing(path, block, counting):
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


@pytest.mark.slow
def test_a_replayed_program_asks_where_and_with_the_key_that_it_had_before(model, tmp_path):
    """A replay puts the recorded endpoint and placeholder keys into the environment; the judge sees neither."""
    write(tmp_path, AGENT)
    fresh = Fresh()
    recorded = fresh.run(tmp_path, "run", "agent.py", model=model, AUTOCHRON_JUDGE="record")
    assert recorded.status == 0, recorded.stderr
    assert recorded.stdout.startswith(b"0.9 ")
    assert "model ×1" in recorded.stderr
    assert "child" not in recorded.stderr
    trace = open_store(f"{tmp_path}/.autochron/traces.db").load("last")
    assert [each.name for each in trace.envelopes] == ["model"]
    assert model.calls == 2

    served = fresh.run(tmp_path, "replay", "last")
    assert (served.status, served.stdout) == (0, recorded.stdout), served.stderr
    assert model.calls == 2

    anew = fresh.run(tmp_path, "replay", "last", AUTOCHRON_JUDGE="rewrite")
    assert (
        "OPENAI_API_KEY holds no more than a replay's placeholder, so openai:m has no key; set it to a real one (judge-setup)"
        in anew.stderr
    )
    assert model.calls == 2

    with provider.serve(script=SCRIPT) as other:
        again = fresh.run(tmp_path, "replay", "last", model=other, AUTOCHRON_JUDGE="rewrite")
        assert other.calls == 1
    assert (again.status, again.stdout) == (0, recorded.stdout), again.stderr
    assert model.calls == 2
