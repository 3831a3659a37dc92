"""What large values cost in memory: they are copied twice at most, and none is lost."""

import os
import subprocess
import sys

import pytest

MEGABYTES = 40

RULES = """version = 1
packs = []
[[boundary]]
name = "{__name__}"
kind = "tool"
define = "tools:*"
"""

TOOLS = """
def take(value):
    return len(value)

def give(size):
    return "three word text " * (size // 16)
"""

PROGRAM = """
import sys
import tools

kind, size = sys.argv[1], int(sys.argv[2]) * 1_000_000
value = {
    "text": lambda: "three word text " * (size // 16),
    "run": lambda: "x" * size,
    "bytes": lambda: bytes(range(256)) * (size // 256),
    "list": lambda: ["three word text " * 600 for _ in range(size // 9600)],
    "nested": lambda: {"messages": [{"content": "three word text " * 600} for _ in range(size // 9600)]},
    "given": lambda: None,
}[kind]()
for _ in range(4):
    print(len(tools.give(size)) if kind == "given" else tools.take(value))
"""


def most_memory(folder, *words):
    """Run a program to its end; return what it printed, and the most megabytes that it had."""
    with subprocess.Popen([sys.executable, *words], cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        stdout = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return stdout, used.ru_maxrss / 1024


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        ("text", 1),
        ("nested", 1),
        *(
            pytest.param(*each, marks=pytest.mark.thorough)
            for each in (("run", 1), ("list", 1), ("given", 1))
        ),
        pytest.param("bytes", 4 / 3, marks=pytest.mark.thorough),
    ],
)
def test_four_calls_with_a_large_value_cost_two_copies(kind, stored, tmp_path):
    (tmp_path / "autochron.toml").write_text(RULES)
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "agent.py").write_text(PROGRAM)
    words = ["agent.py", kind, str(MEGABYTES)]
    plain, before = most_memory(tmp_path, *words)
    recorded, after = most_memory(tmp_path, "-m", "autochron", "run", "--quiet", *words)
    assert recorded == plain
    assert after - before <= 64 + 2 * stored * MEGABYTES
    done = subprocess.run(
        [sys.executable, "-m", "autochron", "traces", "list"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout.split("\t")[2] == "4"
