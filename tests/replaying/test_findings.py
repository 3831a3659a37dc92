"""Non-deterministic calls outside boundaries: a replay reports new ones, and Python code can ask for all of them."""

import pytest

import autochron
from autochron.errors import UsageError
from tests.cli.processes import autochron as command
from tests.cli.processes import python, write

AGENT = """\
import random
import time

import autochron

@autochron.boundary("tool", kind="tool")
def tool(n):
    return n + (time.time() < 0)

def main():
    random.random()
    return tool(1)

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def home(tmp_path):
    write(tmp_path, {"agent.py": AGENT})
    return tmp_path


def test_a_replay_reports_unmarked_calls_that_the_recording_did_not_have(home):
    command(home, "run", "--quiet", "agent.py")
    assert "unmarked-call" not in command(home, "replay", "last").said
    write(
        home,
        {"agent.py": AGENT.replace("    random.random()\n", "    random.random()\n    time.monotonic()\n")},
    )
    report = command(home, "replay", "last").said
    assert "not there when it was recorded: time.monotonic at agent.py:12, outside every boundary" in report
    assert "random.random" not in report
    assert "unmarked-call" not in command(home, "replay", "last", "--no-watch").said


def test_no_call_is_new_if_the_recording_was_not_watched(home):
    command(home, "run", "--quiet", "--no-watch", "agent.py")
    assert "unmarked-call" not in command(home, "replay", "last").said


IN_PYTHON = """
import autochron, agent

def found(block):
    return [(str(each.site), each.call, each.covered) for each in block.findings]

with autochron.record("x", store="memory:", watch=True) as recording:
    agent.main()
print(found(recording))
for _ in range(2):
    with autochron.replay(recording.trace(), watch=True) as replay:
        agent.main()
    print(found(replay))
with autochron.replay(recording.trace(), live="tool", watch=True) as replay:
    agent.main()
print(found(replay))
import time
print(type(time.time).__name__)
"""


def test_findings_are_available_in_python(home):
    write(home, {"main.py": IN_PYTHON})
    done = python(home, "main.py")
    outside, inside = ("agent.py:11", "random.random", None), ("agent.py:8", "time.time", "boundary")
    assert done.said == ""
    assert done.text.splitlines() == [
        str([inside, outside]), str([outside]), str([outside]), str([inside, outside]), "builtin_function_or_method",
    ]  # fmt: skip


def test_findings_are_an_error_without_watch():
    with autochron.record("x", store="memory:") as recording:
        pass
    with pytest.raises(UsageError, match="watch=True"):
        _ = recording.findings
    with autochron.replay(recording.trace()) as replay:
        pass
    with pytest.raises(UsageError, match="watch=True"):
        _ = replay.findings
