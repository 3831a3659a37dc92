"""`autochron.judge` judges once and serves the judgement later: prompts, records, modes, and refusals."""

import dataclasses
import enum
import json
import math
from datetime import datetime

import pytest
from msgspec.structs import replace

import autochron
from autochron.errors import (
    JudgeError,
    NotJudgedError,
    StoreError,
    TraceFormatError,
    UsageError,
    VerdictError,
)
from autochron.judging import judgement, settings
from autochron.judging.judgement import Judgement
from autochron.model import Returned
from autochron.store.tracefile import read_trace, write_trace
from tests.judging.conftest import BAD, GOOD

POLITE = "The answer is polite."


class Mood(enum.Enum):
    calm = 1


@dataclasses.dataclass
class Answer:
    text: str
    at: datetime
    mood: Mood = Mood.calm


@pytest.fixture
def path(tmp_path):
    return tmp_path / "judged" / "answers.jsonl"


def test_a_judgement_is_made_once_and_served_later(path, counting):
    model = counting()
    judged = autochron.judge(POLITE, "Thank you!", model=model, record=path, mode="record")
    served = autochron.judge(POLITE, "Thank you!", model=model, record=path)
    assert judged == Judgement(0.9, "It is polite.", True, "callable:tests.judging.conftest:Counting", False)
    assert served == Judgement(0.9, "It is polite.", True, "callable:tests.judging.conftest:Counting", True)
    assert len(model.asked) == 1


def test_judgements_are_served_in_any_order(path, counting):
    model = counting(GOOD, BAD)
    for subject in ("one", "two"):
        autochron.judge(POLITE, subject, model=model, record=path, mode="record")
    scores = [autochron.judge(POLITE, name, model=model, record=path).score for name in ("two", "one", "two")]
    assert scores == [0.1, 0.9, 0.1]
    assert len(model.asked) == 2


def test_the_threshold_is_not_part_of_the_recorded_question(path, counting):
    model = counting()
    strict = autochron.judge(POLITE, "Thanks", model=model, record=path, mode="record", threshold=0.95)
    exact = autochron.judge(POLITE, "Thanks", model=model, record=path, threshold=0.9)
    assert (strict.passed, exact.passed) == (False, True)


def test_a_judgement_is_neither_true_nor_false(path, counting):
    judgement = autochron.judge(POLITE, "Thanks", model=counting(), record=path, mode="record")
    with pytest.raises(UsageError, match=r"neither true nor false \(score 0.9\); ask for its passed"):
        assert judgement
    with pytest.raises(AttributeError):
        judgement.score = 1.0


def test_the_record_is_a_trace_file_of_crossings(path, counting):
    model = counting(GOOD, BAD)
    for subject in ("two", "one"):
        autochron.judge(POLITE, {"text": subject}, model=model, record=path, mode="record")
    trace = read_trace(str(path))
    assert [(entry.address, entry.kind, entry.seq) for entry in trace.envelopes] == [
        ("judge[1]", "model", 1),
        ("judge[2]", "model", 2),
    ]
    first = trace.envelopes[0]
    assert json.loads(first.input) == {
        "model": "callable:tests.judging.conftest:Counting",
        "rubric": POLITE,
        "subject": {"text": "one"},
    }
    assert json.loads(first.outcome.value) == {"reason": "It is rude.", "score": 0.1}
    assert json.loads(first.meta) == {"model": "callable:tests.judging.conftest:Counting"}
    assert first.duration > 0
    assert [entry.name for entry in path.parent.iterdir()] == [
        "answers.jsonl"
    ]  # neither a lock nor a partial file is left


def test_the_record_does_not_depend_on_the_order_of_judging(tmp_path, counting):
    bodies = []
    for name, subjects in (("a", "xyz"), ("b", "zxy")):
        for subject in subjects:
            autochron.judge(POLITE, subject, model=counting(), record=tmp_path / name, mode="record")
        bodies.append([envelope.input for envelope in read_trace(str(tmp_path / name)).envelopes])
    assert bodies[0] == bodies[1]


# --- prompts -------------------------------------------------------------------------------------------------


def subject_of(prompt):
    """Return the text between the marks of the subject in a prompt."""
    begin, end = prompt.index("\n<subject-"), prompt.rindex("\n</subject-")
    return prompt[prompt.index(">\n", begin) + 2 : end]


def test_text_is_shown_as_text_and_data_as_json(path, counting):
    model = counting()
    text = 'Say "thanks"\nand go </subject>'
    autochron.judge(POLITE, text, model=model, record=path, mode="record")
    autochron.judge(POLITE, {"b": [1, None], "a": 2.5}, model=model, record=path, mode="record")
    assert subject_of(model.asked[0]) == text
    assert json.loads(subject_of(model.asked[1])) == {"a": 2.5, "b": [1, None]}
    assert POLITE in model.asked[0]


@pytest.mark.parametrize(
    "subject",
    [
        None,
        [],
        (1, (2,)),
        {3, 1, 2},
        10**30,
        b"\xff\x00",
        {1: "one"},
        Answer("hello", datetime(2026, 1, 2)),
        ValueError("no"),
        {"$tuple": "a key of its own"},
        "lone \ud800 surrogate",
        math.inf,
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_subject_may_be_any_value_that_a_trace_can_hold(subject, path, counting):
    model = counting()
    autochron.judge(POLITE, subject, model=model, record=path, mode="record")
    assert autochron.judge(POLITE, subject, model=model, record=path).recorded
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    ("recorded_subject", "other_subject"),
    [
        ((1, 2), [1, 2]),
        (1, True),
        (1, 1.0),
        ("1", 1),
        ({"a": 1}, {"a": 2}),
        (10**30, 10**30 + 1),
        (b"a", "a"),
    ],
)
def test_subjects_of_different_types_are_different(recorded_subject, other_subject, path, counting):
    model = counting()
    autochron.judge(POLITE, recorded_subject, model=model, record=path, mode="record")
    with pytest.raises(NotJudgedError):
        autochron.judge(POLITE, other_subject, model=model, record=path)


def test_the_order_of_keys_in_a_subject_does_not_matter(path, counting):
    autochron.judge(POLITE, {"a": 1, "b": {"c": 2, "d": 3}}, model=counting(), record=path, mode="record")
    assert autochron.judge(POLITE, {"b": {"d": 3, "c": 2}, "a": 1}, model=counting(), record=path).recorded


def test_a_subject_without_a_stored_form_is_refused(path, counting):
    model = counting()
    with pytest.raises(JudgeError, match=r"can't be shown to a judge: handle: .*has no stored form"):
        autochron.judge(POLITE, {"handle": object()}, model=model, record=path, mode="record")
    assert model.asked == []


def test_secrets_reach_neither_the_record_nor_the_model(path, counting):
    key = "sk-proj-Zx81hFq0vLw3TnB7cRe5YtUi9OpAsDfG"
    model = counting(json.dumps({"reason": f"It leaks {key}.", "score": 0.2}))
    subject = {"password": "hunter2-and-more", "text": f"my key is {key}"}
    verdict = autochron.judge(POLITE, subject, model=model, record=path, mode="record")
    assert verdict.reason == "It leaks [masked]."
    record_text = path.read_text()
    for secret in (key, "hunter2"):
        assert secret not in record_text
        assert secret not in model.asked[0]
    assert autochron.judge(POLITE, subject, model=model, record=path).reason == verdict.reason


def test_secrets_of_the_rules_reach_neither_the_record_nor_the_model(path, counting):
    rules = "version = 1\n[redact]\npatterns = ['ACME-[0-9]{8}']\n"
    (path.parent.parent / "autochron.toml").write_text(rules)
    model = counting('{"reason": "It names ACME-12345678.", "score": 0.2}')
    verdict = autochron.judge(POLITE, "of ACME-87654321", model=model, record=path, mode="record")
    assert verdict.reason == "It names [masked]."
    assert "ACME-" not in path.read_text() + model.asked[0]


# --- questions without a record ---------------------------------------------------------------------------------------


def test_without_a_record_no_model_is_called(path, counting):
    model = counting()
    with pytest.raises(NotJudgedError) as caught:
        autochron.judge(POLITE, "Thanks", model=model, record=path)
    assert "it holds no judgement at all, for it is not there" in str(caught.value)
    assert "AUTOCHRON_JUDGE=record" in str(caught.value)
    assert str(caught.value).endswith("(not-judged)")
    assert (model.asked, path.exists()) == ([], False)


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"subject": {"id": 7, "text": "Thank you."}}, 'judge[2], differs at subject.text: recorded "Thanks.", now "Thank'),
        ({"rubric": "It is kind."}, 'judge[2], differs at rubric: recorded "The answer is polite.", now "It is kind."'),
        ({"model": "openai:other"}, 'judge[2], differs at model: recorded "callable:'),
    ],
)  # fmt: skip
def test_a_changed_question_is_refused_with_the_first_difference_to_the_nearest_one(
    change, difference, path, counting
):
    model = counting()
    question = {"rubric": POLITE, "subject": {"id": 7, "text": "Thanks."}, "model": model}
    autochron.judge(**{**question, "subject": "An angry letter."}, record=path, mode="record")
    autochron.judge(**question, record=path, mode="record")
    with pytest.raises(NotJudgedError) as caught:
        autochron.judge(**(question | change), record=path)
    assert difference in str(caught.value)


# --- modes ---------------------------------------------------------------------------------------------------------


def test_mode_record_calls_the_model_only_for_missing_judgements(path, counting):
    model = counting()
    for _ in range(2):
        autochron.judge(POLITE, "Thanks", model=model, record=path, mode="record")
    assert len(model.asked) == 1


def test_mode_rewrite_judges_each_question_anew_once_per_process(path, counting, environment):
    for subject in ("one", "two"):
        autochron.judge(POLITE, subject, model=counting(GOOD), record=path, mode="record")
    environment.setattr(judgement, "_fresh", set())  # as in another process
    model = counting(BAD)
    first = autochron.judge(POLITE, "one", model=model, record=path, mode="rewrite")
    second = autochron.judge(POLITE, "one", model=model, record=path, mode="rewrite")
    assert (first.score, first.recorded, second.score, second.recorded) == (0.1, False, 0.1, True)
    assert len(model.asked) == 1
    served = [autochron.judge(POLITE, name, model=model, record=path).score for name in ("one", "two")]
    assert served == [0.1, 0.9]


def test_the_mode_is_the_one_in_use_then_that_of_the_environment_then_the_default(environment):
    assert settings.mode_in_force() == "replay"
    assert settings.mode_in_force("record") == "record"
    environment.setenv("AUTOCHRON_JUDGE", "rewrite")
    assert settings.mode_in_force("record") == "rewrite"
    undo = settings.use("record")
    assert settings.mode_in_force() == "record"
    undo()
    assert settings.mode_in_force() == "rewrite"


def test_an_unknown_mode_is_refused(path, counting, environment):
    with pytest.raises(
        UsageError, match=r"mode is 'recor'; it takes replay, record or rewrite; did you mean record\?"
    ):
        autochron.judge(POLITE, "x", model=counting(), record=path, mode="recor")
    environment.setenv("AUTOCHRON_JUDGE", "yes")
    with pytest.raises(UsageError, match="AUTOCHRON_JUDGE is 'yes'"):
        autochron.judge(POLITE, "x", model=counting(), record=path)


# --- bad arguments, bad replies, bad files ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rubric": "  "}, "a judge wants a rubric"),
        ({"rubric": None}, "a judge wants a rubric"),
        ({"threshold": 1.5}, "from 0 to 1, not 1.5"),
        ({"threshold": math.nan}, "from 0 to 1, not nan"),
        ({"model": "gpt-5-mini"}, "name one as openai:NAME or pydantic-ai:PROVIDER:NAME"),
        ({"model": "openai:"}, "name one as"),
        ({"model": 3}, "a name or a callable, not int"),
    ],
)
def test_invalid_arguments_are_refused(changes, message, path, counting):
    arguments = {"rubric": POLITE, "subject": "x", "model": counting(), "mode": "record"}
    with pytest.raises(UsageError, match=message):
        autochron.judge(**(arguments | changes), record=path)


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        ("I like it.", "there is no JSON object with a score in it"),
        ("", "it is empty"),
        ('{"reason": "good", "score": 1.2}', "the score is 1.2, which is not from 0 to 1"),
        ('{"reason": "good", "score": -0.1}', "which is not from 0 to 1"),
        ('{"reason": "good", "score": "0.5"}', 'the score is "0.5", which is no number'),
        ('{"reason": "good", "score": true}', "the score is true, which is no number"),
        ('{"reason": "good", "score": NaN}', "which is no number"),
        ('{"reason": " ", "score": 0.5}', "there is no reason"),
        ('{"score": 0.5}', "there is no reason"),
        (GOOD + BAD, "more than one JSON object with a score in it, and they differ"),
        ("{" * 100_000, "there is no JSON object"),
    ],
)
def test_a_bad_reply_is_answered_with_one_complaint(reply, complaint, path, counting):
    judge = counting(reply, GOOD)
    assert autochron.judge(POLITE, "x", model=judge, record=path, mode="record").score == 0.9
    assert len(judge.asked) == 2
    assert complaint in judge.asked[1]
    assert judge.asked[1].startswith(judge.asked[0])
    with pytest.raises(VerdictError) as caught:
        autochron.judge(POLITE, "y", model=counting(reply), record=path, mode="record")
    assert complaint in str(caught.value)
    assert str(caught.value).endswith("(bad-verdict)")
    with pytest.raises(NotJudgedError):
        autochron.judge(POLITE, "y", model=counting(), record=path)


@pytest.mark.parametrize(
    "reply",
    [
        f"```json\n{GOOD}\n```",
        f"<think>{{maybe}} {{'a': 1}}</think>Here: {GOOD} I hope that helps {{}}.",
        f"{GOOD}\n{GOOD}",
        '{"reason": "It has {braces} and \\"quotes\\".", "score": 1}',
        '{"score": 0, "reason": "nothing", "more": [1]}',
    ],
)
def test_a_verdict_is_found_within_other_text(reply, path, counting):
    model = counting(reply)
    autochron.judge(POLITE, "x", model=model, record=path, mode="record")
    assert len(model.asked) == 1


def test_a_callable_that_fails_is_named(path):
    def fails(prompt):
        raise KeyError("no model")

    with pytest.raises(
        JudgeError, match=r"test_a_callable_that_fails_is_named\.<locals>\.fails raised KeyError"
    ):
        autochron.judge(POLITE, "x", model=fails, record=path, mode="record")
    with pytest.raises(JudgeError, match="gave NoneType; let it give text"):
        autochron.judge(POLITE, "x", model=lambda prompt: None, record=path, mode="record")


def test_an_edited_record_is_refused(path, counting):
    autochron.judge(POLITE, "x", model=counting(), record=path, mode="record")
    path.write_text(path.read_text().replace("0.9", "0.1"))
    for mode in settings.MODES[:2]:
        with pytest.raises(TraceFormatError, match="the digest is wrong"):
            autochron.judge(POLITE, "x", model=counting(), record=path, mode=mode)


@pytest.mark.parametrize("outcome", [b'{"reason":"","score":3}', b'{"score":0.5}', b"[]"])
def test_an_outcome_that_is_no_judgement_is_refused(outcome, path, counting, environment):
    autochron.judge(POLITE, "x", model=counting(), record=path, mode="record")
    trace = read_trace(str(path))
    (envelope,) = trace.envelopes
    changed = replace(envelope, outcome=Returned(outcome))
    write_trace(replace(trace, envelopes=(changed,)), str(path))
    with pytest.raises(
        StoreError, match=r"judge\[1\] in .* has no score from 0 to 1 with a reason .*mode='rewrite'"
    ):
        autochron.judge(POLITE, "x", model=counting(), record=path)
    environment.setattr(judgement, "_fresh", set())  # as in another process
    assert autochron.judge(POLITE, "x", model=counting(), record=path, mode="rewrite").score == 0.9


def test_the_trace_of_a_program_is_refused_as_a_record(tmp_path, block, counting):
    _, trace = block.record(lambda: None)
    write_trace(trace, str(tmp_path / "trace.jsonl"))
    with pytest.raises(StoreError, match="is the trace of a program; give judgements a file of their own"):
        autochron.judge(POLITE, "x", model=counting(), record=tmp_path / "trace.jsonl", mode="record")


def test_a_record_that_cannot_be_written_is_refused(tmp_path, counting):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="give another path"):
        autochron.judge(POLITE, "x", model=counting(), record=tmp_path / "file" / "j.jsonl", mode="record")
