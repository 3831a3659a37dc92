"""The progress of long work: lines where there is no terminal, a bar on one, nothing for short work or with -q."""

import io
import sys
import time

import pytest

from autochron.report import work_progress
from autochron.report.work_progress import WorkProgress


@pytest.fixture
def clock(monkeypatch):
    """Replace the clock; return a function that sets the time."""
    now = [100.0]
    monkeypatch.setattr(work_progress.time, "monotonic", lambda: now[0])
    return lambda seconds: now.__setitem__(0, 100.0 + seconds)


def test_a_line_comes_after_two_seconds_and_every_five(clock, capsys):
    with WorkProgress("reading", "files", quiet=False, is_forking=True) as progress:
        for second in range(1, 15):
            clock(second)
            progress.show(second * 100, 2000)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        "autochron: reading: 200 of 2,000 files, 100.0/s, 18 s left",
        "autochron: reading: 700 of 2,000 files, 100.0/s, 13 s left",
        "autochron: reading: 1,200 of 2,000 files, 100.0/s, 8 s left",
    ]


def test_where_the_total_is_not_known_the_time_so_far_is_shown(clock, capsys):
    with WorkProgress("trying", "replays", quiet=False, is_forking=True) as progress:
        clock(125)
        progress.show(50, detail="3 sites \x1b[2J")
        clock(131)
        progress.show(0)
    assert capsys.readouterr().err.splitlines() == [
        "autochron: trying: 50 replays, 0.4/s, 2 m 05 s so far: 3 sites \\x1b[2J",
        "autochron: trying: 2 m 11 s so far",
    ]


def test_slow_steps_get_a_line_as_each_ends_and_an_estimate_that_falls(clock, capsys):
    with WorkProgress("trying the test", "runs", quiet=False, is_forking=True) as progress:
        for second in range(85):
            clock(second)
            progress.show(second // 20, 5)
    assert capsys.readouterr().err.splitlines() == [
        "autochron: trying the test: 0 of 5 runs, 2 s so far",
        "autochron: trying the test: 1 of 5 runs, about 20 s each, 20 s so far",
        "autochron: trying the test: 2 of 5 runs, about 20 s each, 1 m 00 s left",
        "autochron: trying the test: 3 of 5 runs, about 20 s each, 40 s left",
        "autochron: trying the test: 4 of 5 runs, about 20 s each, 20 s left",
    ]


def test_the_time_left_falls_while_a_step_runs_and_then_stays(clock, monkeypatch, capsys):
    for wait in ("_FIRST", "_SILENCE"):
        monkeypatch.setattr(work_progress, wait, 5.0)
    with WorkProgress("trying", "runs", quiet=False, is_forking=True) as progress:
        for second, done in ((20, 2), (25, 2), (30, 2), (45, 2)):
            clock(second)
            progress.show(done, 4)
    lines = capsys.readouterr().err.splitlines()
    assert [line.rpartition(", ")[2] for line in lines] == [
        "20 s left",
        "15 s left",
        "10 s left",
        "10 s left",
    ]


def test_no_time_left_is_estimated_from_a_small_part(clock, capsys):
    with WorkProgress("reading", "files", quiet=False, is_forking=True) as progress:
        for second, done in ((2, 49), (7, 50)):
            clock(second)
            progress.show(done, 1000)
    assert capsys.readouterr().err.splitlines() == [
        "autochron: reading: 49 of 1,000 files, 24.5/s, 2 s so far",
        "autochron: reading: 50 of 1,000 files, 7.1/s, 2 m 13 s left",
    ]


@pytest.mark.parametrize(("quiet", "seconds"), [(True, 60), (False, 1.9)], ids=["quiet", "short"])
def test_quiet_and_short_work_show_nothing(clock, capsys, quiet, seconds):
    with WorkProgress("reading", "files", quiet=quiet) as progress:
        clock(seconds)
        progress.show(1, 2)
    assert capsys.readouterr().err == ""


def test_a_step_that_takes_long_is_seen_to_go_on(monkeypatch, capsys):
    """Nothing calls `show` meanwhile; a thread writes the line."""
    monkeypatch.setattr(work_progress, "_FIRST", 0.0)
    monkeypatch.setattr(work_progress, "_PAUSE", 0.001)
    ends = time.monotonic() + 30
    err = io.StringIO()
    monkeypatch.setattr(sys, "stderr", err)
    with WorkProgress("dropping", "traces", quiet=False) as progress:
        progress.show(0, 300)
        while "so far" not in err.getvalue():
            assert time.monotonic() < ends
            time.sleep(0.001)
    assert err.getvalue().splitlines()[0] == "autochron: dropping: 0 of 300 traces, 0 s so far" or (
        err.getvalue().startswith("autochron: dropping: 0 s so far")
    )


def test_work_that_forks_has_no_thread():
    import threading

    with WorkProgress("trying", "replays", quiet=False, is_forking=True):
        assert "autochron progress" not in {thread.name for thread in threading.enumerate()}


def test_a_terminal_gets_a_bar_that_is_removed(clock, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    for name, value in {"COLUMNS": "110", "TERM": "xterm", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    with WorkProgress("reading [all]", "files", quiet=False, is_forking=True) as progress:
        clock(0.5)
        progress.show(1, 100)
        assert terminal.getvalue() == ""
        clock(10)
        progress.show(50, 100, "agent.py")
    shown = terminal.getvalue()
    assert "reading [all]: agent.py" in shown
    assert "50 of 100 files, 5.0/s, 10 s left" in shown
    assert shown.endswith(("\x1b[2K", "\x1b[?25h"))


def test_a_closed_stream_is_no_error(clock, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with WorkProgress("reading", "files", quiet=False, is_forking=True) as progress:
        stream.close()
        clock(9)
        progress.show(1, 2)


COMMANDS = {
    "check": ["check", "src"],
    "prune": ["traces", "prune", "--max-size", "1B"],
    "export": ["traces", "export", "last", "out.jsonl"],
}


@pytest.mark.parametrize("quiet", [False, True], ids=["", "quiet"])
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_show_their_progress_on_standard_error_alone(tmp_path, monkeypatch, capsys, name, quiet):
    from autochron import cli
    from autochron.model import Footer
    from autochron.store import open_store
    from tests.store import samples

    (tmp_path / "src").mkdir()
    for number in range(3):
        (tmp_path / "src" / f"m{number}.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    sink = open_store("traces.db").begin(samples.header(1))
    for seq in range(1, 501):
        sink.put(samples.small(seq))
    sink.end(Footer(status=0))
    sink.close()
    for wait in ("_FIRST", "_INTERVAL"):
        monkeypatch.setattr(work_progress, wait, 0.0)
    store = [] if name == "check" else ["--store", "traces.db"]
    with pytest.raises(SystemExit) as ended:
        cli.main([*COMMANDS[name], *store, *(["-q"] if quiet else [])])
    shown = capsys.readouterr()
    assert ended.value.code == 0
    beginning = {"check": "reading: ", "prune": "dropping: ", "export": "exporting to out.jsonl: "}[name]
    assert any(f"autochron: {beginning}" in line for line in shown.err.splitlines()) is not quiet
    assert beginning not in shown.out
