"""The pytest plugin: tests that replay a recorded trace, or record it.

Every run of pytest imports this module where autochron is installed. It therefore imports nothing but pytest. The rest of
autochron is imported with the first rule file or the first marker.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from autochron.pytest_plugin import sessions

MODES = ("replay", "record", "rewrite")
MARKER = "autochron"
VARIABLE = "AUTOCHRON"

_PARAMETER = "_autochron_trace"
"""The fixture name under which a test that is parametrized over several traces gets its trace."""

SESSION = pytest.StashKey["sessions.TestSession"]()
PREPARED = pytest.StashKey["sessions.TestSession"]()
"""A session that was prepared before the test's set-up: `mutate` sets one test up many times, each time in a fork."""
_mode = pytest.StashKey[str]()
_running = pytest.StashKey["sessions.TestSession | None"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the command-line options and the ini option."""
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
        help="what live crossings may not use, in every test: network, subprocess, files; separated by commas",
    )
    group.addoption(
        "--autochron-html",
        metavar="FOLDER",
        help="write a page of each marked test that fails to this folder: the replay beside its record",
    )
    parser.addini("autochron_mode", "replay, record or rewrite; as --autochron", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Determine the mode and register the marker."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(trace, live=(), swap=None, inputs=None, deny=(), rules=None, store=None, check=True, allow_unwoven=False,"
        " watch=False, volatile=(), predicate=None, part='incident'): replay a recorded trace around the test, with some of"
        " it live; several traces are a list, or a pattern of files",
    )
    sources = (
        ("--autochron", config.getoption("--autochron")),
        (VARIABLE, os.environ.get(VARIABLE)),
        ("autochron_mode", config.getini("autochron_mode")),
    )
    source, mode = next(((source, mode) for source, mode in sources if mode), ("", MODES[0]))
    if mode not in MODES:
        raise pytest.UsageError(f"{source}={mode}: it is one of {', '.join(MODES)}")
    config.stash[_mode] = mode
    config.pluginmanager.register(_Summary(), "autochron-summary")


# --- weaving, before anything is imported ----------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, Any, Any]:
    """Activate the nearest rule file, if there is one, before the first conftest is imported."""
    from autochron.config import find_rule_file  # lazy: see the head of this module

    words = [word.partition("::")[0] for word in early_config.known_args_namespace.file_or_dir]
    starts = [os.path.abspath(word) for word in words if os.path.exists(word)]
    files = (find_rule_file(start) for start in (*starts, early_config.rootpath))
    file = next((file for file in files if file is not None), None)
    if file is not None:
        from autochron.errors import AutochronError  # lazy: as above
        from autochron.pytest_plugin.sessions import weave

        try:
            weave(file)
        except AutochronError as error:
            raise pytest.UsageError(str(error)) from None
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_collectstart(collector: pytest.Collector) -> None:
    """Activate the rule file that is nearest to a test module, before the module is imported."""
    if not isinstance(collector, pytest.Module):
        return
    from autochron.config import find_rule_file  # lazy: see the head of this module

    file = find_rule_file(collector.path)
    if file is not None:
        from autochron.errors import AutochronError  # lazy: as above
        from autochron.pytest_plugin.sessions import weave

        try:
            weave(file)
        except AutochronError:
            return  # each test that needs these rules reports the error


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Set placeholder credentials while a test module that names traces is imported.

    A module may construct an SDK's client at import, and the client demands a key that a replay doesn't use.
    """
    if not isinstance(collector, pytest.Module) or "autochron.instrument.activation" not in sys.modules:
        return (yield)
    from autochron.pytest_plugin.imports import fill_in_for  # lazy: only where something is woven

    put_back = fill_in_for(collector)
    try:
        return (yield)
    finally:
        put_back()


# --- tests ---------------------------------------------------------------------------------------------------------------


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize a test whose marker names several traces: one test for each."""
    marker = metafunc.definition.get_closest_marker(MARKER)
    if marker is None:
        return
    from autochron.errors import AutochronError  # lazy: with the first marker
    from autochron.pytest_plugin.marks import ids_of, traces_of

    try:
        traces = traces_of(marker, metafunc.definition)
    except AutochronError:
        return  # the test reports the error when it runs
    if traces is not None:
        metafunc.fixturenames.append(_PARAMETER)
        metafunc.parametrize(_PARAMETER, traces, indirect=True, ids=ids_of(traces))


@pytest.fixture
def _autochron_trace(request: pytest.FixtureRequest) -> Any:
    """Return the trace of one parametrized test."""
    return request.param


@pytest.fixture
def replay(request: pytest.FixtureRequest) -> sessions.Handle:
    """Return the crossings of this test: `replay["issue_refund[1]"].result`, `replay.called(...)`, `replay.sequence()`."""
    node: pytest.Item = request.node
    session = node.stash.get(SESSION, None)
    if session is None:
        pytest.fail(
            f"{node.nodeid} asks for `replay` and says nothing of a trace; mark it with"
            ' @pytest.mark.autochron("trace.jsonl") (usage)',
            pytrace=False,
        )
    return session.handle


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Find the trace of a marked test and activate its rules, before its fixtures are set up."""
    if SESSION in item.stash:  # the test is run again
        del item.stash[SESSION]
    marker = item.get_closest_marker(MARKER)
    if marker is None:
        return
    if PREPARED in item.stash:
        item.stash[SESSION] = item.stash[PREPARED]
        del item.stash[PREPARED]
        return
    from autochron.errors import AutochronError  # lazy: with the first marker
    from autochron.pytest_plugin.marks import marker_options
    from autochron.pytest_plugin.sessions import prepare_session

    callspec = getattr(item, "callspec", None)
    trace = callspec.params.get(_PARAMETER) if callspec is not None else None
    try:
        options = marker_options(marker, item, trace)
        item.stash[SESSION] = prepare_session(options, item.config.stash[_mode], item)
    except AutochronError as error:
        message = str(error)
    else:
        return
    pytest.fail(message, pytrace=False)  # outside the except block, so that pytest does not print the cause


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Replay or record while a marked test runs. The test fails where replay and record disagree."""
    session = item.stash.get(SESSION, None)
    if session is None:
        return (yield)
    item.config.stash[_running] = session
    item.autochron_replay = session.handle  # type: ignore[attr-defined]  # for `incident.pytest_witness`
    session.begin()
    try:
        result = yield
    except BaseException as error:
        session.end(error)
        raise
    # The item of a unittest.TestCase keeps the failure and does not raise it.
    failed = getattr(item, "_excinfo", None)
    session.end(failed[0].value if failed else None)
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the tree of crossings to the report of a test that failed, and the lines for the terminal summary to any report."""
    session = item.stash.get(SESSION, None)
    if call.excinfo is not None and "autochron.instrument.activation" in sys.modules:
        from autochron.pytest_plugin.tracebacks import trim  # lazy: only where something is woven

        is_ours = session is not None and session.raised is call.excinfo.value
        trim(
            call.excinfo.value,
            ours=session is not None and not is_ours and not item.config.getoption("fulltrace"),
        )
    report = yield
    if session is None or call.when != "call":
        return report
    from autochron.pytest_plugin.report_sections import (
        lines_of,
        section_of,
        without_traceback,
    )  # lazy: with the first marker

    if report.failed or hasattr(report, "wasxfail"):
        if report.longrepr is not None and call.excinfo is not None and session.raised is call.excinfo.value:
            report.longrepr = without_traceback(call.excinfo, item)
        report.sections.append(("autochron replay", section_of(session)))
        folder = item.config.getoption("--autochron-html")
        if folder and report.failed:
            from autochron.pytest_plugin.failure_pages import (
                write_failure_page,
            )  # lazy: only where pages are wanted

            said = write_failure_page(
                session, item.nodeid, report, os.path.join(item.config.invocation_params.dir, folder)
            )
            report.sections.append(("autochron page", said))
    report.autochron = lines_of(session)  # type: ignore[attr-defined]  # an attribute of the report travels from an xdist worker
    return report


# --- terminal summary ----------------------------------------------------------------------------------------------------


class _Summary:
    """Collects the summary lines of all tests of one pytest run and prints them at its end."""

    def __init__(self) -> None:
        self._lines: list[tuple[str, str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the lines of one test, which may have run in an xdist worker."""
        if report.when == "call":
            self._lines.extend((report.nodeid, *line) for line in getattr(report, "autochron", ()))

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> None:
        """Print the lines. Notices are printed only with `-v`."""
        is_verbose = config.get_verbosity() > 0
        lines = [(node, text) for node, severity, text in self._lines if severity != "notice" or is_verbose]
        if lines:
            terminalreporter.section("autochron", sep="=", blue=True)
            for node, text in lines:
                terminalreporter.line(f"{node}: {text}")


def pytest_assertrepr_compare(
    config: pytest.Config, op: str, left: object, right: object
) -> Sequence[str] | None:
    """Explain a failed `==` between crossings, or a crossing's result, and the expected value."""
    session = config.stash.get(_running, None)
    if session is None or op != "==":
        return None
    from autochron.pytest_plugin.report_sections import compared  # lazy: with the first marker

    return compared(session, left, right)
