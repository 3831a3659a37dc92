"""Cached woven code is used only for exactly the code that Python would run, whichever tool changed it or name it has."""

import os
import sys

import pytest

from tests.cli.processes import autochron, finish, python, start, write
from tests.compose.desk import WORK, forget_bytecode, make, names_in

pytestmark = pytest.mark.slow


@pytest.fixture
def run(tmp_path):
    """Return a function that runs `autochron run WORD …` with a cache of its own, and returns the output and the report."""

    def run_once(*words, by=autochron, status=0):
        ran = by(tmp_path, "run", *words, env={"AUTOCHRON_CACHE": str(tmp_path / "cache")})
        assert ran.status == status, ran.said
        return ran.text, ran.said

    return run_once


TOOLS_OF_OTHERS = {
    "source_to_code of the class": """
original = external.SourceLoader.source_to_code
def source_to_code(self, data, path, *more, **named):
    return original(self, data.replace(b"amount * 2", b"amount * 5"), path, *more, **named)
external.SourceLoader.source_to_code = source_to_code
""",
    "get_data of the class": """
original = external.FileLoader.get_data
def get_data(self, path):
    if path.endswith(".pyc"):
        raise OSError(path)
    return original(self, path).replace(b"amount * 2", b"amount * 5")
external.FileLoader.get_data = get_data
""",
    "get_code of the class": """
original = external.SourceLoader.get_code
def get_code(self, name):
    code = original(self, name)
    if name != "desk":
        return code
    with open(code.co_filename, "rb") as file:
        return compile(file.read().replace(b"amount * 2", b"amount * 5"), code.co_filename, "exec")
external.SourceLoader.get_code = get_code
""",
    "a loader": """
class Loader(external.SourceFileLoader):
    def get_code(self, name):
        return self.source_to_code(self.get_data(self.path).replace(b"amount * 2", b"amount * 5"), self.path)
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "desk":
            import importlib.util
            return importlib.util.spec_from_loader(name, Loader(name, FOLDER + "/desk.py"))
sys.meta_path.insert(0, Finder)
""",
    "a loader's own attribute": """
def changed(data, path):
    return compile(data.replace(b"amount * 2", b"amount * 5"), path, "exec", dont_inherit=True)
original = external.FileFinder.find_spec
def find_spec(self, name, target=None):
    spec = original(self, name, target)
    if name == "desk":
        spec.loader.source_to_code = changed
    return spec
external.FileFinder.find_spec = find_spec
""",
}
"""Each tool changes desk.py on import, so that it pays five times instead of twice the amount."""

PREAMBLE = "import importlib._bootstrap_external as external, os, sys\nsys.dont_write_bytecode = True\nFOLDER = os.getcwd()\n"
BEFORE = "\nimport autochron.cli\nsys.argv[0] = 'autochron'\nautochron.cli.main(sys.argv[1:])\n"


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("tool", TOOLS_OF_OTHERS)
def test_a_tool_that_changes_code_in_some_runs_only_does_not_confuse_the_cache(tmp_path, run, tool, order):
    """The source is the same and the code differs. Code cached for one is never run for the other."""
    program = "import desk\n\nif __name__ == '__main__':\n    desk.work()\n"
    make(tmp_path, {"agent.py": program, "desk.py": WORK})
    hook = PREAMBLE.replace("sys.dont_write_bytecode = True\n", "") + TOOLS_OF_OTHERS[tool]
    write(tmp_path, {"first.py": hook + BEFORE, "with.py": f"{hook}\nimport agent\nagent.desk.work()\n"})
    first = lambda folder, *words, env: python(folder, "first.py", *words, env=env)
    changed = lambda: run("agent.py", by=first) if order == "before" else run("with.py")

    for attempt in (changed, lambda: run("agent.py")) * 2:
        # Keeping bytecode apart is the responsibility of the other tool.
        forget_bytecode(tmp_path)
        printed, report = attempt()
        assert printed == ("3 15\n" if attempt is changed else "3 6\n"), report
        assert names_in(report) == ["add ×1", "pay ×1"]


def test_a_file_replaced_by_one_of_the_same_size_and_time_is_woven_anew(tmp_path, run):
    make(tmp_path, {"agent.py": "import desk\ndesk.work()\n"})
    replacement = tmp_path / "replacement.py"
    for factor in (2, 5, 7, 2):
        replacement.write_text(WORK.replace("amount * 2", f"amount * {factor}"))
        os.utime(replacement, ns=(10**18, 10**18))
        os.replace(replacement, tmp_path / "desk.py")
        forget_bytecode(tmp_path)
        for _ in range(2):
            assert run("agent.py")[0] == f"3 {3 * factor}\n"


def test_stale_bytecode_that_python_takes_for_current_is_run_and_not_cached(tmp_path, run):
    make(tmp_path, {"agent.py": "import desk\ndesk.work()\n"})
    for factor in (2, 5):
        write(tmp_path, {"desk.py": WORK.replace("amount * 2", f"amount * {factor}")})
        os.utime(tmp_path / "desk.py", ns=(10**18, 10**18))
        printed, report = run("agent.py")
        assert printed == python(tmp_path, "agent.py").text == "3 6\n"
    assert "desk: Python runs bytecode that does not match" in report
    forget_bytecode(tmp_path)
    printed, report = run("agent.py")
    assert (printed, "bytecode" in report) == ("3 15\n", False)


def test_a_method_of_a_program_is_bound_in_main_and_as_an_imported_module(tmp_path, run):
    """A rule for a method of a program finds it in `__main__`, and in its module if another program imports it."""
    till = "class Till:\n    def pay(self, amount):\n        return amount\n\n"
    files = {
        "agent.py": till + "import desk\n\nif __name__ == '__main__':\n    print(desk.act(Till()))\n",
        "desk.py": "def act(till):\n    return till.pay(3)\n",
        "other.py": "import agent, desk\nprint(desk.act(agent.Till()))\n",
    }
    write(tmp_path, files)
    rules = (
        'version = 1\npacks = []\n[[boundary]]\nname = "pay"\nkind = "tool"\ncall = "agent.Till.pay(...)"\n'
    )
    write(tmp_path, {"autochron.toml": rules})
    for words in (["agent.py"], ["other.py"], ["-m", "agent"], ["agent.py"], ["-m", "other"]):
        printed, report = run(*words)
        assert (printed, names_in(report)) == ("3\n", ["pay ×1"]), (words, report)
    # Both at once, as two different classes.
    write(tmp_path, {"agent.py": files["agent.py"] + "    import agent\n    print(desk.act(agent.Till()))\n"})
    for words in (["agent.py"], ["-m", "agent"]):
        printed, report = run(*words)
        assert (printed, "pay ×2" in report) == ("3\n3\n", True), (words, report)


def test_a_module_that_is_imported_under_two_names_is_woven_by_name(tmp_path, run):
    make(tmp_path, {"shop/desk.py": WORK, "shop/__init__.py": ""}, "shop.desk")
    write(
        tmp_path,
        {
            "by_package.py": "import shop.desk\nshop.desk.work()\n",
            "by_path.py": "import sys; sys.path.insert(0, 'shop')\nimport desk\ndesk.work()\n",
            "both.py": "import sys; sys.path.insert(0, 'shop')\nimport desk, shop.desk\ndesk.work()\nshop.desk.work()\n",
        },
    )
    for _ in range(2):
        assert names_in(run("by_package.py")[1]) == ["add ×1", "pay ×1"]
        assert names_in(run("by_path.py")[1]) == ["add ×1"]  # the rule names shop.desk
        assert "add ×2, pay ×1" in run("both.py")[1]


def test_a_file_that_changes_while_it_is_loaded_is_cached_with_its_old_content(tmp_path):
    """Code that was woven before the change must not be cached for the new content of the file."""
    program = """
import os, sys
import autochron
from autochron.weaving import hook

weave = hook.Hook._try_to_weave
def slowly(self, name, file, code):
    if name == "desk" and sys.argv[1:] == ["change"]:
        with open(file) as source:
            text = source.read()
        with open(file, "w") as source:
            source.write(text.replace("amount * 2", "amount * 5"))
        os.utime(file, (10**9, 10**9))
    return weave(self, name, file, code)
hook.Hook._try_to_weave = slowly
with autochron.record(store="memory:"):
    import desk
    desk.work()
"""
    make(tmp_path, {"agent.py": program, "desk.py": WORK})
    env = {"AUTOCHRON_CACHE": str(tmp_path / "cache")}
    printed = [
        finish(start([sys.executable, "agent.py", *more], tmp_path, env=env)).text
        for more in (["change"], [], [])
    ]
    assert printed == ["3 6\n", "3 15\n", "3 15\n"]


COUNTING = """
import ast, autochron

parse, parsed = ast.parse, []

def counting(source, *rest, **more):
    if "def act" in str(source):
        parsed.append(source)
    return parse(source, *rest, **more)

ast.parse = counting
with autochron.record(store="memory:"):
    import desk
    print(len(parsed))  # before the report of the run, which looks for what a rule may have meant
"""


def test_a_module_without_a_match_is_parsed_once(tmp_path):
    desk = "TOOLS = {}\n\n\ndef act(name):\n    return TOOLS[name], name.format()\n"
    make(tmp_path, {"agent.py": COUNTING, "desk.py": desk})
    env = {"AUTOCHRON_CACHE": str(tmp_path / "cache")}
    printed = [python(tmp_path, "agent.py", env=env).text for _ in range(2)]
    assert printed == ["1\n", "0\n"]
