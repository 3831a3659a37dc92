"""The pytest plugin: tests that replay a recorded trace, or record it.

This module is imported by every run of pytest where autochron is installed, so it imports nothing but pytest: the rest comes
with the first rule file or the first marker.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from autochron.pytest_plugin import plays

MODES = ("replay", "record", "rewrite")
MARKER = "autochron"
VARIABLE = "AUTOCHRON"

_PARAMETER = "_autochron_trace"
"""The name that a test which is run for several traces has the one of them under."""

PLAY = pytest.StashKey["plays.Play"]()
PREPARED = pytest.StashKey["plays.Play"]()
"""What was made ready for a test before it was set up: by who sets it up many times, in a fork each."""
_mode = pytest.StashKey[str]()
_running = pytest.StashKey["plays.Play | None"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("autochron", "recorded agents")
    group.addoption(
        "--autochron",
        choices=MODES,
        help="what tests marked autochron do: `replay` their trace (default), `record` it where its file is missing, or"
        f" `rewrite` it; also ini autochron_mode, or {VARIABLE} in the environment",
    )
    group.addoption(
        "--autochron-deny",
        metavar="REACHES",
        help="what live crossings are kept from in every test: network, subprocess, files; with commas between",
    )
    parser.addini("autochron_mode", "replay, record or rewrite; as --autochron", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Settle the mode, and say what the marker takes."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(trace, live=(), swap=None, inputs=None, deny=(), rules=None, store=None, check=True, allow_unwoven=False,"
        " watch=False, volatile=()): replay a recorded trace around the test, with some of it live; several traces are a"
        " list, or a pattern of files",
    )
    given = (
        ("--autochron", config.getoption("--autochron")),
        (VARIABLE, os.environ.get(VARIABLE)),
        ("autochron_mode", config.getini("autochron_mode")),
    )
    where, mode = next(((where, mode) for where, mode in given if mode), ("", MODES[0]))
    if mode not in MODES:
        raise pytest.UsageError(f"{where}={mode}: it is one of {', '.join(MODES)}")
    config.stash[_mode] = mode
    config.pluginmanager.register(_Summary(), "autochron-summary")


# --- weaving, before anything is imported ----------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, Any, Any]:
    """Weave before the first conftest is imported, where a rule file is found."""
    from autochron.config import find_rule_file  # lazy: as all of autochron is here

    words = [word.partition("::")[0] for word in early_config.known_args_namespace.file_or_dir]
    starts = [os.path.abspath(word) for word in words if os.path.exists(word)]
    files = (find_rule_file(start) for start in (*starts, early_config.rootpath))
    file = next((file for file in files if file is not None), None)
    if file is not None:
        from autochron.errors import AutochronError  # lazy: as above
        from autochron.pytest_plugin.plays import weave

        try:
            weave(file)
        except AutochronError as error:
            raise pytest.UsageError(str(error)) from None
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_collectstart(collector: pytest.Collector) -> None:
    """Weave by the rules that are nearest to a test module, before it is imported."""
    if not isinstance(collector, pytest.Module):
        return
    from autochron.config import find_rule_file  # lazy: as all of autochron is here

    file = find_rule_file(collector.path)
    if file is not None:
        from autochron.errors import AutochronError  # lazy: as above
        from autochron.pytest_plugin.plays import weave

        try:
            weave(file)
        except AutochronError:
            return  # the tests that want these rules say so


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Have keys that a replay has no use for look set while a test module with traces is imported."""
    if not isinstance(collector, pytest.Module) or "autochron.instrument.activation" not in sys.modules:
        return (yield)
    from autochron.pytest_plugin.imports import fill_in_for  # lazy: where anything is woven

    put_back = fill_in_for(collector)
    try:
        return (yield)
    finally:
        put_back()


# --- tests ---------------------------------------------------------------------------------------------------------------


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test once for each of several traces."""
    marker = metafunc.definition.get_closest_marker(MARKER)
    if marker is None:
        return
    from autochron.errors import AutochronError  # lazy: with the first marker
    from autochron.pytest_plugin.marks import ids_of, traces_of

    try:
        traces = traces_of(marker, metafunc.definition)
    except AutochronError:
        return  # the test says so when it is run
    if traces is not None:
        metafunc.fixturenames.append(_PARAMETER)
        metafunc.parametrize(_PARAMETER, traces, indirect=True, ids=ids_of(traces))


@pytest.fixture
def _autochron_trace(request: pytest.FixtureRequest) -> Any:
    """Return the one of several traces that a test is run for."""
    return request.param


@pytest.fixture
def replay(request: pytest.FixtureRequest) -> plays.Face:
    """Return what crosses in this test: `replay["issue_refund[1]"].result`, `replay.called(...)`, `replay.sequence()`."""
    node: pytest.Item = request.node
    play = node.stash.get(PLAY, None)
    if play is None:
        pytest.fail(
            f"{node.nodeid} asks for `replay` and says nothing of a trace; mark it with"
            ' @pytest.mark.autochron("trace.jsonl") (usage)',
            pytrace=False,
        )
    return play.face


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Find the trace of a marked test and weave by its rules, before its fixtures are set up."""
    if PLAY in item.stash:  # run again
        del item.stash[PLAY]
    marker = item.get_closest_marker(MARKER)
    if marker is None:
        return
    if PREPARED in item.stash:
        item.stash[PLAY] = play = item.stash[PREPARED]
        play.puts_back = False
        del item.stash[PREPARED]
        return
    from autochron.errors import AutochronError  # lazy: with the first marker
    from autochron.pytest_plugin.marks import asked_of
    from autochron.pytest_plugin.plays import play_of

    several = getattr(item, "callspec", None)
    trace = several.params.get(_PARAMETER) if several is not None else None
    try:
        asked = asked_of(marker, item, trace)
        item.stash[PLAY] = play_of(asked, item.config.stash[_mode], item)
    except AutochronError as error:
        fault = str(error)
    else:
        return
    pytest.fail(fault, pytrace=False)  # here, so that it isn't told what it came of


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Replay or record while a marked test runs; where replay and record disagree the test fails."""
    play = item.stash.get(PLAY, None)
    if play is None:
        return (yield)
    item.config.stash[_running] = play
    item.autochron_replay = play.face  # type: ignore[attr-defined]  # for the plugin that watches a new incident's test
    play.begin()
    try:
        result = yield
    except BaseException as error:
        play.end(error)
        raise
    # Of a unittest.TestCase what failed is kept by the item, and not raised.
    failed = getattr(item, "_excinfo", None)
    play.end(failed[0].value if failed else None)
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what crossed to the report of a test that failed, and what else there is to say."""
    play = item.stash.get(PLAY, None)
    if call.excinfo is not None and "autochron.instrument.activation" in sys.modules:
        from autochron.pytest_plugin.tracebacks import trim  # lazy: where anything is woven

        own = play is not None and play.raised is call.excinfo.value
        trim(call.excinfo.value, ours=play is not None and not own and not item.config.getoption("fulltrace"))
    report = yield
    if play is None or call.when != "call":
        return report
    from autochron.pytest_plugin.telling import (
        lines_of,
        section_of,
        shown_plainly,
    )  # lazy: with the first marker

    if report.failed or hasattr(report, "wasxfail"):
        if report.longrepr is not None and call.excinfo is not None and play.raised is call.excinfo.value:
            report.longrepr = shown_plainly(call.excinfo, item)
        report.sections.append(("autochron replay", section_of(play)))
    report.autochron = lines_of(play)  # type: ignore[attr-defined]  # so that it gets from a worker of xdist to the terminal
    return report


# --- telling -------------------------------------------------------------------------------------------------------------


class _Summary:
    """What there is to say of tests, in one line each; of one run of pytest."""

    def __init__(self) -> None:
        self._heard: list[tuple[str, str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what there is to say of a test, also of one that ran in a worker of xdist."""
        if report.when == "call":
            self._heard.extend((report.nodeid, *line) for line in getattr(report, "autochron", ()))

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> None:
        """Say it; notices only where pytest is asked to be verbose."""
        is_verbose = config.get_verbosity() > 0
        lines = [(node, text) for node, severity, text in self._heard if severity != "notice" or is_verbose]
        if lines:
            terminalreporter.section("autochron", sep="=", blue=True)
            for node, text in lines:
                terminalreporter.line(f"{node}: {text}")


def pytest_assertrepr_compare(
    config: pytest.Config, op: str, left: object, right: object
) -> Sequence[str] | None:
    """Say where the crossings, or the result of one, are other than expected."""
    play = config.stash.get(_running, None)
    if play is None or op != "==":
        return None
    from autochron.pytest_plugin.telling import compared  # lazy: with the first marker

    return compared(play, left, right)
