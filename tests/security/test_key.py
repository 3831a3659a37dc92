"""A user's key can be read and written by that user alone, and is never in a trace."""

import json
import os
import stat

import pytest

from tests.cli.processes import autochron, python, write
from tests.security.agents import RULES

AGENT = """
def act(password):
    return {"headers": {"authorization": password}}

act("hunter" + "2Xq")
"""
TELL = "from autochron import user_key; print(user_key.key_file()); print(user_key.user_key(b'x'))"


def file_and_key(folder):
    """Return the path of the key file and a derived key, as a new process prints them."""
    places = {"XDG_CONFIG_HOME": str(folder / "settings"), "TMPDIR": str(folder / "temporary")}
    (folder / "temporary").mkdir(exist_ok=True)
    done = python(folder, "-c", TELL, env=places)
    assert done.status == 0, done.said
    return done.text.splitlines()


def test_the_key_is_created_once_and_closed_to_other_users(tmp_path):
    file, key = file_and_key(tmp_path)
    assert file == str(tmp_path / "settings" / "autochron" / "user.key")
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(file)).st_mode) == 0o700
    assert file_and_key(tmp_path) == [file, key]
    assert [*(tmp_path / "temporary").iterdir()] == []


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o602])
def test_a_key_that_others_can_read_or_write_is_not_used(tmp_path, mode):
    file, key = file_and_key(tmp_path)
    os.chmod(file, mode)
    other_file, other_key = file_and_key(tmp_path)
    assert other_file.startswith(str(tmp_path / "temporary"))
    assert stat.S_IMODE(os.stat(other_file).st_mode) == 0o600
    assert other_key != key


def test_a_key_file_that_is_a_link_is_not_used(tmp_path):
    file, key = file_and_key(tmp_path)
    os.rename(file, tmp_path / "moved")
    os.symlink(tmp_path / "moved", file)
    assert file_and_key(tmp_path)[1] != key


def test_the_key_is_never_in_a_trace(tmp_path):
    """Neither is the other key, which the digests of masked values use."""
    write(tmp_path, {"agent.py": AGENT, "autochron.toml": RULES})
    settings = {"XDG_CONFIG_HOME": str(tmp_path / "settings")}
    for words in (
        ["run", "agent.py"],
        ["traces", "export", "last", "trace.jsonl"],
        ["traces", "show", "--json", "last"],
    ):
        done = autochron(tmp_path, *words, env=settings)
        assert done.status == 0, done.said
    keys = [file.read_bytes().strip() for file in (tmp_path / "settings" / "autochron").iterdir()]
    assert len(set(keys)) == len(keys) == 2
    written = [file for file in tmp_path.rglob("*") if file.is_file() and "settings" not in file.parts]
    assert {"traces.db", "trace.jsonl"} <= {file.name for file in written}
    for key in keys:
        for file in written:
            content = file.read_bytes()
            assert key not in content
            assert bytes.fromhex(key.decode()) not in content
        assert key.decode() not in done.text
    assert "[masked]" in json.dumps(json.loads(done.text))
