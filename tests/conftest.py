"""What all tests share: the markers `slow` and `thorough`, hypothesis without a deadline, and signals."""

import os
import random
import signal
from pathlib import Path

import certifi
import hypothesis
import pytest

# On a busy machine a deadline fails tests that are right. It adds to the profile in use, so that CI's stays.
hypothesis.settings.register_profile("autochron", hypothesis.settings(), deadline=None)
hypothesis.settings.load_profile("autochron")


# A build that a shell started in the background inherits signals ignored, and so would each program that a test starts. A
# handler isn't inherited: programs start with the default.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda *_: None)


def pytest_configure(config: pytest.Config) -> None:
    """Keep plans apart from those of whoever runs the tests; each worker of pytest-xdist has the same folder."""
    # With a seed of hashes set, `autochron run` need not start Python a second time; test_seeds.py sees to where it does.
    os.environ.setdefault("PYTHONHASHSEED", str(random.SystemRandom().randrange(1, 1 << 32)))
    os.environ["AUTOCHRON_CACHE"] = str(config.rootpath / ".pytest_cache" / "woven")
    os.environ["XDG_CONFIG_HOME"] = str(config.rootpath / ".pytest_cache" / "settings")
    # Plugins of others, which the venv holds for the packs: a pytest that tests start would take a third longer with them.
    os.environ["PYTEST_ADDOPTS"] = "-p no:ddtrace -p no:langsmith_plugin"
    os.environ["SSL_CERT_FILE"] = one_authority(config.rootpath / ".pytest_cache")


def one_authority(folder: Path) -> str:
    """Write a file with a single certificate authority.

    Each client of an SDK loads all of them, 25 ms of the processor's; thousands are made here, and none ever meets TLS.
    """
    file = folder / "authority.pem"
    if not file.is_file():
        end = "-----END CERTIFICATE-----\n"
        folder.mkdir(exist_ok=True)
        written = folder / f"authority.{os.getpid()}"  # by each worker, and then in one step
        written.write_text(certifi.contents().partition(end)[0] + end, encoding="utf-8")
        written.replace(file)
    return str(file)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked slow, too (as CI=true does)")
    parser.addoption(
        "--slow-in", help="of the slow tests, run only those in these folders of tests/, with commas between"
    )
    parser.addoption(
        "--thorough", action="store_true", help="run every test: also those too long for each build"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    only = tuple(f"tests/{name}/" for name in (config.getoption("--slow-in") or "").split(",") if name)
    thorough = config.getoption("--thorough")
    slow = thorough or config.getoption("--slow") or os.environ.get("CI", "").lower() == "true"
    for item in items:
        if "thorough" in item.keywords and not thorough:
            item.add_marker(pytest.mark.skip(reason="thorough: needs --thorough"))
        elif "slow" in item.keywords and not slow:
            item.add_marker(pytest.mark.skip(reason="slow: needs --slow or CI=true"))
        elif "slow" in item.keywords and only and not item.nodeid.startswith(only):
            item.add_marker(pytest.mark.skip(reason="slow: runs on the default interpreter"))


_AT_START = pytest.StashKey[set[str]]()


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.stash[_AT_START] = at_root(session.config)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail where a test has left something at the root: it worked in the folder of whoever runs the tests."""
    left = sorted(at_root(session.config) - session.config.stash[_AT_START])
    if left and not hasattr(session.config, "workerinput"):
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        reporter.write_line(f"left at the root by a test: {', '.join(left)}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def at_root(config: pytest.Config) -> set[str]:
    """Return the names at the root of the checkout, but for what is hidden: the tools' caches."""
    return {name for name in os.listdir(config.rootpath) if not name.startswith(".")}
