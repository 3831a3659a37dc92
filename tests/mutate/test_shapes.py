"""Studies of guards of every shape: how they replace the tool, what kind of function they are, and their arguments."""

import json

import pytest

from autochron.mutate.merging import read_study
from autochron.mutate.model import MutationTarget
from tests.cli import processes
from tests.cli.processes import autochron, python
from tests.mutate.desks import (
    AGENT,
    FILES,
    GUARDED,
    PLAIN,
    RULES,
    TEST,
    TOOLS,
    copy_incident,
    mutate,
    record_incident,
    write,
)

pytestmark = pytest.mark.slow

CALL = 'tools.refund(wish["order"], wish["cents"])'
IMPORT = "from tools import PAID\n"
FIXED_TOOLS = TOOLS.replace(
    "    paid.append",
    '    if cents > PAID[order]:\n        return {"status": "blocked"}\n    paid.append',
)
NO_SWAP = TEST.replace(', swap={"tools.py:refund": "guarded.py:refund"}', "")


def study_of_folder(folder, *words, status=0):
    """Study the incident in a folder and return it with its results."""
    out = folder.parent / "out"
    command = mutate(folder.parent, folder, "--out", out, *words)
    assert command.status == status, command.said
    (incident,) = read_study(out).incidents
    return incident


def new_incident(tmp_path, **files):
    (tmp_path / "refund").mkdir()
    return record_incident(tmp_path / "refund", **files)


def killed_changes(incident, method="cut-point"):
    """Return the changes that a method notices."""
    return {
        (result.mutant.before, result.mutant.after)
        for result in incident.results
        if result.verdicts[method].is_killed
    }


def verdict_on(incident, before, after, method):
    """Return a method's verdict on one change."""
    (verdict,) = {
        result.verdicts[method]
        for result in incident.results
        if (result.mutant.before, result.mutant.after) == (before, after)
    }
    return verdict


def assert_right(incident):
    """Check what must hold of every refund desk."""
    assert all(entry.holds for entry in incident.canaries)
    assert killed_changes(incident, "full-stub") == set()
    assert {(">", "<"), (">", "<="), (">", "==")} <= killed_changes(incident)
    assert (">", ">=") not in killed_changes(incident)
    assert verdict_on(incident, ">", ">=", "widened").kind == "output"
    by_kind = {entry.argument: (entry.tried > 0, entry.flips > 0) for entry in incident.sensitivity}
    assert by_kind["order"] == (True, False)
    assert 0 < sum(entry.is_kept for entry in incident.inputs) <= 4
    # A decorator gets its inputs as a part of the function that it stands before.
    targets = {target for target in incident.targets if "<locals>" not in target.function}
    assert {each.target for each in incident.inputs} == targets


ASYNC = {
    "tools": TOOLS.replace("def refund", "async def refund"),
    "guarded": GUARDED.replace("def refund", "async def refund").replace("return pay", "return await pay"),
    "agent": AGENT.replace("import tools", "import asyncio\n\nimport tools").replace(
        CALL, f"asyncio.run({CALL})"
    ),
}
METHOD = {
    "tools": f"{TOOLS.partition('def')[0]}class Desk:\n    def refund(self, order: str, cents: int) -> dict:\n"
    '        return {"status": "paid", "cents": cents}\n',
    "guarded": "from tools import PAID, Desk\n\npay = Desk.refund\n\n\nclass Guarded:\n"
    "    def refund(self, order: str, cents: int) -> dict:\n        if cents > PAID[order]:\n"
    '            return {"status": "blocked", "most": PAID[order]}\n        return pay(self, order, cents)\n',
    "agent": AGENT.replace("tools.refund(", "tools.Desk().refund("),
    "test_incident": TEST.replace("tools.py:refund", "tools.py:Desk.refund").replace(
        "guarded.py:refund", "guarded.py:Guarded.refund"
    ),
    "autochron__toml": RULES.replace("tools:*", "tools:Desk.*"),
}
DECORATED = {
    "guarded": GUARDED.replace(
        "def refund",
        "def careful(function):\n    @functools.wraps(function)\n    def inner(*args, **kwargs):\n"
        "        return function(*args, **kwargs)\n\n    return inner\n\n\n@careful\ndef refund",
    ).replace(IMPORT, f"import functools\n\n{IMPORT}")
}
GENERATOR = {
    "tools": TOOLS.replace("    return {", "    yield {"),
    "guarded": GUARDED.replace("        return {", "        yield {")
    .replace("PAID[order]}", "PAID[order]}\n        return")
    .replace("return pay", "yield from pay"),
    "agent": AGENT.replace(CALL, f"list({CALL})"),
    "test_incident": TEST.partition("    agent.main")[0]
    + '    assert agent.main()[0]["status"] == "blocked"\n',
}
LOCK = {
    "tools": TOOLS.replace("cents: int", "cents: int, lock"),
    "guarded": GUARDED.replace("cents: int", "cents: int, lock").replace("cents)\n", "cents, lock)\n"),
    "agent": AGENT.replace('wish["cents"])', 'wish["cents"], threading.Lock())').replace(
        "import tools", "import threading\n\nimport tools"
    ),
}
DECIMAL = {
    "tools": "from decimal import Decimal\n" + TOOLS.replace("4900", "Decimal(4900)"),
    "agent": AGENT.replace("9900", 'Decimal("9900.50")').replace(
        "import tools", "from decimal import Decimal\n\nimport tools"
    ),
}
FLOAT = {"tools": TOOLS.replace("4900", "4900.5"), "agent": AGENT.replace("9900", "9900.25")}
SHAPES = {
    "function": {}, "async": ASYNC, "method": METHOD, "decorated": DECORATED, "an argument that can't be copied": LOCK,
    "Decimal": DECIMAL, "float": FLOAT,
}  # fmt: skip


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(name, marks=pytest.mark.thorough if name in {"float", "method"} else ())
        for name in SHAPES
    ],
)
def test_a_guard_is_studied(tmp_path, shape):
    incident = study_of_folder(new_incident(tmp_path, **SHAPES[shape]))
    assert_right(incident)
    assert [argument.argument for argument in incident.sensitivity if argument.flips] == ["cents"]
    assert " at 0x" not in (tmp_path / "out" / "study.json").read_text()


LIMITED = METHOD | {
    "guarded": "from tools import Desk\n\npay = Desk.refund\n\n\n"
    "def refund(self, order: str, cents: int) -> dict:\n    if cents > self.limit:\n"
    '        return {"status": "blocked", "most": self.limit}\n    return pay(self, order, cents)\n',
    "tools": METHOD["tools"].replace(
        "    def refund", "    def __init__(self, limit):\n        self.limit = limit\n\n    def refund"
    ),
    "agent": AGENT.replace("tools.refund(", "tools.Desk(4900).refund("),
    "test_incident": TEST.replace("tools.py:refund", "tools.py:Desk.refund"),
}


def test_a_bound_that_the_object_holds_is_tried(tmp_path):
    incident = study_of_folder(new_incident(tmp_path, **LIMITED), status=1)  # an answer hides what was paid
    assert (
        verdict_on(incident, ">", ">=", "cut-point").kind,
        verdict_on(incident, ">", ">=", "widened").kind,
    ) == (
        "passed",
        "output",
    )
    assert "self.limit" in {each.source for each in incident.inputs}


@pytest.mark.parametrize("shape", ["async", pytest.param("method", marks=pytest.mark.thorough)])
def test_a_guard_that_refuses_the_incident_alone_is_tried(tmp_path, shape):
    """Cut-point asks nothing else, so that only other inputs tell."""
    incident = study_of_folder(new_incident(tmp_path, **SHAPES[shape]))
    verdicts = {
        result.mutant.after: (result.verdicts["cut-point"].kind, result.verdicts["widened"].is_killed)
        for result in incident.results
        if result.mutant.operator == "autochron/OneLiteral"
    }
    assert verdicts == {
        "(cents > PAID[order]) and order == 'A1'": ("passed", False),
        "(cents > PAID[order]) and cents == 9900": ("passed", True),
    }


def test_a_generator_is_studied(tmp_path):
    assert_right(study_of_folder(new_incident(tmp_path, **GENERATOR)))


@pytest.mark.thorough
def test_a_fix_in_place_is_studied(tmp_path):
    """The trace was recorded before the fix, so it shows that a mutant lets the same refund through."""
    folder = new_incident(tmp_path, test_incident=NO_SWAP)
    (folder / "tools.py").write_text(FIXED_TOOLS)
    incident = study_of_folder(folder)
    assert_right(incident)
    assert {result.mutant.after for result in incident.results if result.is_unsafe} >= {"<", "<=", "=="}
    assert study_of_folder(folder, "--tool", "tools.py:refund").results == incident.results


@pytest.mark.thorough
@pytest.mark.timeout(400)
def test_a_folder_made_from_a_trace_is_studied(tmp_path, monkeypatch):
    """Its test runs the agent with `replay.run()`, in which each mutant replaces the file."""
    monkeypatch.setattr(
        processes, "TIMEOUT", 180
    )  # each trial is a process of its own, in which Python starts anew
    write(tmp_path, {name: FILES[name] for name in ("agent.py", "tools.py", "autochron.toml")})
    assert autochron(tmp_path, "run", "--strict", "agent.py").status == 0
    created = autochron(tmp_path, "incident", "new", "last", "refund", "--live", "refund", "--no-try")
    assert created.status == 0, created.said
    assert "replay.run()" in next((tmp_path / "refund").glob("test_*.py")).read_text()
    (tmp_path / "tools.py").write_text(FIXED_TOOLS)
    words = ("refund", "--operators", "core", "--out", "out")
    assert mutate(tmp_path, *words).said.startswith("autochron: refund: the tests with the fix\n")
    # The same study goes on, with what it left out.
    more = ("--crosscheck", "1", "--write-tests", "tests/test_{incident}_edges.py")
    command = mutate(tmp_path, *words, *more)
    assert command.status == 0, command.said
    study = read_study(tmp_path / "out")
    (incident,) = study.incidents
    assert study.methods == ("full-stub", "cut-point", "full-output", "widened")
    assert incident.targets == (MutationTarget("../tools.py", "refund"),)
    assert {(">", "<"), (">", "<=")} <= killed_changes(incident)
    assert {result.verdicts["cut-point"].kind for result in incident.results} >= {"passed", "assertion"}
    assert {result.mutant.after for result in incident.results if result.is_unsafe} >= {"<", "<=", "=="}
    assert verdict_on(incident, ">", ">=", "widened").kind == "output"
    assert {each.argument: each.flips > 0 for each in incident.sensitivity} == {"order": False, "cents": True}
    assert incident.not_compared == ""
    assert (
        [check.ours for check in incident.agreement] == [check.theirs for check in incident.agreement] != []
    )
    heading = next(line for line in command.text.splitlines() if "full-stub" in line)
    assert heading.split() == ["incident", "full-stub", "mocks", "cut-point", "full-output", "widened"]
    assert command.text.endswith("tests that pass on the fix: tests/test_refund_edges.py\n")
    done = python(tmp_path, "-m", "pytest", "-q", "tests", env=PLAIN)
    assert (done.status, " passed" in done.text) == (0, True)


MOCKS = """
from unittest import mock

import agent


def test_it_asks_for_what_the_model_says():
    with mock.patch.object(agent.tools, "refund", return_value={"status": "paid"}) as refund:
        assert agent.main() == {"status": "paid"}
    refund.assert_called_once()
"""


def test_a_test_with_mocks_is_a_method_of_its_own(tmp_path):
    incident = study_of_folder(new_incident(tmp_path, test_mocks=MOCKS))
    assert_right(incident)
    assert {result.verdicts["mocks"].is_killed for result in incident.results} == {False}


def test_inputs_of_two_tests_are_kept_apart(tmp_path):
    second = TEST.partition("@pytest")[2].replace("no_more", "never_more")
    folder = new_incident(tmp_path, test_incident=f"{TEST}\n\n@pytest{second}")
    incident = study_of_folder(folder)
    assert_right(incident)
    tests = [f"refund[1] of ::test_{entry}_than_was_paid" for entry in ("no_more", "never_more")]
    assert list(dict.fromkeys(entry.address for entry in incident.inputs)) == tests


def test_a_test_with_several_traces_counts_as_several_tests(tmp_path):
    folder = new_incident(
        tmp_path, test_incident=TEST.replace('"trace.jsonl"', '["trace.jsonl", "other.jsonl"]')
    )
    (folder / "other.jsonl").write_bytes((folder / "trace.jsonl").read_bytes())
    incident = study_of_folder(folder)
    assert_right(incident)
    assert len({entry.address for entry in incident.inputs}) == 2


NOTE = '''

def note(text: str) -> str:
    """Note no names."""
    return text[:{}]
'''
TWO = {
    "tools": TOOLS + NOTE.format(""),
    "guarded": GUARDED + NOTE.format("1"),
    "agent": AGENT.replace(f"    return {CALL}", f'    tools.note(wish["order"])\n    return {CALL}'),
    "test_incident": TEST.replace('["refund"]', '["refund", "note"]').replace(
        '"guarded.py:refund"}', '"guarded.py:refund", "tools.py:note": "guarded.py:note"}'
    ),
}


def test_an_escape_is_counted_and_the_command_says_so(tmp_path):
    """The test checks only one of two guards, so a mutant of the other is an escape."""
    folder = new_incident(tmp_path, **TWO)
    incident = study_of_folder(folder, status=1)
    assert [entry.function for entry in incident.targets] == ["refund", "note"]
    escapes = {
        (entry.mutant.target.function, entry.mutant.after)
        for entry in incident.results
        if entry.behaviour == "escape"
    }
    assert escapes == {("note", "2")}
    command = mutate(tmp_path, folder, "--out", "out")
    assert command.status == 1
    assert "escapes: 1 of " in command.text


def test_the_inputs_of_two_functions_of_one_name_are_kept_apart(tmp_path):
    """One of them stands in for a function of another name."""
    swaps = TWO["test_incident"].replace("guarded.py:note", "notes.py:refund")
    notes = NOTE.format("1").replace("def note", "def refund")
    found = study_of_folder(
        new_incident(tmp_path, **TWO | {"guarded": GUARDED, "notes": notes, "test_incident": swaps}), status=1
    )
    guarded, shortened = (MutationTarget(file, "refund") for file in ("guarded.py", "notes.py"))
    assert found.targets == (guarded, shortened)
    assert {(each.address, each.target) for each in found.inputs} == {
        ("refund[1]", guarded),
        ("note[1]", shortened),
    }


@pytest.mark.thorough  # tests/mutate/test_trials.py tries such a loop in each build
def test_an_endless_loop_is_a_time_out(tmp_path):
    loop = "    left = 2\n    while left > 0:\n        left = left - 1\n    if cents"
    folder = new_incident(tmp_path, guarded=GUARDED.replace("    if cents", loop))
    incident = study_of_folder(folder, "--operators", "core", "--timeout", "2")
    ended = verdict_on(incident, "-", "+", "cut-point")
    assert (ended.kind, ended.is_killed) == ("time-out", True)
    assert {(">", "<"), (">", "==")} <= killed_changes(incident)


def test_mutants_that_run_at_import_are_judged(tmp_path):
    guarded = GUARDED.replace("cents > PAID[order]", "cents > LIMIT").replace(
        "\n\ndef", "\nLIMIT = 9900 - 1\n\n\ndef", 1
    )
    incident = study_of_folder(new_incident(tmp_path, guarded=guarded), "--operators", "thresholds")
    assert all(result.mutant.at_import for result in incident.results)
    assert verdict_on(incident, "9900", "9901", "cut-point").kind == "assertion"
    assert verdict_on(incident, "9900", "9899", "widened").is_killed


def test_a_value_that_differs_from_run_to_run_is_no_kill(tmp_path):
    guarded = GUARDED.replace("PAID[order]}", 'PAID[order], "id": str(uuid.uuid4())}').replace(
        IMPORT, f"import uuid\n\n{IMPORT}"
    )
    folder = new_incident(tmp_path, guarded=guarded)
    incident = study_of_folder(folder)
    assert_right(incident)
    assert not any(change.path == "returned.id" for result in incident.results for change in result.changes)
    assert (">", ">=") not in killed_changes(incident, "full-output")
    first_study = (tmp_path / "out" / "study.json").read_bytes()
    assert mutate(tmp_path, folder, "--out", "again").status == 0
    assert (tmp_path / "again" / "study.json").read_bytes() == first_study


@pytest.mark.thorough
def test_no_state_passes_from_one_input_to_the_next(tmp_path):
    """This guard blocks every call after its first, so leaked state would make all later inputs look alike."""
    only_once = (
        '    SEEN.append(cents)\n    if len(SEEN) > 1:\n        return {"status": "blocked"}\n    if cents'
    )
    guarded = GUARDED.replace("    if cents", only_once).replace("\n\ndef", "\nSEEN = []\n\n\ndef", 1)
    incident = study_of_folder(new_incident(tmp_path, guarded=guarded))
    edge = next(
        result for result in incident.results if result.mutant.after == ">=" and result.mutant.line > 12
    )
    assert edge.verdicts["widened"].kind == "output"


@pytest.mark.thorough
def test_nested_values_are_changed_inside(tmp_path):
    parameters = "cents: int, how=None, meta=None"
    rule = "if how == 'gift' or cents > PAID[order] or meta['depth']['n'] > 7:"
    folder = new_incident(
        tmp_path,
        tools=TOOLS.replace("cents: int", parameters),
        guarded=GUARDED.replace("cents: int", parameters).replace("if cents > PAID[order]:", rule),
        agent=AGENT.replace(
            'wish["cents"])', 'wish["cents"] - 9000, None, {"depth": {"n": 8}, "tags": ["x"]})'
        ),
    )
    incident = study_of_folder(folder)
    flips = {argument.argument for argument in incident.sensitivity if argument.flips}
    assert flips == {"meta['depth']['n']"}
    assert {"order", "cents", "how", "meta['depth']", "meta['tags']"} <= {
        argument.argument for argument in incident.sensitivity
    }


WAITS = {
    "tools": ASYNC["tools"],
    "guarded": ASYNC["guarded"]
    .replace("    if cents", "    await agent.told.wait()\n    if cents")
    .replace(IMPORT, f"import agent\n{IMPORT}"),
    "agent": AGENT.replace("import tools", "import asyncio\n\nimport tools\n\ntold = None")
    .replace(f"return {CALL}", "return asyncio.run(both(wish))")
    .replace(
        "def main",
        "async def tell():\n    told.set()\n\n\nasync def both(wish):\n    global told\n    told = asyncio.Event()\n"
        f"    return (await asyncio.gather({CALL}, tell()))[0]\n\n\ndef main",
    ),
}


@pytest.mark.thorough  # half a minute of waiting
def test_a_tool_that_waits_for_another_task_is_not_tried_with_other_inputs(tmp_path):
    incident = study_of_folder(new_incident(tmp_path, **WAITS))
    assert incident.inputs == ()
    assert {(">", "<"), (">", "==")} <= killed_changes(incident)
    assert (">", ">=") not in killed_changes(incident, "widened")


def test_a_disagreement_with_plain_cosmic_ray_is_reported(desk, tmp_path):
    folder = copy_incident(desk, tmp_path / "refund")
    out = tmp_path / "out"
    command = mutate(tmp_path, folder, "--out", out, "--crosscheck", "1")
    assert command.status == 0, command.said
    (crosscheck,) = read_study(out).incidents[0].agreement
    assert crosscheck.ours == crosscheck.theirs
    journal = out / "journal" / "refund.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines() if line]
    for entry in lines:
        if entry["type"] == "agreed":
            entry["killed"] = not entry["killed"]
    journal.write_text("".join(f"{json.dumps(entry)}\n" for entry in lines))
    second_command = mutate(tmp_path, folder, "--out", out, "--crosscheck", "1")
    assert "plain cosmic-ray: 0 of 1 agree" in second_command.text
    assert second_command.status == 1
    assert second_command.said.splitlines()[-1].startswith(
        f"autochron: plain cosmic-ray disagrees on {crosscheck.mutant}, so these results are in doubt"
    )
