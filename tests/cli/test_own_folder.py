"""Git ignores the folder `.autochron` in a project."""

import subprocess

import pytest

from tests.cli import processes

LIB = "import os\ndef take(path):\n    with open(path) as file:\n        return file.read()\n"
RULES = """version = 1
packs = []
[[boundary]]
name = "{__name__}"
kind = "tool"
define = "lib:take"
"""


def untracked(folder):
    """Return the files that git would add."""
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    done = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard"],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize("words", [("run", "agent.py"), ("check", ".")], ids=["run", "check"])
def test_git_ignores_the_folder(words, tmp_path):
    files = {
        "lib.py": LIB,
        "agent.py": "import lib\nlib.take('data')\n",
        "autochron.toml": RULES,
        "data": "1",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    processes.autochron(tmp_path, *words)
    assert (tmp_path / ".autochron").is_dir()
    assert {name for name in untracked(tmp_path) if not name.startswith("__pycache__/")} == set(files)


def test_a_store_folder_of_another_name_gets_no_gitignore(tmp_path):
    (tmp_path / "agent.py").write_text("")
    (tmp_path / "kept").mkdir()
    processes.autochron(tmp_path, "run", "--store", "kept/traces.db", "agent.py")
    assert not (tmp_path / "kept" / ".gitignore").exists()
