"""Measure how far a judge agrees with labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from autochron.errors import VerdictError
from autochron.judging.agreement import Confusion, confusion, kappa, mean_absolute_error, spearman, wilson
from autochron.judging.judgement import Judge, Judgement
from autochron.judging.labels import Label


class LabelledJudgement(Struct, frozen=True):
    """One label with the judge's judgement."""

    line: int
    subject: Any
    label: bool | float
    score: float
    passed: bool
    reason: str


class Unjudged(Struct, frozen=True):
    """One label on which the judge returned no verdict."""

    line: int
    why: str


class Measured(Struct, frozen=True, kw_only=True):
    """The agreement of a judge with labels."""

    model: str
    record: str
    threshold: float
    n: int
    """The number of labels with a verdict."""
    called: int
    """For how many of them the model was called; the others were recorded."""
    agreement: float | None
    """The share of labels that agree with `passed`, from 0 to 1. A label that is a number counts as good if it reaches the
    threshold."""
    interval: tuple[float, float] | None
    """Wilson's 95 % interval of the agreement."""
    kappa: float | None
    confusion: Confusion
    numbers: int
    """How many labels are numbers; the next two fields are about those."""
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
    """Score each label's subject with a judge, and compare scores and labels.

    Args:
        judge: the judge.
        labels: the labels.
        threshold: the lowest score that passes, from 0 to 1.
        progress: called after each label.

    Returns:
        The agreement. Labels without a verdict are in `unjudged` and nowhere else.
    """
    cases: list[LabelledJudgement] = []
    unjudged: list[Unjudged] = []
    called = 0
    for label in labels:
        try:
            judgement = judge.judge(label.rubric, label.subject, threshold)
        except VerdictError as error:
            unjudged.append(Unjudged(label.line, error.message))
        else:
            called += not judgement.recorded
            cases.append(_case(label, judgement))
        progress()
    return _measured(judge, threshold, called, cases, unjudged)


def _case(label: Label, judgement: Judgement) -> LabelledJudgement:
    return LabelledJudgement(
        label.line, label.subject, label.label, judgement.score, judgement.passed, judgement.reason
    )


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
