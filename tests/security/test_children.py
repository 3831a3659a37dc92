"""What `AUTOCHRON_CHILD` and the folder of woven code are believed, and what not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.processes import autochron, finish, python, start, write

RULES = 'version = 1\npacks = []\n\n[[boundary]]\nname = "act"\nkind = "tool"\ndefine = "agent:act"\n'
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


# --- woven code ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path):
    """Give a program, and the folder of its woven code."""
    folder = tmp_path / "project"
    write(
        folder,
        {
            "agent.py": "def act(n):\n    return n + 1\n\nprint(act(1))\n",
            "parts.py": "",
            "autochron.toml": RULES,
        },
    )
    return folder, tmp_path / "cache"


def run(folder, cache, **env):
    """Run the program; give what is said of it."""
    words = [sys.executable, "-m", "autochron", "run", "main.py"]
    write(folder, {"main.py": "import agent\n"})
    done = finish(
        start(words, folder, env={"AUTOCHRON_CACHE": str(cache), "PYTHONDONTWRITEBYTECODE": "", **env})
    )
    assert (done.status, done.text) == (0, "2\n"), done.said
    assert "act" in autochron(folder, "traces", "show", "last").text
    return done.said


def entries(cache):
    """List the entries."""
    return sorted(each for each in cache.rglob("*") if each.is_file())


def test_the_folder_is_closed_to_others(project):
    run(*project)
    assert entries(project[1])
    assert {oct(each.stat().st_mode & 0o777) for each in [project[1], *project[1].iterdir()]} == {"0o700"}


def planted(cache):
    """Replace each entry by one that runs something: woven code of another rule, signed by nobody."""
    import marshal

    code = compile("open('owned', 'w')\ndef act(n): return n\n", "agent.py", "exec")
    for each in entries(cache):
        data = each.read_bytes()
        head, content = data[:32], data[32:]
        known, entry = marshal.loads(content)
        changed = marshal.dumps((known, (entry[0], entry[1], code, (), [])))
        each.write_bytes(head + changed)


def test_what_another_wrote_is_not_loaded(project):
    folder, cache = project
    run(folder, cache)
    planted(cache)
    run(folder, cache)
    assert not (folder / "owned").exists()


def test_what_was_signed_with_another_key_is_not_loaded(project, tmp_path):
    folder, cache = project
    run(folder, cache, XDG_CONFIG_HOME=str(tmp_path / "theirs"))
    before = {each: each.read_bytes() for each in entries(cache)}
    run(folder, cache, XDG_CONFIG_HOME=str(tmp_path / "ours"))
    assert {each: each.read_bytes() for each in before} != before


@pytest.mark.parametrize("mode", [0o755, 0o777, 0o770])
def test_an_open_folder_is_left_alone_and_told_of(project, mode):
    folder, cache = project
    cache.mkdir()
    cache.chmod(mode)
    said = run(folder, cache)
    assert "is not used: it is open to others; let it be yours with mode 0700 (unsafe-cache)" in said
    assert entries(cache) == []


def test_a_link_is_left_alone_and_told_of(project, tmp_path):
    folder, cache = project
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    cache.symlink_to(tmp_path / "elsewhere")
    assert "is not used: it is a link; name a folder (unsafe-cache)" in run(folder, cache)
    assert entries(tmp_path / "elsewhere") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_another_users_folder_is_left_alone_and_told_of(project):
    folder, cache = project
    run(folder, cache)
    for each in [cache, *cache.rglob("*")]:
        os.chown(each, 65534, 65534)
    assert "is not used: it belongs to another user" in run(folder, cache)


def test_an_entry_that_is_a_link_is_not_read(project, tmp_path):
    folder, cache = project
    run(folder, cache)
    for each in entries(cache):
        target = tmp_path / each.name
        each.rename(target)
        each.symlink_to(target)
    run(folder, cache)
    assert not any(each.is_symlink() for each in entries(cache))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a set-uid process")
def test_a_process_with_more_rights_heeds_nothing(told, tmp_path):
    code = (
        "import os, sys\n"
        "os.setresuid(65534, 0, 0)\n"
        "from autochron.session import child\n"
        "child._started.clear()\n"
        "child.start()\n"
        "print('autochron.session.joining' in sys.modules)\n"
    )
    environment = {**os.environ, "AUTOCHRON_CHILD": json.dumps(told, separators=(",", ":"))}
    quiet = {key: value for key, value in environment.items() if key != "AUTOCHRON_CHILD"}
    done = subprocess.run(
        [sys.executable, "-c", f"import os\nos.environ.update({environment!r})\n{code}"],
        cwd=tmp_path, env=quiet, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "False\n"
