"""Files stay what they are: line ends, encodings, byte order marks, modes and links; and it is all or nothing."""

import os
import stat
import subprocess
import sys
import tomllib

import pytest

from autochron.adopt import adoption as adopting
from autochron.adopt.adoption import carry_out, plan
from autochron.cli.adopt import adopt
from autochron.errors import AdoptionError, RuleError, UsageError
from tests.adopt.workshop import adopted, contents, tables, write

MARKED = 'from chronicle import boundary\n\n@boundary("a", kind="tool")\ndef f(x):\n    return x\n'
PLAIN = "def f(x):\n    return x\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (MARKED.replace("\n", "\r\n").encode(), PLAIN.replace("\n", "\r\n").encode()),
        (b"\xef\xbb\xbf" + MARKED.encode(), b"\xef\xbb\xbf" + PLAIN.encode()),
        (b"# coding: latin-1\nX = '\xe9'\n" + MARKED.encode(), b"# coding: latin-1\nX = '\xe9'\n\n" + PLAIN.encode()),
        (MARKED.rstrip("\n").encode(), PLAIN.rstrip("\n").encode()),
        (MARKED.replace("    ", "\t").encode() + b"\n\n# end", PLAIN.replace("    ", "\t").encode() + b"\n\n# end"),
        (MARKED.encode() + b"\x0c\nY = 1  \n", PLAIN.encode() + b"\x0c\nY = 1  \n"),
    ],
    ids=["CRLF", "byte order mark", "encoding cookie", "no newline at the end", "tabs", "form feed"],
)  # fmt: skip
def test_the_bytes_around_a_mark_are_kept(tmp_path, source, expected):
    write(tmp_path, {"agent.py": source})
    adopted(tmp_path)
    assert (tmp_path / "agent.py").read_bytes() == expected


def test_a_mode_a_symbolic_link_and_a_hard_link_are_kept(tmp_path):
    write(tmp_path, {"real.py": MARKED, "project/other.py": MARKED.replace("def f", "def g")})
    os.chmod(tmp_path / "real.py", 0o750)
    os.symlink("../real.py", tmp_path / "project/agent.py")
    os.link(tmp_path / "project/other.py", tmp_path / "project/same.py")
    carry_out(
        plan(
            [
                str(tmp_path / "real.py"),
                str(tmp_path / "project/agent.py"),
                str(tmp_path / "project/other.py"),
            ]
        )
    )
    assert os.readlink(tmp_path / "project/agent.py") == "../real.py"
    assert (tmp_path / "real.py").read_text() == PLAIN
    assert stat.S_IMODE(os.stat(tmp_path / "real.py").st_mode) == 0o750
    assert (tmp_path / "project/same.py").read_text() == PLAIN.replace("def f", "def g")
    assert os.path.samefile(tmp_path / "project/other.py", tmp_path / "project/same.py")
    assert sorted(os.listdir(tmp_path)) == ["autochron.toml", "project", "real.py"]


@pytest.mark.parametrize("failing", ["one.py", "two.py"])
def test_a_file_that_cannot_be_written_leaves_all_as_they_were(tmp_path, monkeypatch, failing):
    write(tmp_path, {"one.py": MARKED, "two.py": MARKED, "autochron.toml": "version = 1\n"})
    adoption = plan([str(tmp_path)])
    before = contents(tmp_path)
    replace = os.replace

    def failing_replace(source, target):
        if os.path.basename(target) == failing:
            raise OSError(28, "No space left on device", target)
        replace(source, target)

    monkeypatch.setattr("autochron.adopt.sources.os.replace", failing_replace)
    with pytest.raises(AdoptionError, match=r"No space left on device.*nothing was changed"):
        carry_out(adoption)
    assert contents(tmp_path) == before


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path):
    write(tmp_path, {"agent.py": MARKED})
    adoption = plan([str(tmp_path)])
    write(tmp_path, {"agent.py": "x = 1\n"})
    with pytest.raises(AdoptionError, match="was changed meanwhile"):
        carry_out(adoption)
    assert sorted(os.listdir(tmp_path)) == ["agent.py"]
    assert (tmp_path / "agent.py").read_text() == "x = 1\n"


RULES = """\
# Ours, and it stays so.
version = 1     # the format

[[boundary]]
name = "other"   # known
kind = "tool"
define = "tools:*"

[redact]
names = ["desk"]
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_tables_join_the_rules_and_all_else_in_the_file_stays(tmp_path, newline):
    write(tmp_path, {"agent.py": MARKED, "autochron.toml": RULES.replace("\n", newline).encode()})
    adopted(tmp_path)
    data = (tmp_path / "autochron.toml").read_bytes()
    new = '[[boundary]]\nname = "a"\nkind = "tool"\ndefine = "agent:f"\n\n'
    assert data.decode() == RULES.replace("[redact]", f"{new}[redact]").replace("\n", newline)
    assert [table["name"] for table in tables(tmp_path)] == ["other", "a"]


def test_tables_join_pyproject_and_a_table_that_is_there_is_not_written_twice(tmp_path):
    write(
        tmp_path, {"agent.py": MARKED, "pyproject.toml": "[tool.autochron]\nversion = 1\n\n[tool.x]\ny = 1\n"}
    )
    adopted(tmp_path)
    text = (tmp_path / "pyproject.toml").read_text()
    assert tomllib.loads(text)["tool"] == {
        "autochron": {"version": 1, "boundary": [{"name": "a", "kind": "tool", "define": "agent:f"}]},
        "x": {"y": 1},
    }
    write(tmp_path, {"agent.py": MARKED})
    adoption, _ = adopted(tmp_path)
    assert (len(adoption.changes), adoption.tables, (tmp_path / "pyproject.toml").read_text()) == (
        1,
        [],
        text,
    )


def test_a_new_rule_file_lies_at_the_root_of_the_project(tmp_path):
    write(tmp_path, {"pyproject.toml": "", "src/shop/__init__.py": "", "src/shop/tools.py": MARKED})
    carry_out(plan([str(tmp_path / "src/shop/tools.py")]))
    assert [table["define"] for table in tables(tmp_path)] == ["shop.tools:f"]


def test_rules_that_do_not_load_are_told_and_nothing_is_changed(tmp_path):
    write(tmp_path, {"agent.py": MARKED, "autochron.toml": "version = 1\nprojekt = []\n"})
    before = contents(tmp_path)
    with pytest.raises(RuleError, match="projekt"):
        plan([str(tmp_path)])
    assert contents(tmp_path) == before


# --- the command ------------------------------------------------------------------------------------------------------


def test_check_shows_the_difference_and_changes_nothing(tmp_path, monkeypatch, capsys):
    write(tmp_path, {"agent.py": MARKED})
    monkeypatch.chdir(tmp_path)
    before, changed = contents(tmp_path), os.stat(tmp_path).st_mtime_ns
    assert adopt(["--check", "agent.py"]) == 1
    assert (contents(tmp_path), os.stat(tmp_path).st_mtime_ns) == (before, changed)
    shown = capsys.readouterr().out
    assert [line for line in shown.splitlines() if line.startswith(("-", "+"))] == [
        "--- a/agent.py", "+++ b/agent.py", "-from chronicle import boundary", "-", '-@boundary("a", kind="tool")',
        "--- /dev/null", "+++ b/autochron.toml", "+version = 1", "+", "+[[boundary]]", '+name = "a"', '+kind = "tool"',
        '+define = "agent:f"',
    ]  # fmt: skip
    assert adopt(["agent.py"]) == 0
    assert capsys.readouterr().out == "agent.py: 1 mark taken out\nautochron.toml: 1 table added\n"
    assert adopt(["--check", "."]) == 0
    assert capsys.readouterr().out == "nothing to adopt: no mark of Chronicle's\n"


def test_a_refusal_names_each_place_and_the_files_that_can_be_taken(tmp_path, monkeypatch):
    write(
        tmp_path,
        {
            "good.py": MARKED,
            "bad.py": "import chronicle\nchronicle.reset_session()\nchronicle.reset_session()\n",
        },
    )
    monkeypatch.chdir(tmp_path)
    for words in (["."], ["--check", "."]):
        with pytest.raises(AdoptionError) as caught:
            adopt(words)
        assert str(caught.value).splitlines() == [
            "1 file can't be taken over, so nothing was changed:",
            (
                "  ./bad.py:2: chronicle.reset_session is Chronicle's own API, and no mark; `autochron run` records the "
                "whole program (also in line 3)"
            ),
            "these can be: autochron adopt ./good.py (not-adopted)",
        ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "autochron adopt wants files or folders after it"),
        (["absent.py"], "there is no absent.py; name a Python file or a folder"),
        (["--cheque"], "--cheque"),
    ],
)
def test_wrong_words_are_refused(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=message):
        adopt(words)


def test_only_this_command_imports_libcst():
    code = (
        "import sys, autochron.cli, autochron.cli.adopt, autochron.cli.traces, autochron.cli.run\n"
        "print({'libcst', 'tomlkit'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_project_of_many_files_is_read_once(tmp_path, monkeypatch):
    write(tmp_path, {f"many/m{number}.py": "x = 1\n" for number in range(300)} | {"agent.py": MARKED})
    loaded = []
    monkeypatch.setattr(
        adopting.Modules,
        "load",
        lambda self, path, load=adopting.Modules.load: loaded.append(path) or load(self, path),
    )
    adopted(tmp_path)
    assert [os.path.basename(path) for path in loaded] == ["agent.py"]
