"""However a module is run, it is recorded and replayed as after a plain import, or the ledger says why not."""

import py_compile
import zipfile

import pytest

from autochron.diagnostics.woven_tools import uncovered
from autochron.rules.loading import load_rules
from tests.compose.desk import WELL, WORK, make, record_and_replay

pytestmark = pytest.mark.slow

MAIN = WORK + '\n\nif __name__ == "__main__":\n    work()\n'

INSIDE = {
    "plain import": ("desk", {"desk.py": WORK}, "import desk; desk.work()"),
    "package": ("shop", {"shop/__init__.py": WORK}, "from shop import work; work()"),
    "module of a package": (
        "shop.desk",
        {"shop/__init__.py": "from .desk import work\n", "shop/desk.py": WORK},
        "import shop; shop.work()",
    ),
    "namespace package": ("shop.deep.desk", {"shop/deep/desk.py": WORK}, "from shop.deep import desk; desk.work()"),
    "reload": (
        "desk",
        {"desk.py": WORK},
        "import importlib, desk; importlib.reload(desk).work()",
    ),
    "spec from a file": (
        "other",
        {"desk.py": WORK},
        ("from importlib.util import *; s = spec_from_file_location('other', 'desk.py'); m = module_from_spec(s); "
        "s.loader.exec_module(m); m.work()"),
    ),
    "runpy.run_path": ("desk", {"desk.py": WORK}, "import runpy; runpy.run_path('desk.py')['work']()"),
    "runpy.run_path as main": ("desk", {"desk.py": MAIN}, "import runpy; runpy.run_path('desk.py', run_name='__main__')"),
    "runpy.run_path of a folder": (
        "__main__",
        {"desk/__main__.py": WORK + "\n\nwork()\n"},
        "import runpy; runpy.run_path('desk')",
    ),
    "runpy.run_module": ("desk", {"desk.py": MAIN}, "import runpy; runpy.run_module('desk', run_name='__main__')"),
    "runpy.run_module of a package": (
        "shop.__main__",
        {"shop/__init__.py": "", "shop/__main__.py": MAIN},
        "import runpy; runpy.run_module('shop', run_name='__main__', alter_sys=True)",
    ),
    "lazy loader": (
        "desk",
        {"desk.py": WORK},
        ("import sys; from importlib.util import *; s = find_spec('desk'); s.loader = LazyLoader(s.loader); "
        "m = module_from_spec(s); sys.modules['desk'] = m; s.loader.exec_module(m); m.work()"),
    ),
    "the same file under two names": (
        "desk",
        {"desk.py": WORK},
        ("import desk; from importlib.util import *; s = spec_from_file_location('other', 'desk.py'); "
        "m = module_from_spec(s); s.loader.exec_module(m); desk.work()"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", INSIDE)
def test_a_module_that_a_program_runs_is_recorded_and_replayed(way, tmp_path):
    module, files, program = INSIDE[way]
    make(tmp_path, {**files, "agent.py": program + "\n"}, module)
    for _ in range(2 if "names" in way else 1):  # the second time from the cache
        result = record_and_replay(tmp_path, "agent.py")
        assert result[:4] == WELL, result.said


AS_PROGRAM = {
    "script": ("desk", {"desk.py": MAIN}, ["desk.py"]),
    "script elsewhere": ("desk", {"bin/desk.py": MAIN}, ["bin/desk.py"]),
    "module": ("desk", {"desk.py": MAIN}, ["-m", "desk"]),
    "module of a package": ("shop.desk", {"shop/__init__.py": "", "shop/desk.py": MAIN}, ["-m", "shop.desk"]),
    "module of a namespace package": ("shop.desk", {"shop/desk.py": MAIN}, ["-m", "shop.desk"]),
    "package": ("shop.__main__", {"shop/__init__.py": "", "shop/__main__.py": MAIN}, ["-m", "shop"]),
    "folder": ("__main__", {"shop/__main__.py": MAIN}, ["shop"]),
}


@pytest.mark.parametrize("way", AS_PROGRAM)
def test_a_program_is_recorded_and_replayed(way, tmp_path):
    module, files, command = AS_PROGRAM[way]
    make(tmp_path, files, module)
    result = record_and_replay(tmp_path, *command)
    assert result[:4] == WELL, result.said


def zipped(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)


@pytest.mark.parametrize("beside", [True, False], ids=["rules beside", "rules elsewhere"])
def test_a_program_in_an_archive_is_recorded_and_replayed(tmp_path, beside):
    folder = tmp_path / "project"
    make(folder, {}, "__main__")
    zipped(folder / "desk.zip", {"__main__.py": MAIN})
    if beside:
        result = record_and_replay(folder, "desk.zip")
    else:  # the archive alone is the project
        (folder / "autochron.toml").rename(tmp_path / "elsewhere.toml")
        (folder / "deep").mkdir()
        result = record_and_replay(folder, "desk.zip", given=["--rules", str(tmp_path / "elsewhere.toml")])
    assert result[:4] == WELL, result.said


@pytest.mark.parametrize("late_zipimport", [False, True])
def test_modules_of_an_archive_are_recorded_and_replayed(tmp_path, late_zipimport):
    program = "import sys; sys.path.insert(0, 'shop.zip')\n"
    if late_zipimport:  # as if zipimport was first imported after the hook was installed
        program += "import zipimport; sys.path_importer_cache.clear()\n"
    program += "from shop import desk; desk.work()\n"
    make(tmp_path, {"agent.py": program}, "shop.desk")
    zipped(tmp_path / "shop.zip", {"shop/__init__.py": "", "shop/desk.py": WORK})
    result = record_and_replay(tmp_path, "agent.py")
    assert result[:4] == WELL, result.said


@pytest.mark.parametrize("built", ["here", "elsewhere"])
def test_definitions_in_bytecode_without_source_are_woven_and_its_calls_are_in_the_ledger(tmp_path, built):
    folder = tmp_path / "project"
    make(folder, {"agent.py": "import desk; desk.work()\n"})
    source = (folder if built == "here" else tmp_path) / "desk.py"
    source.write_text(WORK)
    py_compile.compile(str(source), cfile=str(folder / "desk.pyc"))
    source.unlink()
    result = record_and_replay(folder, "agent.py")

    assert result[:2] == ("3 6\n", ["pay ×1"])
    assert result.replayed == (0, "3 6\n", "")  # `add` writes on a scratch copy
    assert "desk has no source, so its calls are unknown (autochron.toml:3)" in result.said


def test_rules_of_two_modules_in_a_src_layout_are_told_apart(tmp_path):
    """What a rule names lies in `src`, which no rule and no root says, and which the site of a crossing shows."""
    rules = "version = 1\npacks = []\n"
    for module in ("desk.model", "desk.tools"):
        rules += f'\n[[boundary]]\nname = "{module}"\nkind = "tool"\ndefine = "{module}:*"\n'
    (tmp_path / "autochron.toml").write_text(rules)
    (tmp_path / "src" / "desk").mkdir(parents=True)
    for name, function in (("__init__", ""), ("model", "def ask(): ..."), ("tools", "def pay(): ...")):
        (tmp_path / "src" / "desk" / f"{name}.py").write_text(function)
    loaded = load_rules(str(tmp_path / "autochron.toml"))
    sites = {"src/desk/model.py:ask", "src/desk/tools.py:pay"}
    assert uncovered(sites, loaded) == set()
    assert uncovered({"src/desk/tools.py:gone"}, loaded) == {"src/desk/tools.py:gone"}


def test_bytecode_of_another_python_defines_nothing(tmp_path):
    source = tmp_path / "desk.py"
    source.write_text("def add(a, b):\n    return a + b\n")
    (tmp_path / "autochron.toml").write_text(
        'version = 1\npacks = []\n\n[[boundary]]\nname = "add"\nkind = "tool"\ntarget = "desk:add"\n'
    )
    bytecode = tmp_path / "desk.pyc"
    py_compile.compile(str(source), cfile=str(bytecode))
    source.unlink()
    loaded = load_rules(str(tmp_path / "autochron.toml"))
    assert uncovered(["desk.py:add"], loaded) == set()
    bytecode.write_bytes(b"\x00\x0c\r\n" + bytecode.read_bytes()[4:])  # no Python has this number
    assert uncovered(["desk.py:add"], loaded) == {"desk.py:add"}


def test_code_that_is_passed_to_exec_is_in_the_ledger(tmp_path):
    program = (
        "with open('desk.py') as f: code = compile(f.read(), f.name, 'exec')\n"
        "space = {'__name__': 'desk'}\nexec(code, space)\nspace['work']()\n"
    )
    make(tmp_path, {"agent.py": program, "desk.py": WORK})
    result = record_and_replay(tmp_path, "agent.py")

    assert result[:3] == ("3 6\n", [], "add pay ")
    reason = "desk: its code was run by `exec`, which weaving does not reach, and rules fit 2 of its places"
    assert reason in result.said


def test_code_without_a_match_may_be_passed_to_exec(tmp_path):
    program = (
        "import desk\nexec(compile('x = 1', 'other.py', 'exec'))\nexec(compile('x = 1', __file__, 'exec'))\n"
        "desk.work()\n"
    )
    make(tmp_path, {"agent.py": program, "desk.py": WORK, "other.py": "x = 1\n"})
    result = record_and_replay(tmp_path, "agent.py")

    assert result[:4] == WELL
    assert "exec" not in result.said
