"""`AUTOCHRON_CHILD` is obeyed only if a process of the same user has set it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from autochron import user_key
from autochron.session.children import ChildContext
from autochron.store import open_store
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


def record(folder):
    """Record a program that starts a child process; return the child's context, from its environment variable."""
    rules = RULES + '\n[[boundary]]\nname = "part"\nkind = "tool"\ndefine = "agent_parts:act"\n'
    write(folder, {"agent.py": AGENT, "child.py": CHILD, "agent_parts.py": PARTS, "autochron.toml": rules})
    done = autochron(folder, "run", "agent.py")
    assert (done.status, done.text) == (0, "2\n6\n"), done.said
    assert crossings(folder) == ["act", "part"]
    return json.loads((folder / "told.json").read_text())


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Record the program once, for children that add nothing to its trace; return the folder and the child's context."""
    folder = tmp_path_factory.mktemp("recorded")
    return folder, record(folder)


def crossings(folder):
    """Return the sorted names of the crossings in the last trace."""
    trace = open_store(str(folder / ".autochron" / "traces.db")).load("last")
    return sorted(envelope.name for envelope in trace.envelopes)


def start_child(folder, context, *flags, program="child.py", **more):
    """Start the child with a value of the variable; check that its output is the same as without it."""
    done = python(folder, *flags, program, env={"AUTOCHRON_CHILD": context, **more})
    assert (done.status, done.text, done.said) == (0, "6\n", ""), done.said


def start_ignoring_child(recorded, change, *flags, **more):
    """Start a child with a changed context; check that nothing comes into the trace."""
    folder, context = recorded
    before = crossings(folder)
    start_child(folder, json.dumps({**context, **change}, separators=(",", ":")), *flags, **more)
    assert crossings(folder) == before


def test_a_context_from_the_parent_is_obeyed(tmp_path):
    context = record(tmp_path)
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
def test_a_changed_context_is_ignored(recorded, change):
    other = recorded[0] / "other.db"
    other.unlink(missing_ok=True)  # of the case before, if that has failed
    start_ignoring_child(recorded, change)
    assert not other.exists()


@pytest.mark.parametrize(
    "variable",
    ["", "{", "[]", "null", '{"mode":"replay"}', "\udcff", '{"mode":"record","process":1,"place":"x"}'],
)
def test_a_malformed_context_is_ignored(tmp_path, variable):
    write(tmp_path, {"child.py": CHILD, "agent_parts.py": PARTS})
    start_child(tmp_path, variable)


@pytest.mark.parametrize("flag", ["-I", "-E"])
def test_a_context_is_ignored_where_python_ignores_the_environment(recorded, flag):
    # With -I, Python doesn't import from the program's folder.
    (recorded[0] / "isolated.py").write_text(f"import sys\nsys.path.insert(0, '.')\n{CHILD}")
    start_ignoring_child(recorded, {}, flag, program="isolated.py")


def copy_key(context, copy, named):
    """Copy the user's key; return what another process of the user would change in the context to have the copy used."""
    copy.write_bytes(Path(context["key"]).read_bytes())
    copy.chmod(0o600)
    changed = msgspec.convert({**context, "key": named, "tag": ""}, ChildContext)
    return {"key": named, "tag": user_key.tag_of(b"child process", msgspec.json.encode(changed), str(copy))}


def test_a_context_with_a_copy_of_the_key_is_obeyed(tmp_path):
    context = record(tmp_path)
    change = copy_key(context, tmp_path / "user.key", str(tmp_path / "user.key"))
    start_child(tmp_path, json.dumps({**context, **change}, separators=(",", ":")))
    assert crossings(tmp_path) == ["act", "part", "part"]


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o777])
def test_a_context_is_ignored_if_others_can_read_its_key(recorded, tmp_path, mode):
    change = copy_key(recorded[1], tmp_path / "user.key", str(tmp_path / "user.key"))
    (tmp_path / "user.key").chmod(mode)
    start_ignoring_child(recorded, change)


def test_a_context_is_ignored_if_the_path_of_its_key_is_relative(recorded):
    start_ignoring_child(recorded, copy_key(recorded[1], recorded[0] / "user.key", "user.key"))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a set-uid process")
def test_a_set_uid_process_ignores_the_context(recorded):
    folder, context = recorded
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
        cwd=folder, env=quiet, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "False\n"
