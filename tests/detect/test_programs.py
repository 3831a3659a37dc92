"""What reaches only a public name of a program is ranked last, unless another file may import the program."""

import pytest

from autochron.cli import main

PROGRAM = """\
import json

def lengths(names):
    return {name: len(name) for name in names}

def payload(text):
    return json.dumps(lengths(set(text.split())), sort_keys=True)

print(payload("to be or not to be"))
"""


@pytest.fixture
def strict(tmp_path, monkeypatch):
    """Return a function that writes files, and returns the status of `check --strict` of the first one."""
    monkeypatch.chdir(tmp_path)

    def run(files):
        for name, source in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(source)
        with pytest.raises(SystemExit) as ended:
            main(["check", "--strict", next(iter(files))])
        return ended.value.code

    return run


def test_a_program_that_nothing_mentions_is_its_own_only_user(strict):
    assert strict({"prog.py": PROGRAM}) == 0


@pytest.mark.parametrize(
    "files",
    [
        {"other.py": "from prog import lengths\n"},
        {"tests/test_it.py": "from importlib import import_module\nimport_module('prog')\n"},
        {"pyproject.toml": '[project.scripts]\nx = "prog:lengths"\n'},
    ],
)
def test_a_program_that_another_file_mentions_may_be_used_by_it(strict, files):
    assert strict({"prog.py": PROGRAM, **files}) == 1


def test_a_program_in_a_package_may_be_used_by_anyone(strict):
    assert strict({"pkg/prog.py": PROGRAM, "pkg/__init__.py": ""}) == 1


def test_a_module_that_runs_nothing_is_there_to_be_used(strict):
    assert strict({"prog.py": PROGRAM.replace("print(", "PAYLOAD = (")}) == 1


def test_a_name_that_nothing_in_the_program_uses_is_for_others(strict):
    source = "def names(text):\n    return list(set(text.split()))\n\nprint('ready')\n"
    assert strict({"prog.py": source}) == 1
