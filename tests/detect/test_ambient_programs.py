"""Programs that read clocks and random values give the same results on a replay, for every kind of call and in threads."""

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
    """Import a program anew, and return the `repr` of its result, because its classes are different each time."""
    sys.modules.pop(name, None)
    return repr(importlib.import_module(name).main())


def record_and_replay(folder, about, times):
    """Record a program and replay it `times` times; return the trace, its results, and the reported problems."""
    name, rules = f"program_{list(PROGRAMS).index(about)}", folder / "autochron.toml"
    with autochron.record(rules=rules, store="memory:") as recorded:
        recorded_result = run(name)
    trace = recorded.trace()
    replayed_results, problems = [], list(recorded.problems)
    for _ in range(times):
        with autochron.replay(trace, rules=rules, check=False) as replay:
            replayed_results.append(run(name))
        problems += [each.message for each in replay.divergences]
    return (
        trace,
        recorded_result,
        replayed_results,
        [each for each in problems if "(ambient-secret)" not in each],
    )


@pytest.mark.parametrize("about", PROGRAMS)
def test_a_program_has_the_same_result_on_a_replay(folder, about):
    trace, recorded_result, replayed_results, problems = record_and_replay(folder, about, 2)
    assert (replayed_results, problems) == ([recorded_result] * 2, [])
    assert {envelope.kind for envelope in trace.envelopes} <= {"ambient", "tool"}


@pytest.mark.slow
@pytest.mark.parametrize("about", PROGRAMS)
def test_a_program_has_the_same_result_on_thirty_replays(folder, about):
    _, recorded_result, replayed_results, problems = record_and_replay(folder, about, 30)
    assert (replayed_results, problems) == ([recorded_result] * 30, [])


def test_without_the_rule_the_same_programs_have_different_results(folder):
    """This shows that the tests above use programs whose results would differ."""
    rules = folder / "without.toml"
    rules.write_text(RULES.replace('ambient = ["clock", "random", "uuid"]', ""))
    differing = set()
    for number, about in enumerate(PROGRAMS):
        with autochron.record(rules=rules, store="memory:"):
            recorded_result = run(f"program_{number}")
        if run(f"program_{number}") != recorded_result:
            differing.add(about)
    # Two runs of these may fall into the same second, or poll equally often.
    chance = {"fields and texts of the time", "a deadline that is polled"}
    assert set(PROGRAMS) - differing <= {*chance, "wrong arguments say what they always did"}
