"""`AUTOCHRON_CHILD` is obeyed only if a process of the same user has set it."""

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
def context(tmp_path):
    """Record a program that starts a child process; return the child's context, from its environment variable."""
    rules = RULES + '\n[[boundary]]\nname = "part"\nkind = "tool"\ndefine = "agent_parts:act"\n'
    write(tmp_path, {"agent.py": AGENT, "child.py": CHILD, "agent_parts.py": PARTS, "autochron.toml": rules})
    done = autochron(tmp_path, "run", "agent.py")
    assert (done.status, done.text) == (0, "2\n6\n"), done.said
    assert crossings(tmp_path) == ["act", "part"]
    return json.loads((tmp_path / "told.json").read_text())


def crossings(folder):
    """Return the sorted names of the crossings in the last trace."""
    done = autochron(folder, "traces", "show", "--json", "last")
    return sorted(envelope["name"] for envelope in json.loads(done.text)["envelopes"])


def start_child(folder, context, *flags, **more):
    """Start the child with a value of the variable; check that its output is the same as without it."""
    done = python(folder, *flags, "child.py", env={"AUTOCHRON_CHILD": context, **more})
    assert (done.status, done.text, done.said) == (0, "6\n", ""), done.said


def test_a_context_from_the_parent_is_obeyed(context, tmp_path):
    start_child(tmp_path, json.dumps(context, separators=(",", ":")))
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
def test_a_changed_context_is_ignored(context, tmp_path, change):
    start_child(tmp_path, json.dumps({**context, **change}, separators=(",", ":")))
    assert crossings(tmp_path) == ["act", "part"]
    assert not (tmp_path / "other.db").exists()


@pytest.mark.parametrize(
    "variable",
    ["", "{", "[]", "null", '{"mode":"replay"}', "\udcff", '{"mode":"record","process":1,"place":"x"}'],
)
def test_a_malformed_context_is_ignored(tmp_path, variable):
    write(tmp_path, {"child.py": CHILD, "agent_parts.py": PARTS})
    start_child(tmp_path, variable)


@pytest.mark.parametrize("flag", ["-I", "-E"])
def test_a_context_is_ignored_where_python_ignores_the_environment(context, tmp_path, flag):
    if flag == "-I":
        (tmp_path / "child.py").write_text(PARTS + "print(act(5))\n")
    start_child(tmp_path, json.dumps(context, separators=(",", ":")), flag)
    assert crossings(tmp_path) == ["act", "part"]


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o777])
def test_a_context_is_ignored_if_others_can_read_its_key(context, tmp_path, mode):
    copy = tmp_path / "user.key"
    copy.write_bytes(Path(context["key"]).read_bytes())
    copy.chmod(mode)
    start_child(tmp_path, json.dumps({**context, "key": str(copy)}, separators=(",", ":")))
    assert crossings(tmp_path) == ["act", "part"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a set-uid process")
def test_a_set_uid_process_ignores_the_context(context, tmp_path):
    code = (
        "import os, sys\n"
        "os.setresuid(65534, 0, 0)\n"
        "from autochron.program import bootstrap as child\n"
        "child._started.clear()\n"
        "child.start()\n"
        "print('autochron.program.join' in sys.modules)\n"
    )
    environment = {**os.environ, "AUTOCHRON_CHILD": json.dumps(context, separators=(",", ":"))}
    quiet = {key: value for key, value in environment.items() if key != "AUTOCHRON_CHILD"}
    done = subprocess.run(
        [sys.executable, "-c", f"import os\nos.environ.update({environment!r})\n{code}"],
        cwd=tmp_path, env=quiet, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "False\n"
