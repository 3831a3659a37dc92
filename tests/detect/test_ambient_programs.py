"""Programs that ask clocks and chance are the same again on replay: by every way such a call comes about, and in threads."""

import importlib
import sys

import pytest

import autochron
from autochron.instrument.activation import deactivate
from tests.detect.running import cases

PROGRAMS = cases("values")
RULES = """
version = 1
packs = []
ambient = ["clock", "random", "uuid"]

[[boundary]]
name = "{__name__}"
kind = "tool"
define = "program_*:tool_*"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("values")
    (folder / "autochron.toml").write_text(RULES)
    for number, program in enumerate(PROGRAMS.values()):
        (folder / f"program_{number}.py").write_text(program)
    sys.path.insert(0, str(folder))
    yield folder
    deactivate()
    sys.path.remove(str(folder))
    for number in range(len(PROGRAMS)):
        sys.modules.pop(f"program_{number}", None)


def run(name):
    """Run a program from its first line on; its classes are others each time, so what it gives is compared as it shows."""
    sys.modules.pop(name, None)
    return repr(importlib.import_module(name).main())


def again(folder, about, times):
    """Record a program and replay it so many times; give what it gave each time, and what was told."""
    name, rules = f"program_{list(PROGRAMS).index(about)}", folder / "autochron.toml"
    with autochron.record(rules=rules, store="memory:") as recorded:
        given = run(name)
    trace = recorded.trace()
    found, told = [], list(recorded.problems)
    for _ in range(times):
        with autochron.replay(trace, rules=rules, check=False) as replay:
            found.append(run(name))
        told += [each.message for each in replay.divergences]
    return trace, given, found, [each for each in told if "(ambient-secret)" not in each]


@pytest.mark.parametrize("about", PROGRAMS)
def test_a_program_is_the_same_again(folder, about):
    trace, given, found, told = again(folder, about, 2)
    assert (found, told) == ([given] * 2, [])
    assert {each.kind for each in trace.envelopes} <= {"ambient", "tool"}


@pytest.mark.slow
@pytest.mark.parametrize("about", PROGRAMS)
def test_a_program_is_the_same_thirty_times_of_thirty(folder, about):
    _, given, found, told = again(folder, about, 30)
    assert (found, told) == ([given] * 30, [])


def test_without_a_rule_the_same_programs_differ(folder):
    """What is shown above is shown of programs that would differ."""
    rules = folder / "without.toml"
    rules.write_text(RULES.replace('ambient = ["clock", "random", "uuid"]', ""))
    differing = set()
    for number, about in enumerate(PROGRAMS):
        with autochron.record(rules=rules, store="memory:"):
            given = run(f"program_{number}")
        if run(f"program_{number}") != given:
            differing.add(about)
    # Two runs may fall into one second, and poll as often.
    chance = {"fields and texts of the time", "a deadline that is polled"}
    assert set(PROGRAMS) - differing <= {*chance, "wrong arguments say what they always did"}
