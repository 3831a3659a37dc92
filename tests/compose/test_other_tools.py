"""beartype, typeguard, coverage and ddtrace work together with autochron, whichever is activated first."""

import contextlib
import functools
import json

import pytest

from tests.cli.processes import autochron, finish, python, start, write
from tests.compose.desk import WELL, WORK, make, names_in, record_and_replay
from tests.compose.tools import PYTHON, needs

pytestmark = pytest.mark.slow

# Each with the number of crossings of a refused call: beartype checks before the function, typeguard inside it.
CHECKING = {
    "beartype": ("from beartype.claw import beartype_package; beartype_package('shop')", 0),
    "typeguard": ("from typeguard import install_import_hook; install_import_hook('shop')", 1),
}
PROBE = """
try:
    pay("three")
except Exception as error:
    print([each.__name__ for each in type(error).__mro__ if each.__module__.partition(".")[0] == TOOL][:1] != [])
else:
    print("unchecked")
"""
FIRST = """
import sys
{hook}
sys.argv[0] = "autochron"
import autochron.cli
autochron.cli.main(sys.argv[1:])
"""
"""Starts autochron after another tool has installed its hook."""


def first(folder, *words, env=None):
    return python(folder, "first.py", *words, env=env)


def ddtrace_run(folder, *words, env=None):
    command = ["-m", "ddtrace.commands.ddtrace_run", PYTHON, "-m", "autochron"]
    return python(folder, *command, *words, env=env)


def shop(folder, agent, tool):
    checked = PROBE.replace("TOOL", repr(tool)) + 'print(act("add", {"a": 1, "b": 2}), pay(3))\n'
    files = {
        "shop/__init__.py": "",
        "shop/desk.py": WORK,
        "agent.py": f"{agent}\nfrom shop.desk import act, pay\n{checked}",
    }
    return make(folder, files, "shop.desk")


@pytest.mark.parametrize(
    ("tool", "order"),
    [
        pytest.param(tool, order, marks=needs(tool))
        for tool in CHECKING
        for order in ("before", "after", "of itself")
        if (tool, order) != ("typeguard", "of itself")  # typeguard has no hook that a package sets for itself
    ],
)
def test_types_are_checked_and_calls_are_recorded(tmp_path, tool, order):
    hook = CHECKING[tool][0]
    inside = {"before": "", "after": hook, "of itself": ""}[order]
    shop(tmp_path, inside, tool)
    if order == "of itself":
        itself = "from beartype.claw import beartype_this_package\nbeartype_this_package()\n"
        write(tmp_path, {"shop/__init__.py": itself})
    write(tmp_path, {"first.py": FIRST.format(hook=hook)})
    run = first if order == "before" else autochron
    result = record_and_replay(tmp_path, "agent.py", by=run)

    assert result.printed == "True\n3 6\n", result.said
    assert f"add ×1, pay ×{1 + CHECKING[tool][1]}" in result.said
    assert (result.ran, result.replayed) == ("add pay ", (0, "True\n3 6\n", "")), result.said


IMPORTED = """
{hook}
from shop.desk import act, pay
import autochron

with autochron.record(store="memory:") as block:
    {probe}
    print(act("add", {{"a": 1, "b": 2}}), pay(3))
print([each.name for each in block.trace().envelopes])
"""


@pytest.mark.parametrize("tool", [pytest.param(tool, marks=needs(tool)) for tool in CHECKING])
def test_modules_that_a_tool_has_changed_before_are_woven_in_place(tmp_path, tool):
    hook, refused = CHECKING[tool]
    shop(tmp_path, "", tool)
    probe = PROBE.replace("TOOL", repr(tool)).strip().replace("\n", "\n    ")
    write(tmp_path, {"block.py": IMPORTED.format(hook=hook, probe=probe)})
    result = python(tmp_path, "block.py")
    assert (result.text, result.said) == (f"True\n3 6\n{['pay'] * refused + ['add', 'pay']}\n", "")


@pytest.mark.parametrize("tool", [pytest.param(tool, marks=needs(tool)) for tool in CHECKING])
def test_code_cached_without_a_tool_is_not_used_with_it(tmp_path, tool):
    """The tool is active in every second run, so the source is the same and the code differs."""
    hook = CHECKING[tool][0]
    for inside, printed in (("", "unchecked"), (hook, "True"), ("", "unchecked"), (hook, "True")):
        source = WORK.replace("amount * 2", "amount * 2 if isinstance(amount, int) else 0")
        shop(tmp_path, inside, tool)
        write(tmp_path, {"shop/desk.py": source})
        result = record_and_replay(tmp_path, "agent.py")
        assert result.printed == f"{printed}\n3 6\n", result.said
        refused = CHECKING[tool][1] if inside else 1
        assert f"add ×1, pay ×{1 + refused}" in result.said
        assert result.replayed == (0, result.printed, "")


# --- coverage ---------------------------------------------------------------------------------------------------------

BRANCHES = (
    WORK
    + """

def choose(n):
    if n > 1:
        return [each for each in range(n) if each % 2]
    elif n:
        try:
            return TOOLS["gone"](a=1)
        except KeyError:
            return None
    return 0


class Till:
    def sell(self): return (yield 1)


def all():
    for n in range(3):
        choose(n)
    list(Till().sell())
    work()
    if not TOOLS:
        return


if __name__ == "__main__":
    all()
"""
)
AGENT = "import desk\n\nif desk:\n    desk.all()\n"
CORES = {
    "ctrace": {"COVERAGE_CORE": "ctrace"},
    "pytrace": {"COVERAGE_CORE": "pytrace"},
    "sysmon": {"COVERAGE_CORE": "sysmon"},
}


def report_of(folder, data):
    """Return coverage's report as `coverage json` writes it, made in this process."""
    import coverage

    with contextlib.chdir(folder):
        reporting = coverage.Coverage(data_file=data)
        reporting.load()
        reporting.json_report(outfile="report.json", include=["agent.py", "desk.py"])
    return json.loads((folder / "report.json").read_text())


def covered(folder, words, env):
    """Run a program under coverage; return its result, and coverage's lines and branches of each file."""
    result = finish(start([PYTHON, "-m", *words], folder, env=env))
    assert result.status == 0, result.said
    keys = ("executed_lines", "missing_lines", "executed_branches", "missing_branches")
    files = report_of(folder, env["COVERAGE_FILE"])["files"]
    return result, {name: {key: lines.get(key) for key in keys} for name, lines in files.items()}


@needs("coverage")
@pytest.mark.parametrize(
    ("branch", "core"),
    [
        pytest.param(
            branch,
            core,
            id=f"{'branches' if branch else 'lines'}-{core}",
            marks=() if branch or core == "ctrace" else pytest.mark.thorough,
        )
        for branch in (False, True)
        for core in CORES
    ],
)
def test_coverage_reports_the_same_lines_and_branches(tmp_path, core, branch):
    make(tmp_path, {"agent.py": AGENT, "desk.py": BRANCHES})
    rules = (tmp_path / "autochron.toml").read_text()
    write(
        tmp_path,
        {
            "autochron.toml": rules
            + '[[boundary]]\nname = "{__name__}"\nkind = "tool"\ndefine = "desk:**"\nexclude = ["pay", "add"]\n'
        },
    )
    env = CORES[core] | {"COVERAGE_FILE": str(tmp_path / "data")}
    options = ["--branch"] if branch else []
    run = ["coverage", "run", *options, "--include=agent.py,desk.py"]
    alone, lines = covered(tmp_path, [*run, "agent.py"], env)
    assert sorted(lines) == ["agent.py", "desk.py"]
    around, lines_around = covered(tmp_path, [*run, "-m", "autochron", "run", "agent.py"], env)
    inside, lines_inside = covered(tmp_path, ["autochron", "run", "-m", *run, "agent.py"], env)

    assert (around.out, inside.out) == (alone.out, alone.out)
    assert [names_in(around.said), names_in(inside.said)] == [["add ×1", "pay ×1"]] * 2
    assert lines_around == lines
    assert lines_inside == lines


@needs("coverage")
@pytest.mark.parametrize("words", [["desk.py"], ["-m", "desk"]], ids=" ".join)
def test_a_program_that_coverage_runs_is_woven(tmp_path, words):
    make(tmp_path, {"desk.py": BRANCHES.replace("    list(Till().sell())\n", "")})
    result = record_and_replay(tmp_path, "-m", "coverage", "run", *words)
    assert result[:4] == WELL, result.said


# --- a tool with threads and fork hooks ---

THREADS = """
import os, threading
os.register_at_fork(before=lambda: print("forks"))
threading.Thread(target=threading.Event().wait, daemon=True).start()
"""


def test_a_tool_with_threads_and_fork_hooks_is_not_disturbed(tmp_path):
    make(tmp_path, {"agent.py": "import desk\ndesk.work()\n", "desk.py": WORK})
    write(tmp_path, {"first.py": FIRST.format(hook=THREADS)})
    result = record_and_replay(tmp_path, "agent.py", by=first)
    assert result[:4] == WELL, result.said


# --- ddtrace ----------------------------------------------------------------------------------------------------------

QUIET = {
    "DD_TRACE_ENABLED": "false",
    "DD_INSTRUMENTATION_TELEMETRY_ENABLED": "false",
    "DD_REMOTE_CONFIGURATION_ENABLED": "false",
    # Otherwise it connects to its agent on import, and a replay refuses every connection.
    "DD_LLMOBS_AGENTLESS_ENABLED": "false",
}


@needs("ddtrace")
@pytest.mark.parametrize("order", ["ddtrace-run", "auto before", "auto after", "loaded between"])
def test_ddtrace_works_in_any_order_with_autochron(tmp_path, order):
    inside = {"auto after": "import ddtrace.auto\n", "loaded between": "import desk, ddtrace.auto\n"}.get(
        order, ""
    )
    make(tmp_path, {"agent.py": f"{inside}import desk\ndesk.work()\n", "desk.py": WORK})
    write(tmp_path, {"first.py": FIRST.format(hook="import ddtrace.auto")})
    # ddtrace names a file after its parent's process id, which is the same for two fresh processes of this one.
    fresh = functools.partial(autochron, fresh=True)
    run = {"ddtrace-run": ddtrace_run, "auto before": first}.get(order, fresh)
    result = record_and_replay(tmp_path, "agent.py", env=QUIET, by=run)
    assert result[:4] == WELL, result.said
