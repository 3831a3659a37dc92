"""Each benchmark runs and returns figures; no test depends on how long anything takes."""

import sys

import pytest

from bench import startup
from bench.__main__ import BENCHMARKS, main, measure, shown, table
from bench.measure import TINY

MARKS = {
    "startup": pytest.mark.thorough,
    "recording": pytest.mark.thorough,
    "conversation": pytest.mark.sdks,
    "replaying": pytest.mark.sdks,
    "finding": pytest.mark.thorough,
}


# The test of impact is tests/impact/test_real_agent.py, which has verdicts to compare and takes ten seconds. The test of
# mutating is test_mutating.py, because the benchmark downloads a source.
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=MARKS.get(name, ()))
        for name in BENCHMARKS
        if name not in {"impact", "mutating"}
    ],
)
def test_a_benchmark_measures_something(name):
    if name in ("conversation", "replaying"):
        pytest.importorskip("openai")
        pytest.importorskip("httpx2")
    figures = measure(name, TINY)
    assert figures
    assert {figure.benchmark for figure in figures} == {name}
    assert all(figure.unit and figure.against for figure in figures)
    assert table(figures).row_count == len(figures)


NEEDED_BY_MSGSPEC = {"ast"} if sys.version_info >= (3, 14) else set()
"""It imports `annotationlib` there, and that imports this."""


def test_an_empty_program_imports_nothing_heavy(tmp_path):
    assert set(startup.loaded(str(tmp_path))) <= NEEDED_BY_MSGSPEC


def test_an_unknown_benchmark_is_refused(capsys):
    assert main(["no-such"]) == 2
    assert "recording" in capsys.readouterr().err


def test_numbers_are_shown_with_three_digits():
    assert [shown(value, "µs") for value in (1.234, 12.34, 1234.5)] == ["1.23 µs", "12.3 µs", "1,234 µs"]
