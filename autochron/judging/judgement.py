"""`autochron.judge`: a model's score of a subject with a reason. The first judgement is recorded, and served from then on."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from types import TracebackType
from typing import Annotated, Any, NoReturn, Self

import msgspec
from msgspec import Meta, Struct

from autochron._runtime import unpatched
from autochron.config import find_rule_file
from autochron.crossing.pausing import paused
from autochron.errors import JudgeError, JudgeSetupError, NotJudgedError, StoreError, UsageError
from autochron.judging import record as records
from autochron.judging.model_clients import OPENAI, PYDANTIC_AI
from autochron.judging.process import Answer, JudgeProcess
from autochron.judging.question import SYSTEM, Question, make_question
from autochron.judging.settings import VARIABLE, Mode, mode_in_force, read_mode
from autochron.judging.verdict import JudgeReply, SendPrompt, ask
from autochron.model import Envelope, Returned
from autochron.redaction.redactor import Redactor
from autochron.rules.loading import load_rules

Model = str | Callable[[str], str]
"""A model's name, or a callable that returns a model's answer to a prompt."""

_fresh: set[tuple[str, bytes]] = set()
"""Record and input of each judgement that this process has made, so that `rewrite` judges each question only once."""


class Judgement(Struct, frozen=True):
    """A model's judgement of a subject. It is advice and has no truth value: `bool()` of it raises UsageError."""

    score: float
    """From 0 to 1."""
    reason: str
    passed: bool
    """Whether the score reaches the threshold."""
    model: str
    recorded: bool
    """Whether it was served from the record, without a call of the model."""

    def __bool__(self) -> NoReturn:
        raise UsageError(
            f"a judgement is neither true nor false (score {self.score}); ask for its passed, or compare its score"
        )


class _KeptJudgement(Struct):
    score: Annotated[float, Meta(ge=0, le=1)]
    reason: str


def judge(
    rubric: str,
    subject: Any,
    *,
    model: Model,
    record: str | os.PathLike[str],
    base_url: str | None = None,
    threshold: float = 0.5,
    mode: Mode | None = None,
) -> Judgement:
    """Score a subject against a rubric by a model. The judgement is recorded, and served from the record afterwards.

    Args:
        rubric: what a good subject is, in a sentence or more.
        subject: text, JSON data, or a value of a type that a trace can hold.
        model: `openai:NAME` for an OpenAI-compatible endpoint, `pydantic-ai:NAME` for any model of pydantic-ai, or a
            callable that takes the text of a prompt and returns the text of an answer.
        record: the path of the trace file with the judgements. Secrets in it are masked, and the model gets the masked
            subject.
        base_url: the URL of the endpoint; default the variable `OPENAI_BASE_URL`.
        threshold: the least score that passes, from 0 to 1.
        mode: whether the model may be called: `replay` (never), `record` (for a judgement that isn't recorded) or `rewrite`
            (again for each). Default the mode that `judging.settings.use` has set, else that of the variable
            `AUTOCHRON_JUDGE`, else `replay`.

    Returns:
        A judgement with `score` (from 0 to 1), `reason`, `passed` (whether the score reaches the threshold), `model` (its
        name) and `recorded` (whether it was served from the record). It has no truth value: ask for `passed`.

    Raises:
        NotJudgedError: the judgement isn't recorded, and the mode is `replay`.
        JudgeError: the subject has no stored form, or the model can't be asked or answers without a score and a reason.
        StoreError, TraceFormatError: the record can't be read or written.
        UsageError: an argument is invalid.
        RuleError: the rule file above `record`, whose `[redact]` table applies here, too, is invalid.
    """
    with Judge(model, record, base_url=base_url, mode=mode) as judge_of_model:
        return judge_of_model.judge(rubric, subject, threshold)


class Judge:
    """A context manager for many questions to one model with one record.

    Its child process starts with the first question that needs the model, and ends with the block.

    Args:
        model: as for `judge`.
        record: as for `judge`.
        base_url: as for `judge`.
        mode: as for `judge`.

    Attributes:
        name: the model's name, under which its judgements are recorded.
        path: the absolute path of the record.
        shown: the path of the record as it was passed, for messages.
        mode: the mode in force.
    """

    def __init__(
        self,
        model: Model,
        record: str | os.PathLike[str],
        *,
        base_url: str | None = None,
        mode: Mode | None = None,
    ) -> None:
        self.name = _name_of(model)
        self.path = os.path.abspath(os.fspath(record))
        self.mode = mode_in_force() if mode is None else read_mode(mode, "mode")
        self.shown = os.fspath(record)
        self._model = model
        self._base_url = base_url
        self._process = JudgeProcess()

    @cached_property
    def _redactor(self) -> Redactor:
        """The redactor with the rules of the project that the record is in."""
        return Redactor.of(load_rules(find_rule_file(os.path.dirname(self.path))))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        with paused():
            self._process.close()

    def judge(self, rubric: str, subject: Any, threshold: float = 0.5) -> Judgement:
        """Score a subject against a rubric; see `autochron.judge`."""
        read_threshold(threshold)
        # Paused from here on: neither the reading of the subject nor our files belong into a session's record.
        with paused():
            question = make_question(rubric, subject, self.name, self._redactor)
            envelope, was_recorded = self._envelope(question)
        kept = self._read(envelope)
        passed = kept.score >= threshold
        return Judgement(kept.score, kept.reason, passed, self.name, was_recorded)

    def _envelope(self, question: Question) -> tuple[Envelope, bool]:
        """Return the envelope of a judgement, and whether it was served from the record."""
        key = (self.path, question.input)
        if self.mode != "rewrite" or key in _fresh:
            recorded = records.judgements(self.path).get(question.input)
            if recorded is not None:
                return recorded, True
        if self.mode == "replay":
            raise NotJudgedError(self._explain_missing(question))
        new = self._ask_model(question)
        standing = records.keep(self.path, new, replace=self.mode == "rewrite")
        _fresh.add(key)
        return standing, standing is not new

    def _read(self, envelope: Envelope) -> _KeptJudgement:
        """Decode a recorded judgement.

        Raises:
            StoreError: the record's outcome is no score with a reason.
        """
        outcome = envelope.outcome
        try:
            return msgspec.json.decode(
                outcome.value if isinstance(outcome, Returned) else b"", type=_KeptJudgement
            )
        except msgspec.DecodeError as error:
            raise StoreError(
                f"{envelope.address} in {self.shown} has no score from 0 to 1 with a reason ({error}); "
                "have it judged again with mode='rewrite'"
            ) from error

    def _explain_missing(self, question: Question) -> str:
        near = records.describe_nearest(self.path, question.input)
        if near is None:
            near = "it holds no judgement at all" + (
                "" if os.path.exists(self.path) else ", for it is not there"
            )
        return (
            f"{self.shown} has no judgement of this subject by {self.name}; {near}; "
            f"let it be judged with {VARIABLE}=record, or mode='record'"
        )

    def _ask_model(self, question: Question) -> Envelope:
        """Call the model and return its judgement as an envelope."""
        started = unpatched.perf_counter_ns()
        if isinstance(self._model, str):
            answer = self._process.ask(self.name, question.prompt, self._base_url)
        else:
            verdict = ask(_conversation(self._model, self.name), question.prompt, self.name)
            answer = Answer(verdict.score, verdict.reason)
        outcome, masked = self._redactor.mask_outcome(
            msgspec.json.encode({"reason": answer.reason, "score": answer.score})
        )
        meta: dict[str, Any] = {"model": self.name}
        for name in ("sampling", "usage", "sdk"):
            if value := getattr(answer, name):
                meta[name] = value
        return Envelope(
            seq=1,
            name=records.NAME,
            nth=1,
            kind="model",
            lane="0",
            parent=None,
            site="autochron:judge",
            input=question.input,
            outcome=Returned(outcome),
            meta=msgspec.json.encode(meta),
            duration=unpatched.perf_counter_ns() - started,
            masked=masked,
        )


def read_threshold(threshold: Any) -> float:
    """Return a threshold as a float.

    Raises:
        UsageError: it is no number from 0 to 1.
    """
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        raise UsageError(f"a judge's threshold is a number from 0 to 1, not {threshold!r}")
    return float(threshold)


def _conversation(model: Callable[[str], str], name: str) -> SendPrompt:
    """Return a conversation with a callable. Each prompt is one text that holds all the earlier texts."""
    texts: list[str] = [SYSTEM]

    def send(prompt: str) -> JudgeReply:
        texts.append(prompt)
        try:
            text = model("\n\n".join(texts))
        except Exception as error:
            raise JudgeError(
                f"the judge {name} raised {type(error).__name__}: {error}; mend it, or take another model"
            ) from error
        if not isinstance(text, str):
            raise JudgeSetupError(f"the judge {name} gave {type(text).__name__}; let it give text")
        texts.append(text)
        return JudgeReply(text)

    return send


def _name_of(model: Model) -> str:
    """Return a model's name, under which its judgements are recorded.

    Raises:
        UsageError: the model is neither a callable nor a known kind of name.
    """
    if isinstance(model, str):
        if model.startswith((OPENAI, PYDANTIC_AI)) and model.partition(":")[2]:
            return model
        raise UsageError(
            f"the judge's model is {model!r}; name one as {OPENAI}NAME or {PYDANTIC_AI}PROVIDER:NAME, or give a callable"
        )
    if not callable(model):
        raise UsageError(f"a judge's model is a name or a callable, not {type(model).__name__}")
    definition = model if hasattr(model, "__qualname__") else type(model)
    return f"callable:{definition.__module__}:{definition.__qualname__}"
