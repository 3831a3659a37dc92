"""The report of a replay: the first line counts what was served, opened, invented and live."""

import os
import re
import sys

import pytest

from tests.cli.processes import autochron, write

RULES = """version = 1
packs = []

[[boundary]]
name = "{__name__}"
kind = "tool"
define = "tools:*"
exclude = ["audit"]

[[boundary]]
name = "audit"
kind = "tool"
target = "tools:audit"
observe = true
"""
TOOLS = """
def look_up(item): return item
def audit(item): return item
def order(item): return look_up(item)
"""
AGENT = "import tools\ntools.look_up('mug')\ntools.audit('mug')\ntools.order('cup')\n"


def lay_out(folder, agent=AGENT, *, rules=RULES, env=None):
    write(folder, {"agent.py": agent, "autochron.toml": rules, "tools.py": TOOLS})
    recorded = autochron(folder, "run", "agent.py", env=env)
    return re.search(r"recorded in trace (\w+)", recorded.said)[1]


def first_line(folder, *options, **more):
    return autochron(folder, "replay", "last", *options, **more).said.splitlines()[0]


def test_opened_crossings_are_not_counted_as_served(tmp_path):
    trace = lay_out(tmp_path)
    head = f"crossings of trace {trace} served"
    assert first_line(tmp_path) == f"autochron: the same: 2 {head}, 1 opened, none live, exit status 0"
    live = first_line(tmp_path, "--live", "look_up[2]")
    assert live == (
        f"autochron: as planned: 1 crossing of trace {trace} served, 2 opened, 1 live (look_up[2]), exit status 0"
    )
    assert first_line(tmp_path, "--live", "kind:tool").startswith(f"autochron: as planned: 0 {head}, ")


def test_invented_values_are_not_counted_as_served(tmp_path):
    timed = "import time\ntime.time()\n" + AGENT
    trace = lay_out(tmp_path, timed, rules='ambient = ["clock"]\n' + RULES)
    asks_time = "import time" + TOOLS.replace("return look_up(item)", "return time.time() and item")
    write(tmp_path, {"tools.py": asks_time})
    assert first_line(tmp_path, "--live", "order").startswith(
        f"autochron: as planned: 2 crossings of trace {trace} served, 1 opened, 1 invented, 1 live (order[1]), "
    )


@pytest.mark.parametrize(
    ("recorded", "replayed", "words"),
    [
        (0, 0, "exit status 0"),
        (3, 3, "exit status 3 as when it was recorded"),
        (3, 0, "exit status 0, 3 when it was recorded"),
    ],
)
def test_the_status_of_the_recorded_run_is_named_unless_both_are_0(tmp_path, recorded, replayed, words):
    agent = "import os, sys, tools\ntools.look_up('mug')\nsys.exit(int(os.environ['STATUS']))\n"
    lay_out(tmp_path, agent, env={"STATUS": str(recorded)})
    line = first_line(tmp_path, env={"STATUS": str(replayed)})
    assert line[line.index("exit status") :] == words


LONG = "x" * 90


@pytest.mark.parametrize("long", [LONG, LONG * 30], ids=["longer than the line", "very long"])
def test_the_tree_shows_the_part_of_an_output_line_that_differs(tmp_path, long):
    agent = f"import os, tools\ntools.look_up('mug')\nprint('{long}', 'cost', os.environ['COST'])\n"
    lay_out(tmp_path, agent, env={"COST": "12 dollars"})
    done = autochron(tmp_path, "replay", "last", env={"COST": "17 dollars"})
    first, *_, last = done.said.splitlines()[1:]
    assert (first.startswith("  first: line 1 of the output was '"), len(first) < 500) == (True, True)
    assert "cost 12 dollars', now it is '" in first
    assert last == "standard output line 1: …cost 12 dollars → …cost 17 dollars"


@pytest.mark.skipif(sys.platform != "linux", reason="descriptors are known on Linux")
def test_a_note_says_why_the_descriptor_of_standard_output_is_not_compared(tmp_path):
    lay_out(tmp_path)
    with open(os.devnull, "wb") as nowhere:
        done = autochron(tmp_path, "replay", "last", stdout=nowhere)
    note = "only what Python's streams and os.write write is compared (output)"
    assert f"  note: standard output is /dev/null now: {note}" in done.said.splitlines()


def test_columns_in_the_environment_set_the_width_where_the_output_is_no_terminal(tmp_path):
    lay_out(tmp_path, f"import tools\ntools.look_up('{'mug ' * 100}')\n")
    widths = {
        columns: len(
            autochron(tmp_path, "traces", "show", "last", env={"COLUMNS": columns}).text.splitlines()[2]
        )
        for columns in ("160", "60", "", "0", "wide")
    }
    assert widths == {"160": 160, "60": 60, "": 100, "0": 100, "wide": 100}
