"""The cache of woven code: modules are matched once, and damaged or stale entries are rebuilt."""

import os
import shutil
import sys
import time
from contextlib import suppress
from functools import partial

import pytest

from tests.cli.processes import autochron, finish, start, write

AGENT = """
import desk

print(desk.act("add", {"a": 1, "b": 2}), desk.Till().pay(3))
"""
DESK = """
def add(a, b):
    return a + b


TOOLS = {"add": add}


class Till:
    def pay(self, amount):
        return amount


def act(name, arguments):
    return TOOLS[name](**arguments)
"""
RULES = """version = 1
packs = []
[[boundary]]
name = "{tool}"
kind = "tool"
call = "TOOLS[$tool](...)"
[[boundary]]
name = "{__name__}"
kind = "tool"
define = "desk:Till.*"
[[boundary]]
name = "gone"
kind = "tool"
target = "desk:gone"
[[effect]]
path = "parsed"
reason = "the count of this test"
"""
COUNT = """
import ast, sys

parse, parsed = ast.parse, []

def counting(source, *rest, **more):
    if more.get("mode") != "eval":  # the rules' own patterns
        parsed.append(1)
    return parse(source, *rest, **more)

ast.parse = counting
import autochron.cli

try:
    autochron.cli.main(sys.argv[1:])
finally:
    with open("parsed", "w") as file:
        file.write(str(len(parsed)))
"""


@pytest.fixture
def project(tmp_path):
    return write_project(tmp_path / "project")


@pytest.fixture
def run(project, tmp_path):
    """Return a function that runs the agent, and returns its report and the number of parsed sources."""
    return partial(run_agent, project, tmp_path / "cache")


def write_project(folder):
    folder.mkdir()
    write(folder, {"agent.py": AGENT, "desk.py": DESK, "autochron.toml": RULES, "count.py": COUNT})
    return folder


def run_agent(folder, cache, **variables):
    """Run the agent of a project; return the report and the number of parsed sources."""
    command = [sys.executable, "count.py", "run", "agent.py"]
    ran = finish(start(command, folder, env={"AUTOCHRON_CACHE": str(cache), **variables}))
    assert (ran.status, ran.text) == (0, "3 3\n"), ran.said
    assert "add ×1, pay ×1" in ran.said
    report = [line for line in ran.said.splitlines() if "recorded in trace" not in line]
    return report, int((folder / "parsed").read_text())


def entries(tmp_path):
    return sorted(file for folder in (tmp_path / "cache").iterdir() for file in folder.iterdir())


def test_a_second_run_parses_nothing(run, project):
    first, parsed = run()
    assert parsed == 1  # only desk.py: agent.py contains no word of the rule
    assert run() == (first, 0)
    replayed = autochron(project, "replay", "last")
    assert (replayed.status, replayed.text) == (0, "3 3\n"), replayed.said


@pytest.fixture(scope="module")
def cached(tmp_path_factory):
    """Run the agent of a project once; return the project, its cache, which no test may change, and the report."""
    folder = tmp_path_factory.mktemp("cached")
    project = write_project(folder / "project")
    first, _ = run_agent(project, folder / "cache")
    return project, folder / "cache", first


@pytest.mark.parametrize("damage", [b"", b"autochron-plan-1", b"garbage" * 50, None, "flip", "half"])
def test_a_damaged_entry_is_rebuilt(cached, tmp_path, damage):
    project, cache, first = cached
    run = partial(run_agent, project, shutil.copytree(cache, tmp_path / "cache"))
    for file in entries(tmp_path):
        data = file.read_bytes()
        middle = len(data) // 2
        at = max(data.find(b"amount"), 0) or middle  # of a name, so that the rest can be read as before
        flipped = data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :]
        if damage is None:
            file.unlink()
            file.mkdir()
        else:
            file.write_bytes({"flip": flipped, "half": data[:middle]}.get(damage, damage))
    assert run() == (first, 1)
    assert run() == (first, 1 if damage is None else 0)


def test_a_changed_source_is_parsed_again(run, project):
    first, _ = run()
    source = (project / "desk.py").read_text()
    (project / "desk.py").write_text(source.replace("TOOLS[name]", "(TOOLS[name])"))
    assert run() == (first, 1)
    # A new time alone is no change; new content of the same length and time is one.
    (project / "desk.py").write_text(source.replace("TOOLS[name]", "(TOOLS[name])"))
    assert run() == (first, 0)
    times = os.stat(project / "desk.py")
    (project / "desk.py").write_text(source.replace("TOOLS[name]", " TOOLS[name] "))
    os.utime(project / "desk.py", ns=(times.st_atime_ns, times.st_mtime_ns))
    shutil.rmtree(project / "__pycache__")
    assert run() == (first, 1)


def test_different_rules_have_separate_entries(run, project, tmp_path):
    first, _ = run()
    count = len(entries(tmp_path))
    write(project, {"autochron.toml": RULES.replace("desk:gone", "desk:went")})
    report, parsed = run()
    assert (report, parsed) == ([line.replace("desk:gone", "desk:went") for line in first], 1)
    assert len(entries(tmp_path)) == 2 * count
    write(project, {"autochron.toml": RULES})
    assert run() == (first, 0)


def test_processes_that_run_at_once_do_not_disturb_each_other(project, tmp_path):
    cache = str(tmp_path / "cache")
    command = [sys.executable, "-m", "autochron", "run", "--store", "memory:", "agent.py"]
    for _ in range(3):
        processes = [start(command, project, env={"AUTOCHRON_CACHE": cache}) for _ in range(4)]
        results = [finish(process) for process in processes]
        assert {(result.status, result.text) for result in results} == {(0, "3 3\n")}
        assert all("add ×1, pay ×1" in result.said for result in results)
    assert all("." not in file.name for file in entries(tmp_path))


def test_a_cache_folder_that_cannot_be_created_is_tolerated(run, tmp_path):
    (tmp_path / "file").write_text("")
    first, parsed = run(AUTOCHRON_CACHE=str(tmp_path / "file" / "cache"))
    assert parsed == 1
    assert run(AUTOCHRON_CACHE=str(tmp_path / "file" / "cache")) == (first, 1)


def test_nothing_is_cached_if_python_writes_no_bytecode(project, tmp_path):
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "xdg")}
    command = ["env", "-u", "AUTOCHRON_CACHE", sys.executable, "-m", "autochron", "run", "agent.py"]
    assert finish(start(command, project, env={**home, "PYTHONDONTWRITEBYTECODE": "1"})).status == 0
    assert not (tmp_path / "xdg").exists()
    assert finish(start(command, project, env={**home, "PYTHONDONTWRITEBYTECODE": ""})).status == 0
    assert os.listdir(tmp_path / "xdg" / "autochron") == ["woven"]


def test_entries_that_were_not_used_for_a_month_are_dropped(run, project, tmp_path):
    run()
    old = {file.parent for file in entries(tmp_path)}
    month = time.time() - 31 * 24 * 3600
    for file in entries(tmp_path):
        os.utime(file, (month, month))
    write(project, {"autochron.toml": RULES.replace('"gone"', '"went"')})
    run()
    assert not any(folder.exists() for folder in old)


def test_a_module_without_a_match_keeps_its_code_and_lines(project, tmp_path):
    write(project, {"plain.py": "def f(x):\n    return x\n", "agent.py": AGENT + "import plain, dis\n"})
    check = """
import sys
sys.path.insert(0, ".")
import autochron
with autochron.record(store="memory:", rules="autochron.toml"):
    import plain
with open("plain.py") as file:
    wanted = compile(file.read(), plain.__file__, "exec").co_consts[0]
print(plain.f.__code__ == wanted, plain.f.__code__.co_linetable == wanted.co_linetable)
"""
    for _ in range(2):
        ran = finish(
            start([sys.executable, "-c", check], project, env={"AUTOCHRON_CACHE": str(tmp_path / "cache")})
        )
        assert (ran.text, ran.said) == ("True True\n", "")


def test_slow_weaving_is_announced_on_a_terminal(project, tmp_path):
    source = DESK + "".join(f"\n\ndef f{n}(x):\n    return TOOLS['add'](x, {n})\n" for n in range(1000))
    write(project, {"desk.py": source})
    outputs = [on_a_terminal(project, str(tmp_path / "cache")) for _ in range(2)]
    shown = "autochron: weaving desk (2 modules, 4,019 lines; kept for the next start)"
    assert f"\r{shown}\r{' ' * len(shown)}\r" in outputs[0]
    assert "autochron: weaving" not in outputs[1]


def on_a_terminal(folder, cache):
    parent, child = os.openpty()
    env = {"AUTOCHRON_CACHE": cache, "TERM": "dumb"}
    process = start([sys.executable, "-m", "autochron", "run", "agent.py"], folder, env=env, stderr=child)
    os.close(child)
    output = b""
    with suppress(OSError):  # Linux reports the end of a terminal as an error
        while data := os.read(parent, 65536):
            output += data
    os.close(parent)
    finish(process)
    return output.decode()
