"""Woven code is loaded only from a folder of the user's own, and only what autochron wrote there."""

import os
import sys

import pytest

from tests.cli.processes import autochron, finish, start, write
from tests.security.agents import RULES


@pytest.fixture
def project(tmp_path):
    """Return a program, and the folder of its woven code."""
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
    assert "is not used: it is open to others; make it your own with mode 0700 (unsafe-cache)" in said
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
