"""Measure a judge against labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from autochron.errors import VerdictError
from autochron.judging.agreement import Confusion, confusion, kappa, mean_absolute_error, spearman, wilson
from autochron.judging.judgement import Judge, Judgement
from autochron.judging.labels import Label


class LabelledJudgement(Struct, frozen=True):
    """One label, and what the judge said."""

    line: int
    subject: Any
    label: bool | float
    score: float
    passed: bool
    reason: str


class Unjudged(Struct, frozen=True):
    """One label that the judge gave no verdict on."""

    line: int
    why: str


class Measured(Struct, frozen=True, kw_only=True):
    """How far a judge agrees with labels."""

    model: str
    record: str
    threshold: float
    n: int
    """Labels with a verdict."""
    called: int
    """How many of them the model was called for; the others were recorded."""
    agreement: float | None
    """The share of labels that `passed` agrees with; a number agrees as good where it reaches the threshold, too."""
    interval: tuple[float, float] | None
    """Of the agreement, 95 % (Wilson)."""
    kappa: float | None
    confusion: Confusion
    numbers: int
    """How many labels are numbers; the next two are of those."""
    mean_absolute_error: float | None
    spearman: float | None
    disagreements: tuple[LabelledJudgement, ...]
    unjudged: tuple[Unjudged, ...]


def measure(
    judge: Judge,
    labels: Sequence[Label],
    threshold: float,
    progress: Callable[[], object] = lambda: None,
) -> Measured:
    """Ask a judge about each label; `progress` is told of each. One without a verdict is counted apart."""
    cases: list[LabelledJudgement] = []
    unjudged: list[Unjudged] = []
    called = 0
    for each in labels:
        try:
            said = judge.judge(each.rubric, each.subject, threshold)
        except VerdictError as error:
            unjudged.append(Unjudged(each.line, error.message))
        else:
            called += not said.recorded
            cases.append(_case(each, said))
        progress()
    return _measured(judge, threshold, called, cases, unjudged)


def _case(label: Label, said: Judgement) -> LabelledJudgement:
    return LabelledJudgement(label.line, label.subject, label.label, said.score, said.passed, said.reason)


def _measured(
    judge: Judge,
    threshold: float,
    called: int,
    cases: Sequence[LabelledJudgement],
    unjudged: Sequence[Unjudged],
) -> Measured:
    good = [_is_good(case.label, threshold) for case in cases]
    counts = confusion(good, [case.passed for case in cases])
    numbers = [case for case in cases if not isinstance(case.label, bool)]
    values, scores = [float(case.label) for case in numbers], [case.score for case in numbers]
    return Measured(
        model=judge.name,
        record=judge.shown,
        threshold=threshold,
        n=counts.total,
        called=called,
        agreement=counts.agreed / counts.total if counts.total else None,
        interval=wilson(counts.agreed, counts.total),
        kappa=kappa(counts),
        confusion=counts,
        numbers=len(numbers),
        mean_absolute_error=mean_absolute_error(values, scores),
        spearman=spearman(values, scores),
        disagreements=tuple(
            case for case, is_good in zip(cases, good, strict=True) if case.passed != is_good
        ),
        unjudged=tuple(unjudged),
    )


def _is_good(label: bool | float, threshold: float) -> bool:  # noqa: FBT001 - a label is either
    return label if isinstance(label, bool) else label >= threshold
