"""`autochron impact` on programs whose lines are labelled harmful, harmless or untried."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.agents.workshop import Fresh

PROGRAMS = Path(__file__).parent / "programs"
RULES = 'version = 1\npacks = []\n\n[[boundary]]\nname = "send"\nkind = "tool"\ntarget = "boundary:send"\n'
BESIDE = {"imports_kinds": "kinds"}
"""Maps a program to the module of the project that it imports and that has sites of its own."""
NAMES = sorted(
    path.stem for path in PROGRAMS.glob("*.py") if path.stem not in {"agent", "boundary", *BESIDE.values()}
)
BATCHES = [NAMES[at::3] for at in range(3)]


def run(folder, *arguments, **more):
    return Fresh().run(folder, *arguments, **more)


@pytest.fixture
def project(tmp_path):
    (tmp_path / "autochron.toml").write_text(RULES)
    shutil.copy(PROGRAMS / "boundary.py", tmp_path)
    return tmp_path


def labelled(folder, names):
    """Return the labels in the comments of programs, by file and line."""
    return {
        f"{name}.py:{number}": label[1]
        for name in names
        for number, line in enumerate((folder / f"{name}.py").read_text().splitlines(), start=1)
        if (label := re.search(r"# (harmful|harmless|untried)$", line))
    }


def verdict(site):
    if site["untried"] is not None:
        return "untried"
    return "harmless" if site["effect"] is None else "harmful"


def test_there_are_enough_programs():
    assert len(NAMES) >= 25


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(names, marks=[pytest.mark.thorough] if index else [])
        for index, names in enumerate(BATCHES)
    ],
)
def test_no_harmless_site_is_called_harmful_and_every_harmful_one_is_found(project, names):
    beside = [BESIDE[name] for name in names if name in BESIDE]
    for name in (*names, *beside, "agent"):
        shutil.copy(PROGRAMS / f"{name}.py", project)
    assert run(project, "run", "agent.py", *names).status == 0
    result = run(project, "impact", "last", "--json")
    assert result.status == 1, result.stderr
    sites = {
        f"{entry['site']['file']}:{entry['site']['line']}": entry
        for entry in json.loads(result.stdout)["sites"]
    }
    expected = labelled(project, [*names, *beside])
    assert {site: verdict(sites[site]) if site in sites else "unseen" for site in expected} == expected
    assert {verdict(entry) for site, entry in sites.items() if site not in expected} <= {
        "untried",
        "harmless",
    }


AGENT = """
import random, sys, time
from boundary import send

names = {"ann", "bob", "cid", "dan", "eve"}
began = time.time()
send("hello")
print(random.random(), time.time() - began, file=sys.stderr)
"""


@pytest.mark.slow
def test_the_report_is_the_same_each_time_and_later_runs_show_it(project):
    (project / "agent.py").write_text(AGENT + 'send(",".join(names))\n')
    run(project, "run", "agent.py")
    result = run(project, "impact", "last", "-q")
    assert result.status == 1
    assert result.stderr == ""
    lines = result.stdout.decode().splitlines()
    assert lines[:3] == [
        "agent.py:6  clock  time.time  ×1  direct  no effect observed (6 variants)",
        "agent.py:8  random  random.random  ×1  direct  no effect observed (4 variants)",
        "agent.py:8  clock  time.time  ×1  direct  no effect observed (6 variants)",
    ]
    assert lines[3].startswith("agent.py:9  set-order  ")
    assert lines[3].endswith("  HARMFUL: changes send[2] input at text")
    assert lines[5] == "    # sort it: `sorted(...)` has one order in every run"
    assert "autochron: 1 of 4 sites harmful; " in lines[6]
    assert run(project, "impact", "last").stdout == result.stdout
    later_report = run(project, "run", "agent.py").stderr
    assert "agent.py:6  clock  time.time  ×1  direct  no effect observed (6 variants)" in later_report


@pytest.mark.slow
def test_a_project_module_with_the_name_of_a_library_belongs_to_the_project(project):
    (project / "attrs.py").write_text("import random\n\n\ndef roll():\n    return random.random()\n")
    (project / "agent.py").write_text("import attrs\nfrom boundary import send\n\nsend(str(attrs.roll()))\n")
    run(project, "run", "agent.py")
    result = run(project, "impact", "last")
    assert result.stdout.decode().splitlines()[0].endswith("  HARMFUL: changes send[1] input at text")


@pytest.mark.slow
def test_one_site_can_be_tried_alone_and_the_status_is_0_if_none_is_harmful(project):
    (project / "agent.py").write_text(AGENT)
    run(project, "run", "agent.py")
    result = run(project, "impact", "last", "--site", "agent.py:6", "--variants", "6")
    assert result.status == 0
    assert result.stdout.decode().splitlines()[0].endswith("no effect observed (6 variants)")
    missed = run(project, "impact", "last", "--site", "agent.py:2")
    assert missed.status == 2
    assert "no value is asked for at agent.py:2" in missed.stderr


@pytest.mark.slow
def test_a_program_that_polls_a_clock_for_ever_is_ended(project):
    (project / "agent.py").write_text(
        "import time\nfrom boundary import send\n\nsend('x')\nbegan = time.time()\n"
        "while time.time() < began - 3600:\n    pass\n"
    )
    run(project, "run", "agent.py")
    result = run(project, "impact", "last", "--timeout", "2", "--site", "agent.py:5")
    assert result.status == 1
    assert "HARMFUL: the program doesn't end" in result.stdout.decode()


def test_a_program_that_cannot_be_tried_is_refused_in_one_line(project):
    (project / "agent.py").write_text(
        "from boundary import send\n\nwith open('/proc/self/stat') as file:\n    send(file.read())\n"
    )
    run(project, "run", "agent.py")
    unstable = run(project, "impact", "last")
    assert unstable.status == 2
    assert (
        "two replays with the same values are not the same: the second changes send[1] input"
        in unstable.stderr
    )
    assert unstable.stderr.count("\n") == 1
    assert run(project, "impact").status == 2
    few = run(project, "impact", "last", "--variants", "1")
    assert (few.status, few.stderr) == (
        2,
        "autochron: autochron impact: --variants takes a number from 4 to 100, not 1 (usage)\n",
    )


def test_a_refusal_names_the_likely_source_of_the_difference(project):
    (project / "agent.py").write_text(
        "import resource\nfrom boundary import send\n\nsend(resource.getrusage(resource.RUSAGE_SELF))\n"
    )
    run(project, "run", "agent.py")
    result = run(project, "impact", "last")
    assert result.status == 2
    assert "make what it comes from, perhaps resource.getrusage at agent.py:4, a boundary" in result.stderr


def test_a_trace_of_a_block_names_no_program(project):
    (project / "agent.py").write_text(
        "import autochron\nwith autochron.record('blocked'):\n    from boundary import send\n    send('x')\n"
    )
    assert run(project, "agent", module="agent").status == 0
    result = run(project, "impact", "blocked")
    assert result.status == 2
    assert "names no program" in result.stderr
