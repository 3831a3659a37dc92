"""Set-up for all tests: the markers `slow` and `thorough`, hypothesis without a deadline, caches, and signals."""

import datetime as dt
import gc
import importlib.metadata
import json
import os
import random
import shutil
import signal
import sys
import tomllib
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import certifi
import hypothesis
import pytest

from tests import late
from tests.agents.footprint import FOLDER, Footprints
from tests.cli import fork_server

# On a busy machine a deadline fails correct tests. This extends the current profile, so CI's settings stay. A build draws
# as many examples as hypothesis does by default, the same each time. Other runs draw half as many, and new ones.
_EXAMPLES = 100 if os.environ.get("CI", "").lower() == "true" else 50
hypothesis.settings.register_profile(
    "autochron", hypothesis.settings(), deadline=None, max_examples=_EXAMPLES
)
hypothesis.settings.load_profile("autochron")


# A build that a shell starts in the background inherits ignored signals, and so would each program that a test starts. A
# handler is not inherited, so with one the programs start with the default.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda *_: None)


_UNUSED_PLUGINS = ("ddtrace", "langsmith_plugin", "hypothesispytest", "typeguard", "anyio", "pytest_cov")
"""Plugins that pytest processes of tests don't need; they would take three quarters of the start-up time."""

_WOVEN = pytest.StashKey[Path]()
_AT_START = pytest.StashKey[set[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Keep the cache of woven code apart from the user's; all workers of pytest-xdist share one folder."""
    # With a hash seed set, `autochron run` needn't start Python a second time. Tests of that start remove it.
    os.environ.setdefault("PYTHONHASHSEED", str(random.SystemRandom().randrange(1, 1 << 32)))
    config.stash[_WOVEN] = config.rootpath / ".pytest_cache" / "woven"
    os.environ["AUTOCHRON_CACHE"] = str(config.stash[_WOVEN] / "session")
    if not hasattr(config, "workerinput"):
        # Most cache entries are for rules of a single test, and each new set of rules searches through all entries.
        shutil.rmtree(config.stash[_WOVEN], ignore_errors=True)
    os.environ["XDG_CONFIG_HOME"] = str(config.rootpath / ".pytest_cache" / "settings")
    os.environ["PYTEST_ADDOPTS"] = " ".join(f"-p no:{name}" for name in _UNUSED_PLUGINS)
    if config.getoption("--fresh"):
        fork_server.is_on = False
    fork_server.kept_in = str(config.stash[_WOVEN] / "modules")
    os.environ["SSL_CERT_FILE"] = one_authority(config.rootpath / ".pytest_cache")


def one_authority(folder: Path) -> str:
    """Write a file with a single certificate authority.

    Each client of an SDK loads all authorities, which takes 25 ms. The tests create thousands of clients and never use TLS.
    """
    file = folder / "authority.pem"
    if not file.is_file():
        end = "-----END CERTIFICATE-----\n"
        folder.mkdir(exist_ok=True)
        written = folder / f"authority.{os.getpid()}"  # each worker writes its own file and then renames it
        written.write_text(certifi.contents().partition(end)[0] + end, encoding="utf-8")
        written.replace(file)
    return str(file)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked slow, too (as CI=true does)")
    parser.addoption(
        "--slow-in", help="of the slow tests, run only those in these folders of tests/, with commas between"
    )
    parser.addoption(
        "--slow-share",
        metavar="N/WORD",
        help="of the slow tests, run one in N; WORD decides which. Those of tests/docs and tests/viewing run in any case",
    )
    parser.addoption(
        "--thorough", action="store_true", help="run every test: also those too long for each build"
    )
    parser.addoption(
        "--fresh", action="store_true", help="start each process anew, none as a fork of one that is ready"
    )
    parser.addoption(
        "--results",
        metavar="NAME",
        help="write what came of the tests, with the date, to tests/results/NAME-PYTHON.json",
    )


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist, which may be switched off
def pytest_xdist_auto_num_workers() -> int:
    """Return two workers more than there are cores: many tests wait for the processes that they start."""
    return len(os.sched_getaffinity(0)) + 2 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 2


def runs_slow_tests(config: pytest.Config) -> bool:
    asked = config.getoption("--thorough") or config.getoption("--slow")
    return bool(asked) or os.environ.get("CI", "").lower() == "true"


ALWAYS = ("tests/docs/", "tests/viewing/")
"""What is in every share: the blocks of the documentation, and the pages in a browser."""


def is_in_share(nodeid: str, share: str) -> bool:
    """Return whether a slow test belongs to a share, `3/WORD`: each test is in one of three, by its name and the word."""
    count, _, word = share.partition("/")
    return nodeid.startswith(ALWAYS) or zlib.crc32(f"{word} {nodeid}".encode()) % int(count) == 0


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    only = tuple(f"tests/{name}/" for name in (config.getoption("--slow-in") or "").split(",") if name)
    thorough = config.getoption("--thorough")
    slow = runs_slow_tests(config)
    share = config.getoption("--slow-share")
    for item in items:
        if "thorough" in item.keywords and not thorough:
            item.add_marker(pytest.mark.skip(reason="thorough: needs --thorough"))
        elif "slow" in item.keywords and not slow:
            item.add_marker(pytest.mark.skip(reason="slow: needs --slow or CI=true"))
        elif "slow" in item.keywords and only and not item.nodeid.startswith(only):
            item.add_marker(pytest.mark.skip(reason="slow: runs on the default interpreter"))
        elif "slow" in item.keywords and share and not thorough and not is_in_share(item.nodeid, share):
            item.add_marker(pytest.mark.skip(reason="slow: in the share of another build"))
    items.sort(key=lambda item: "sdks" in item.keywords or item.nodeid.startswith("tests/packs/"))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, Any, Any]:
    """Switch the garbage collector off while tests are collected: the objects stay, so a search for garbage is a waste."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish(session: pytest.Session) -> None:
    freeze()


def freeze() -> None:
    """Freeze the objects of the tests and libraries: a million objects, which every recording would search through.

    Programs in processes of their own have unfrozen heaps, and tests/weaving/test_frozen_heaps.py covers frozen ones.
    """
    gc.collect()
    gc.freeze()
    gc.collect()  # with little left to look through, what tests leave behind is collected soon


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a test that imports an SDK and is not marked so, except slow ones, of which few run in a developer's build."""
    result = yield
    if not late.are_expected and (imported := late.imported()):
        late.are_expected = True
        if "slow" not in item.keywords:
            pytest.fail(
                f"imports {', '.join(imported)}: mark it `sdks`, so that it runs last (see tests/late.py)"
            )
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Use one cache of woven code per folder of tests, because tests of different folders hardly ever share rules."""
    folder = item.path.relative_to(item.config.rootpath / "tests").parts[0]
    os.environ["AUTOCHRON_CACHE"] = str(item.config.stash[_WOVEN] / folder)
    if "sdks" in item.keywords and not late.are_expected:
        late.are_expected = True
        late.import_all()
        freeze()


@pytest.fixture
def footprints() -> Iterator[Footprints]:
    """Yield the file in which tools of test programs leave footprints."""
    if not FOLDER.is_dir():
        pytest.skip(f"{FOLDER} is not there, and a replay redirects what is written elsewhere")
    file = Footprints()
    yield file
    file.close()


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.stash[_AT_START] = at_root(session.config)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if a test has left a file at the root, because then it worked in the user's folder."""
    left = sorted(at_root(session.config) - session.config.stash[_AT_START])
    if left and not hasattr(session.config, "workerinput"):
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        reporter.write_line(f"left at the root by a test: {', '.join(left)}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Write the results where `--results` asks for them; of the workers of pytest-xdist, only their controller does."""
    name = config.getoption("--results")
    if not name:
        return
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    outcomes = {
        kind: terminalreporter.stats.get(kind, [])
        for kind in ("passed", "failed", "error", "skipped", "xfailed")
    }
    results = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "python": ".".join(map(str, sys.version_info[:3])),
        "tests": {kind: len(reports) for kind, reports in outcomes.items()},
        "folders": by_folder(outcomes),
        "failed": sorted({report.nodeid for kind in ("failed", "error") for report in outcomes[kind]}),
        "libraries": libraries_of_packs(config.rootpath / "rules"),
    }
    if frameworks := tried_frameworks(outcomes):
        results["frameworks"] = frameworks
    file = config.rootpath / "tests" / "results" / f"{name}-{python}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    terminalreporter.write_line(f"results: {file.relative_to(config.rootpath)}")


def by_folder(outcomes: dict[str, list[Any]]) -> dict[str, dict[str, int]]:
    """Return how many tests of each folder passed and failed; of those that ran."""
    counts: dict[str, dict[str, int]] = {}
    for kind, counted in (
        ("passed", "passed"),
        ("xfailed", "passed"),
        ("failed", "failed"),
        ("error", "failed"),
    ):
        for report in outcomes[kind]:
            folder = "/".join(report.nodeid.partition("::")[0].split("/")[1:-1]) or "."
            count = counts.setdefault(folder, {"passed": 0, "failed": 0})
            count[counted] += 1
    return dict(sorted(counts.items()))


def libraries_of_packs(folder: Path) -> dict[str, str]:
    """Return the installed version of each library that a pack is for."""
    versions = {}
    for file in sorted(folder.glob("*.toml")):
        distribution = tomllib.loads(file.read_text(encoding="utf-8"))["pack"].get("distribution")
        try:
            versions[distribution] = importlib.metadata.version(distribution)
        except (importlib.metadata.PackageNotFoundError, ValueError):  # not installed, or the pack names none
            continue
    return versions


def tried_frameworks(outcomes: dict[str, list[pytest.TestReport]]) -> dict[str, dict[str, str]]:
    """Return each framework that tests say they tried: its version, and the worst outcome of its programs on each Python."""
    frameworks: dict[str, dict[str, str]] = {}
    for outcome in ("skipped", "passed", "failed", "error"):
        for report in outcomes[outcome]:
            for name, version, python in (
                value for key, value in getattr(report, "user_properties", ()) if key == "framework"
            ):
                frameworks.setdefault(name, {"version": version})[python] = outcome
    return dict(sorted(frameworks.items()))


def at_root(config: pytest.Config) -> set[str]:
    """Return the names at the root of the checkout, except hidden ones, which are caches of tools."""
    return {name for name in os.listdir(config.rootpath) if not name.startswith(".")}
