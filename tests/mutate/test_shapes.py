"""Guards of every shape are studied: how they are put in place, what they are, and what they are given."""

import json

import pytest

from autochron.mutate.merging import read_study
from autochron.mutate.model import MutationTarget
from tests.cli.processes import autochron
from tests.mutate.desks import AGENT, FILES, GUARDED, RULES, TEST, TOOLS, copied, made, mutate, write

pytestmark = pytest.mark.slow

CALL = 'tools.refund(wish["order"], wish["cents"])'
IMPORT = "from tools import PAID\n"
FIXED_TOOLS = TOOLS.replace(
    '    return {"status"',
    '    if cents > PAID[order]:\n        return {"status": "blocked"}\n    return {"status"',
)
NO_SWAP = TEST.replace(', swap={"tools.py:refund": "guarded.py:refund"}', "")


def studied(folder, *words, status=0):
    """Study an incident; gives what is said of it."""
    out = folder.parent / "out"
    said = mutate(folder.parent, folder, "--out", out, *words)
    assert said.status == status, said.said
    (incident,) = read_study(out).incidents
    return incident


def new(tmp_path, **files):
    (tmp_path / "refund").mkdir()
    return made(tmp_path / "refund", **files)


def killed(incident, method="cut-point"):
    """The changes that a method notices."""
    return {
        (each.mutant.before, each.mutant.after)
        for each in incident.results
        if each.verdicts[method].is_killed
    }


def verdict(incident, before, after, method):
    """What a method says of one change."""
    (found,) = {
        each.verdicts[method]
        for each in incident.results
        if (each.mutant.before, each.mutant.after) == (before, after)
    }
    return found


def is_right(incident):
    """What holds of every refund desk, whatever its shape."""
    assert all(each.holds for each in incident.canaries)
    assert killed(incident, "full-stub") == set()
    assert {(">", "<"), (">", "<="), (">", "==")} <= killed(incident)
    assert (">", ">=") not in killed(incident)
    assert verdict(incident, ">", ">=", "widened").kind == "output"
    by_kind = {each.argument: (each.tried > 0, each.flips > 0) for each in incident.sensitivity}
    assert by_kind["order"] == (True, False)
    assert 0 < sum(each.is_kept for each in incident.inputs) <= 4
    assert {each.target for each in incident.inputs} == set(incident.targets)


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
        pytest.param(each, marks=pytest.mark.thorough if each in {"float", "method"} else ())
        for each in SHAPES
    ],
)
def test_a_guard_is_studied(tmp_path, shape):
    incident = studied(new(tmp_path, **SHAPES[shape]))
    is_right(incident)
    assert [each.argument for each in incident.sensitivity if each.flips] == ["cents"]
    assert " at 0x" not in (tmp_path / "out" / "study.json").read_text()


def test_a_generator_is_studied(tmp_path):
    is_right(studied(new(tmp_path, **GENERATOR)))


def test_a_fix_in_place_is_studied(tmp_path):
    """The trace is of before the fix, so that what a mutant lets through is known again."""
    folder = new(tmp_path, test_incident=NO_SWAP)
    (folder / "tools.py").write_text(FIXED_TOOLS)
    found = studied(folder)
    is_right(found)
    assert {each.mutant.after for each in found.results if each.is_unsafe} >= {"<", "<=", "=="}
    assert studied(folder, "--tool", "tools.py:refund").results == found.results


def test_a_folder_made_from_a_trace_is_studied(tmp_path):
    """Its test runs the agent by `replay.run()`, in which each mutant stands in for the file."""
    write(tmp_path, {name: FILES[name] for name in ("agent.py", "tools.py", "autochron.toml")})
    assert autochron(tmp_path, "run", "--strict", "agent.py").status == 0
    made_of = autochron(tmp_path, "incident", "new", "last", "refund", "--live", "refund", "--no-try")
    assert made_of.status == 0, made_of.said
    assert "replay.run()" in next((tmp_path / "refund").glob("test_*.py")).read_text()
    (tmp_path / "tools.py").write_text(FIXED_TOOLS)
    found = studied(tmp_path / "refund")
    assert {(">", "<"), (">", "<=")} <= killed(found)
    assert {each.verdicts["cut-point"].kind for each in found.results} >= {"passed", "assertion"}


MOCKS = """
from unittest import mock

import agent


def test_it_asks_for_what_the_model_says():
    with mock.patch.object(agent.tools, "refund", return_value={"status": "paid"}) as refund:
        assert agent.main() == {"status": "paid"}
    refund.assert_called_once()
"""


def test_mocks_are_tried_beside(tmp_path):
    found = studied(new(tmp_path, test_mocks=MOCKS))
    is_right(found)
    assert {each.verdicts["mocks"].is_killed for each in found.results} == {False}


def test_two_tests_are_kept_apart(tmp_path):
    second = TEST.partition("@pytest")[2].replace("no_more", "never_more")
    folder = new(tmp_path, test_incident=f"{TEST}\n\n@pytest{second}")
    found = studied(folder)
    is_right(found)
    tests = [f"refund[1] of ::test_{each}_than_was_paid" for each in ("no_more", "never_more")]
    assert list(dict.fromkeys(each.address for each in found.inputs)) == tests


def test_a_test_of_several_traces_is_several(tmp_path):
    folder = new(tmp_path, test_incident=TEST.replace('"trace.jsonl"', '["trace.jsonl", "other.jsonl"]'))
    (folder / "other.jsonl").write_bytes((folder / "trace.jsonl").read_bytes())
    found = studied(folder)
    is_right(found)
    assert len({each.address for each in found.inputs}) == 2


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
    """Of two guards the test looks at one: what the other was made for is done again, and nobody notices."""
    folder = new(tmp_path, **TWO)
    found = studied(folder, status=1)
    assert [each.function for each in found.targets] == ["refund", "note"]
    escapes = {
        (each.mutant.target.function, each.mutant.after)
        for each in found.results
        if each.behaviour == "escape"
    }
    assert escapes == {("note", "2")}
    said = mutate(tmp_path, folder, "--out", "out")
    assert said.status == 1
    assert "escapes: 1 of " in said.text


def test_the_inputs_of_two_functions_of_one_name_are_kept_apart(tmp_path):
    """One of them stands in for a function of another name."""
    swaps = TWO["test_incident"].replace("guarded.py:note", "notes.py:refund")
    notes = NOTE.format("1").replace("def note", "def refund")
    found = studied(
        new(tmp_path, **TWO | {"guarded": GUARDED, "notes": notes, "test_incident": swaps}), status=1
    )
    guarded, shortened = (MutationTarget(file, "refund") for file in ("guarded.py", "notes.py"))
    assert found.targets == (guarded, shortened)
    assert {(each.address, each.target) for each in found.inputs} == {
        ("refund[1]", guarded),
        ("note[1]", shortened),
    }


@pytest.mark.thorough  # tests/mutate/test_trials.py has one in each build
def test_a_loop_without_end_is_a_time_out(tmp_path):
    left = "    left = 2\n    while left > 0:\n        left = left - 1\n    if cents"
    folder = new(tmp_path, guarded=GUARDED.replace("    if cents", left))
    found = studied(folder, "--operators", "core", "--timeout", "2")
    ended = verdict(found, "-", "+", "cut-point")
    assert (ended.kind, ended.is_killed) == ("time-out", True)
    assert {(">", "<"), (">", "==")} <= killed(found)


def test_what_runs_at_import_counts(tmp_path):
    guarded = GUARDED.replace("cents > PAID[order]", "cents > LIMIT").replace(
        "\n\ndef", "\nLIMIT = 9900 - 1\n\n\ndef", 1
    )
    found = studied(new(tmp_path, guarded=guarded), "--operators", "thresholds")
    assert all(each.mutant.at_import for each in found.results)
    assert verdict(found, "9900", "9901", "cut-point").kind == "assertion"
    assert verdict(found, "9900", "9899", "widened").is_killed


def test_what_differs_from_run_to_run_is_no_kill(tmp_path):
    guarded = GUARDED.replace("PAID[order]}", 'PAID[order], "id": str(uuid.uuid4())}').replace(
        IMPORT, f"import uuid\n\n{IMPORT}"
    )
    folder = new(tmp_path, guarded=guarded)
    found = studied(folder)
    is_right(found)
    assert not any(change.path == "returned.id" for each in found.results for change in each.changes)
    assert (">", ">=") not in killed(found, "full-output")
    first = (tmp_path / "out" / "study.json").read_bytes()
    assert mutate(tmp_path, folder, "--out", "again").status == 0
    assert (tmp_path / "again" / "study.json").read_bytes() == first


@pytest.mark.thorough
def test_no_state_passes_from_one_input_to_the_next(tmp_path):
    """The second call of this guard says no to everything: after another input each would say the same."""
    once = '    SEEN.append(cents)\n    if len(SEEN) > 1:\n        return {"status": "blocked"}\n    if cents'
    guarded = GUARDED.replace("    if cents", once).replace("\n\ndef", "\nSEEN = []\n\n\ndef", 1)
    found = studied(new(tmp_path, guarded=guarded))
    edge = next(each for each in found.results if each.mutant.after == ">=" and each.mutant.line > 12)
    assert edge.verdicts["widened"].kind == "output"


@pytest.mark.thorough
def test_nested_values_are_changed_inside(tmp_path):
    more = "cents: int, how=None, meta=None"
    rule = "if how == 'gift' or cents > PAID[order] or meta['depth']['n'] > 7:"
    folder = new(
        tmp_path,
        tools=TOOLS.replace("cents: int", more),
        guarded=GUARDED.replace("cents: int", more).replace("if cents > PAID[order]:", rule),
        agent=AGENT.replace(
            'wish["cents"])', 'wish["cents"] - 9000, None, {"depth": {"n": 8}, "tags": ["x"]})'
        ),
    )
    found = studied(folder)
    flips = {each.argument for each in found.sensitivity if each.flips}
    assert flips == {"meta['depth']['n']"}
    assert {"order", "cents", "how", "meta['depth']", "meta['tags']"} <= {
        each.argument for each in found.sensitivity
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
def test_a_tool_that_waits_for_another_task_gets_no_other_inputs(tmp_path):
    found = studied(new(tmp_path, **WAITS))
    assert found.inputs == ()
    assert {(">", "<"), (">", "==")} <= killed(found)
    assert (">", ">=") not in killed(found, "widened")


def test_plain_cosmic_ray_agrees_and_one_that_does_not_is_shown(desk, tmp_path):
    folder = copied(desk, tmp_path / "refund")
    out = tmp_path / "out"
    said = mutate(tmp_path, folder, "--out", out, "--crosscheck", "10")
    assert said.status == 0, said.said
    (one,) = read_study(out).incidents[0].agreement
    assert one.ours == one.theirs
    journal = out / "journal" / "refund.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines() if line]
    for each in lines:
        if each["type"] == "agreed":
            each["killed"] = not each["killed"]
    journal.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    again = mutate(tmp_path, folder, "--out", out, "--crosscheck", "10")
    assert "plain cosmic-ray: 0 of 1 agree" in again.text
    assert again.status == 1
    assert again.said.startswith(
        f"autochron: plain cosmic-ray disagrees on {one.mutant}, so these results are in doubt"
    )
