"""With `-v` the reports of run, replay and rules leave nothing out, and NO_COLOR and FORCE_COLOR decide about colours."""

import io

import pytest

from autochron.model import Finding, Footer, ReplaySummary, RunSummary, Site
from autochron.report.replay import write_replay
from autochron.report.run import write_run
from autochron.report.text import Page

MANY = tuple(f"place {number}" for number in range(30))


def run_report(**more):
    stream = io.StringIO()
    summary = RunSummary(
        trace="01", store="t.db", counts=(("f", 1),), footer=Footer(status=0), crossings=1, problems=MANY
    )
    write_run(summary, stream, **more)
    return stream.getvalue()


def replay_report(**more):
    stream = io.StringIO()
    sites = (Site(file="agent.py", line=number, qualname="f", hash="0") for number in range(30))
    findings = tuple(
        Finding(category="clock", call="time.time()", site=site, count=1, tier="direct") for site in sites
    )
    summary = ReplaySummary(trace="01", same=True, status=0, crossings=0, complete=True, findings=findings)
    write_replay(summary, stream, quiet=False, as_json=False, draw=lambda divergences: None, **more)
    return stream.getvalue()


def test_a_report_of_a_run_is_shortened_unless_it_is_to_be_whole():
    assert [line in run_report() for line in (MANY[0], MANY[29])] == [True, False]
    assert "more like it" in run_report()
    assert all(line in run_report(whole=True) for line in MANY)
    assert "more like it" not in run_report(whole=True)


def test_a_report_of_a_replay_is_shortened_unless_it_is_to_be_whole():
    assert "agent.py:29" not in replay_report()
    assert "more like it" in replay_report()
    assert all(f"agent.py:{number}, " in replay_report(whole=True) for number in range(30))


class Stream(io.StringIO):
    encoding = "utf-8"

    def __init__(self, *, is_terminal):
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self):
        return self._is_terminal


@pytest.mark.parametrize(
    ("is_terminal", "variables", "has_colour", "is_drawn"),
    [
        (True, {}, True, True),
        (True, {"NO_COLOR": ""}, True, True),
        (True, {"NO_COLOR": "1"}, False, True),
        (True, {"TERM": "dumb"}, False, False),
        (False, {}, False, False),
        (False, {"FORCE_COLOR": "1"}, True, True),
        (False, {"FORCE_COLOR": ""}, False, False),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, True),
    ],
    ids=str,
)
def test_colours_and_tables(monkeypatch, is_terminal, variables, has_colour, is_drawn):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "80", **variables}.items():
        monkeypatch.setenv(name, value)
    stream = Stream(is_terminal=is_terminal)
    page = Page(stream)
    page.line("warned", "yellow")
    page.table(("id", "status"), [("first", "0")])
    text = stream.getvalue()
    assert ("\x1b[" in text, "id" in text) == (has_colour, is_drawn)
