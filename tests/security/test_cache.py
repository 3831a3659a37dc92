"""Woven code is loaded only from the user's own cache folder, and only if autochron wrote it."""

import os
import sys

import pytest

from tests.cli.processes import autochron, finish, start, write
from tests.security.agents import RULES


@pytest.fixture
def project(tmp_path):
    """Return the folder of a program, and the cache folder of its woven code."""
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
    """Run the program, check its result, and return what is written to standard error."""
    words = [sys.executable, "-m", "autochron", "run", "main.py"]
    write(folder, {"main.py": "import agent\n"})
    done = finish(
        start(words, folder, env={"AUTOCHRON_CACHE": str(cache), "PYTHONDONTWRITEBYTECODE": "", **env})
    )
    assert (done.status, done.text) == (0, "2\n"), done.said
    assert "act" in autochron(folder, "traces", "show", "last").text
    return done.said


def entries(cache):
    """List the files in the cache."""
    return sorted(file for file in cache.rglob("*") if file.is_file())


def test_the_cache_folder_is_closed_to_other_users(project):
    run(*project)
    assert entries(project[1])
    assert {oct(folder.stat().st_mode & 0o777) for folder in [project[1], *project[1].iterdir()]} == {"0o700"}


def plant_code(cache):
    """Replace the code in each cache entry by code with an effect, and keep the old signature."""
    import marshal

    code = compile("open('owned', 'w')\ndef act(n): return n\n", "agent.py", "exec")
    for file in entries(cache):
        data = file.read_bytes()
        head, content = data[:32], data[32:]
        known, entry = marshal.loads(content)
        changed = marshal.dumps((known, (entry[0], entry[1], code, (), [])))
        file.write_bytes(head + changed)


def test_a_cache_entry_that_was_replaced_is_not_loaded(project):
    folder, cache = project
    run(folder, cache)
    plant_code(cache)
    run(folder, cache)
    assert not (folder / "owned").exists()


def test_a_cache_entry_that_was_signed_with_another_key_is_not_loaded(project, tmp_path):
    folder, cache = project
    run(folder, cache, XDG_CONFIG_HOME=str(tmp_path / "theirs"))
    before = {file: file.read_bytes() for file in entries(cache)}
    run(folder, cache, XDG_CONFIG_HOME=str(tmp_path / "ours"))
    assert {file: file.read_bytes() for file in before} != before


@pytest.mark.parametrize("mode", [0o755, 0o777, 0o770])
def test_a_cache_folder_open_to_others_is_reported_and_not_used(project, mode):
    folder, cache = project
    cache.mkdir()
    cache.chmod(mode)
    errors = run(folder, cache)
    assert "is not used: it is open to others; make it your own with mode 0700 (unsafe-cache)" in errors
    assert entries(cache) == []


def test_a_cache_folder_that_is_a_link_is_reported_and_not_used(project, tmp_path):
    folder, cache = project
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    cache.symlink_to(tmp_path / "elsewhere")
    assert "is not used: it is a link; name a folder (unsafe-cache)" in run(folder, cache)
    assert entries(tmp_path / "elsewhere") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_cache_folder_of_another_user_is_reported_and_not_used(project):
    folder, cache = project
    run(folder, cache)
    for path in [cache, *cache.rglob("*")]:
        os.chown(path, 65534, 65534)
    assert "is not used: it belongs to another user" in run(folder, cache)


def test_a_cache_entry_that_is_a_link_is_not_read(project, tmp_path):
    folder, cache = project
    run(folder, cache)
    for file in entries(cache):
        target = tmp_path / file.name
        file.rename(target)
        file.symlink_to(target)
    run(folder, cache)
    assert not any(file.is_symlink() for file in entries(cache))
