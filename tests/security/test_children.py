"""`AUTOCHRON_CHILD` is heeded only where a process of the user has set it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.processes import autochron, python, write
from tests.security.agents import RULES

AGENT = """
import os, subprocess, sys

def act(n):
    return n + 1

print(act(1), flush=True)
open("told.json", "w").write(os.environ["AUTOCHRON_CHILD"])
subprocess.run([sys.executable, "child.py"], check=True)
"""
CHILD = "import agent_parts\nprint(agent_parts.act(5))\n"
PARTS = "def act(n):\n    return n + 1\n"


@pytest.fixture
def told(tmp_path):
    """Record a program that starts a process; give what that was told."""
    rules = RULES + '\n[[boundary]]\nname = "part"\nkind = "tool"\ndefine = "agent_parts:act"\n'
    write(tmp_path, {"agent.py": AGENT, "child.py": CHILD, "agent_parts.py": PARTS, "autochron.toml": rules})
    done = autochron(tmp_path, "run", "agent.py")
    assert (done.status, done.text) == (0, "2\n6\n"), done.said
    assert crossings(tmp_path) == ["act", "part"]
    return json.loads((tmp_path / "told.json").read_text())


def crossings(folder):
    """List what the last trace holds."""
    done = autochron(folder, "traces", "show", "--json", "last")
    return sorted(each["name"] for each in json.loads(done.text)["envelopes"])


def start_again(folder, told, *flags, **more):
    """Start the child with what somebody told it; it always does what it does alone."""
    done = python(folder, *flags, "child.py", env={"AUTOCHRON_CHILD": told, **more})
    assert (done.status, done.text, done.said) == (0, "6\n", ""), done.said


def test_what_a_parent_said_is_believed(told, tmp_path):
    start_again(tmp_path, json.dumps(told, separators=(",", ":")))
    assert crossings(tmp_path) == ["act", "part", "part"]


@pytest.mark.parametrize(
    "change",
    [
        {"tag": ""},
        {"tag": "0" * 32},
        {"place": "other.db"},
        {"rules": "evil.toml"},
        {"key": ""},
        {"key": "user.key"},
        {"mode": "replay"},
        {"process": 1},
    ],
    ids=lambda change: "-".join(change),
)
def test_what_anybody_else_says_is_not_heeded(told, tmp_path, change):
    start_again(tmp_path, json.dumps({**told, **change}, separators=(",", ":")))
    assert crossings(tmp_path) == ["act", "part"]
    assert not (tmp_path / "other.db").exists()


@pytest.mark.parametrize(
    "said",
    ["", "{", "[]", "null", '{"mode":"replay"}', "\udcff", '{"mode":"record","process":1,"place":"x"}'],
)
def test_what_means_nothing_is_not_heeded(tmp_path, said):
    write(tmp_path, {"child.py": CHILD, "agent_parts.py": PARTS})
    start_again(tmp_path, said)


@pytest.mark.parametrize("flag", ["-I", "-E"])
def test_without_an_environment_nothing_is_heeded(told, tmp_path, flag):
    if flag == "-I":
        (tmp_path / "child.py").write_text(PARTS + "print(act(5))\n")
    start_again(tmp_path, json.dumps(told, separators=(",", ":")), flag)
    assert crossings(tmp_path) == ["act", "part"]


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o777])
def test_a_key_that_others_may_read_is_none(told, tmp_path, mode):
    copy = tmp_path / "user.key"
    copy.write_bytes(Path(told["key"]).read_bytes())
    copy.chmod(mode)
    start_again(tmp_path, json.dumps({**told, "key": str(copy)}, separators=(",", ":")))
    assert crossings(tmp_path) == ["act", "part"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a set-uid process")
def test_a_process_with_more_rights_heeds_nothing(told, tmp_path):
    code = (
        "import os, sys\n"
        "os.setresuid(65534, 0, 0)\n"
        "from autochron.program import bootstrap as child\n"
        "child._started.clear()\n"
        "child.start()\n"
        "print('autochron.program.join' in sys.modules)\n"
    )
    environment = {**os.environ, "AUTOCHRON_CHILD": json.dumps(told, separators=(",", ":"))}
    quiet = {key: value for key, value in environment.items() if key != "AUTOCHRON_CHILD"}
    done = subprocess.run(
        [sys.executable, "-c", f"import os\nos.environ.update({environment!r})\n{code}"],
        cwd=tmp_path, env=quiet, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "False\n"
