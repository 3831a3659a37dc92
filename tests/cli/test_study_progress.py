"""The progress of a mutation study where there is no terminal: a line at once, and one now and then."""

import pytest

from autochron.cli import study_progress
from autochron.cli.study_progress import StudyProgress


@pytest.fixture
def clock(monkeypatch):
    """Replace the clock; return a function that sets the time."""
    now = [100.0]
    monkeypatch.setattr(study_progress.time, "monotonic", lambda: now[0])
    return lambda seconds: now.__setitem__(0, 100.0 + seconds)


def test_a_line_comes_at_once_and_then_now_and_then_with_the_rate(clock, capsys):
    with StudyProgress(quiet=False) as progress:
        progress.show("refund", "fix", 0, 0)
        for done in range(1, 41):
            clock(done)
            progress.show("refund", "cut" if done < 25 else "widen", done, 80)
    assert capsys.readouterr().err.splitlines() == [
        "autochron: refund: the tests with the fix",
        *(
            f"autochron: refund: {done} of 80 trials, {step}, 1.0/s, {left}"
            for done, step, left in (
                (5, "cut-point", "1 m 15 s left"),
                (10, "cut-point", "1 m 10 s left"),
                (15, "cut-point", "1 m 05 s left"),
                (20, "cut-point", "1 m 00 s left"),
                (25, "other inputs", "55 s left"),
                (30, "other inputs", "50 s left"),
                (35, "other inputs", "45 s left"),
                (40, "other inputs", "40 s left"),
            )
        ),
    ]
    assert progress.tried == 40


def test_a_note_comes_whenever_there_is_one(clock, capsys):
    progress = StudyProgress(quiet=False)
    progress.show("refund", "fix", 0, 0)
    progress.show("email", "fix", 0, 0)
    progress.show("refund", "plain cosmic-ray is not asked: \x1b[2J (no-crosscheck)", 0, 0)
    assert capsys.readouterr().err.splitlines() == [
        "autochron: refund: the tests with the fix",
        "autochron: refund: plain cosmic-ray is not asked: \\x1b[2J (no-crosscheck)",
    ]
    assert progress.tried == 0


def test_quiet_shows_nothing(clock, capsys):
    with StudyProgress(quiet=True) as progress:
        progress.show("refund", "fix", 0, 0)
        progress.show("refund", "cut", 1, 2)
    assert (capsys.readouterr().err, progress.tried) == ("", 1)


def test_a_terminal_gets_bars_and_notes(clock, capsys, monkeypatch):
    monkeypatch.setattr(study_progress, "is_terminal", lambda stream: True)
    monkeypatch.setenv("COLUMNS", "120")
    with StudyProgress(quiet=False) as progress:
        progress.show("refund", "fix", 0, 0)
        progress.show("refund", "cut", 1, 2)
        progress.show("refund", "why [not]", 0, 0)
        progress.show("refund", "cut", 2, 2)
    assert "autochron: refund: why [not]" in capsys.readouterr().err
