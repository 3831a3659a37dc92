"""Test modules and conftests, which pytest rewrites and runs itself, are woven if autochron is active before collection."""

import pytest

from tests.cli.processes import finish, start, write
from tests.compose.desk import WORK
from tests.compose.tools import PYTHON

pytestmark = pytest.mark.slow

ROOT_CONFTEST = """
import atexit, autochron, sys

MODE = sys.argv[-1].removeprefix("--mode=")

def pytest_addoption(parser):
    parser.addoption("--mode")

def pytest_configure(config):
    block = {"record": autochron.record, "replay": autochron.replay}[MODE]("run", store="sqlite:///traces.db")
    config.block = block
    block.__enter__()

def pytest_unconfigure(config):
    config.block.__exit__(None, None, None)
    if MODE == "record":
        trace = config.block.trace()
        print("crossed", [f"{each.name}@{each.site}" for each in trace.envelopes])
        print("unwoven", [f"{each.what}: {each.reason}" for each in trace.footer.ledger])
"""
CONFTEST = (
    WORK.replace("def add", "def subtract_not").replace('{"add": add}', '{"add": subtract_not}')
    + """
import pytest

@pytest.fixture
def paid():
    return pay(5)
"""
)
TEST = (
    WORK
    + """

def test_work(paid):
    assert act("add", {"a": 1, "b": 2}) == 3
    assert pay(3) == 6 and paid == 10


def test_in_an_assertion():
    assert TOOLS["add"](a=2, b=2) == 4
    name = "add"
    assert TOOLS[name](a=2, b=3) == 5
"""
)
RULES = """version = 1
packs = []
project = ["."]
[[boundary]]
name = "{tool}"
kind = "tool"
call = "TOOLS[$tool](...)"
[[boundary]]
name = "{__name__}"
kind = "tool"
define = "**:pay"
"""


@pytest.fixture
def project(tmp_path):
    files = {"conftest.py": ROOT_CONFTEST, "inner/conftest.py": CONFTEST, "inner/test_desk.py": TEST}
    write(tmp_path, {**files, "autochron.toml": RULES, "pytest.ini": "[pytest]\n"})
    return tmp_path


def run(folder, mode, *more):
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *more, "inner", f"--mode={mode}"]
    return finish(start([PYTHON, *words], folder, env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}))


@pytest.mark.parametrize("more", [(), ("--import-mode=importlib",), ("--assert=plain",)], ids=str)
def test_tests_and_conftests_are_recorded_and_replayed(project, more, request):
    times = 2 if not more or request.config.getoption("--thorough") else 1
    for _ in range(times):  # the second time from pytest's own cache
        recorded = run(project, "record", *more)
        assert recorded.status == 0, recorded.text + recorded.said
        lines = recorded.text.splitlines()
        crossed = next(line for line in lines if line.startswith("crossed"))
        unwoven = next(line for line in lines if line.startswith("unwoven"))
        assert "'pay@inner/conftest.py:pay', 'add@inner/test_desk.py:act → TOOLS[$tool](...)'" in crossed
        # An assertion that pytest has rewritten may have no callee to bind. It is then in the ledger.
        inside = crossed.count("test_in_an_assertion → ")
        assert inside + unwoven.count("test_in_an_assertion → ") == 2, recorded.text
        (project / "ran").unlink()
        replayed = run(project, "replay", *more)
        assert (replayed.status, "2 passed" in replayed.text) == (0, True), replayed.text + replayed.said
        ran = (project / "ran").read_text() if (project / "ran").exists() else ""
        assert ran == "add " * (2 - inside)
