"""The report of `autochron judge`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from msgspec.json import encode

from autochron.judging.measuring import Measured
from autochron.report.text import Page, plural

_FEW = 10
_WIDE = 100


def write_measured(measured: Measured, stream: TextIO, *, as_json: bool, whole: bool = False) -> None:
    """Write how far a judge agrees with labels, and the first disagreements, as text or as JSON; with `whole` all of them."""
    if as_json:
        stream.write(encode(measured).decode() + "\n")
        return
    page = Page(stream, whole=whole)
    page.table(("measure", "value"), list(_rows(measured)))
    if measured.disagreements:
        page.line(f"{plural(len(measured.disagreements), 'disagreement')}:", "bold")
    for case in measured.disagreements[: page.few(_FEW)]:
        label = encode(case.label).decode()
        page.line(f"  line {case.line}: label {label}, score {case.score:g}: {_short(case.reason)}")
        page.line(
            f"    {_short(case.subject if isinstance(case.subject, str) else encode(case.subject).decode())}"
        )
    if len(measured.disagreements) > page.few(_FEW):
        page.line(f"  … and {len(measured.disagreements) - page.few(_FEW)} more; --json lists all")
    for failure in measured.unjudged[: page.few(_FEW)]:
        page.line(f"  line {failure.line}: not judged: {_short(failure.why)} (bad-verdict)", "red")
    if len(measured.unjudged) > page.few(_FEW):
        page.line(f"  … and {len(measured.unjudged) - page.few(_FEW)} more; --json lists all", "red")


def _rows(measured: Measured) -> Iterator[tuple[str, str]]:
    counts = measured.confusion
    yield "model", measured.model
    yield (
        "labels judged",
        f"{measured.n} ({measured.called} by a call, {measured.n - measured.called} recorded)",
    )
    if measured.unjudged:
        yield "not judged", str(len(measured.unjudged))
    low, high = measured.interval or (None, None)
    yield "agreement", f"{_number(measured.agreement)} (95 % interval {_number(low)} to {_number(high)})"
    yield "Cohen's kappa", _number(measured.kappa)
    yield "label good", f"{counts.good_passed} passed, {counts.good_failed} failed"
    yield "label bad", f"{counts.bad_passed} passed, {counts.bad_failed} failed"
    if measured.numbers:
        yield (
            "mean absolute error",
            f"{_number(measured.mean_absolute_error)} (of {measured.numbers} numbers)",
        )
        yield "Spearman's rho", f"{_number(measured.spearman)} (of {measured.numbers} numbers)"
    yield "threshold", f"{measured.threshold:g}"
    yield "record", measured.record


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDE else f"{line[:_WIDE]}…"
