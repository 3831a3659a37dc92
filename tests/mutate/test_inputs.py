"""Other inputs for a guard: at the edges of its constants, drawn by hypothesis, and written as a test."""

import os
import subprocess
import sys
from decimal import Decimal
from enum import Enum
from types import ModuleType

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autochron.errors import UsageError
from autochron.mutate.boundary_values import Constant, Constants, candidates, constants_of, copied
from autochron.mutate.hypothesis_inputs import drawn
from autochron.mutate.model import Input, MutationTarget, StudiedIncident, Study
from autochron.mutate.report.edge_tests import write_tests
from tests.cli.processes import ROOT

SOURCE = '''
LIMIT = 500
PRICES = {"mug": {"cents": 1990}, "cup": {"cents": 450}}

def guard(item, cents):
    """Text of 7 that says nothing."""
    if cents > LIMIT or item.startswith("demo-"):
        return f"no {item} 99"
    return PRICES[item]["cents"] * 2
'''
NAMES = {"LIMIT": 500, "PRICES": {"mug": {"cents": 1990}, "cup": {"cents": 450}}}


def test_constants_are_those_of_the_function_and_of_the_names_that_it_uses():
    constants = constants_of(SOURCE, "guard.py", "guard", NAMES)
    assert [constant.value for constant in constants.numbers] == [500, 1990, 450, 2]
    assert [constant.value for constant in constants.texts] == ["demo-", "mug", "cup", "cents"]
    assert [constant.source for constant in constants.numbers[:2]] == [
        "LIMIT in guard.py:7",
        "PRICES['mug']['cents'], named in guard.py:9",
    ]


REFERRING = """
import config
from config import settings

def guard(order, cents, most=700, *, least=5):
    if cents > config.LIMIT + settings.limits["refund"] + settings.desk.most + Level.TOP.value:
        return "no"
    if cents > settings.rate or cents > config.paid.get("A31") or cents > settings.least:
        return os.environ["HOME"], sys.maxsize
    return PAID[order]["cents"]
"""


class Desk:
    __slots__ = ("most",)

    def __init__(self, most):
        self.most = most


class Settings:
    limits = {"refund": 41, "other": 42}

    def __init__(self):
        self.desk = Desk(43)

    @property
    def rate(self):
        raise AssertionError("no code of the program may run")

    def __getattr__(self, name):
        raise AssertionError("no code of the program may run")


class Level(Enum):
    TOP = 44


def test_constants_are_those_of_attributes_items_and_defaults():
    config = ModuleType("config")
    paid = {f"A{number}": 1000 + number for number in range(40)}
    names = {"config": config, "settings": Settings(), "Level": Level, "os": os, "sys": sys, "PAID": {}}
    vars(config).update(LIMIT=40, settings=names["settings"], paid=paid)
    constants = constants_of(REFERRING, "guard.py", "guard", names)
    numbers = {constant.value: constant.source for constant in constants.numbers}
    assert numbers == {
        700: "700 in guard.py:5",
        5: "5 in guard.py:5",
        40: "config.LIMIT, named in guard.py:6",
        41: "settings.limits['refund'], named in guard.py:6",
        42: "settings.limits['other'], named in guard.py:6",
        43: "settings.desk.most, named in guard.py:6",
        44: "Level.TOP.value, named in guard.py:6",
        1031: "config.paid.get('A31'), named in guard.py:8",
        **{1000 + number: f"config.paid['A{number}'], named in guard.py:8" for number in range(8)},
    }
    assert "HOME" in {constant.value for constant in constants.texts}
    assert not {constant.value for constant in constants.texts} & set(os.environ.values())


def test_numbers_and_texts_of_the_other_arguments_are_tried():
    inputs = candidates(
        {"cents": 700, "balance": {"now": 900}, "payer": "A", "payee": "B"}, Constants((), ()), 96
    )
    values = {(each.argument, each.value): each.source for each in inputs}
    assert values["cents", 900] == "balance['now']"
    assert values["cents", 901] == "balance['now'], plus 1"
    assert values["cents", 899] == "balance['now'], minus 1"
    assert values["balance['now']", 700] == "cents"
    assert values["payee", "A"] == "payer"
    assert ("payee", "BA") not in values


def test_of_two_guards_with_one_name_the_constants_are_those_of_the_last():
    source = (
        "def guard(a):\n    return a > 1\n\nclass Shop:\n    def guard(self):\n        return 2\n\n"
        "def guard(a):\n    return a > 3\n"
    )
    assert [each.value for each in constants_of(source, "guard.py", "guard", {}).numbers] == [3]
    assert [each.value for each in constants_of(source, "guard.py", "Shop.guard", {}).numbers] == [2]


def test_each_input_changes_one_argument_and_none_occurs_twice():
    constants = Constants((Constant(500, "LIMIT"),), (Constant("demo-", "text"),))
    recorded = {"item": "mug", "cents": 700}
    inputs = candidates(recorded, constants, 96)
    assert inputs[0].arguments == recorded
    for candidate in inputs[1:]:
        differing = [name for name in recorded if candidate.arguments[name] != recorded[name]]
        assert len(differing) == 1
        assert candidate.argument == differing[0]
    assert len({repr(candidate.arguments) for candidate in inputs}) == len(inputs)
    cents = {candidate.arguments["cents"] for candidate in inputs}
    assert {499, 500, 501, 0, 1, -1, -700, 699, 701} <= cents
    items = {candidate.arguments["item"] for candidate in inputs}
    assert {"demo-", "", "MUG", "demo-mug"} <= items


def test_the_number_of_inputs_is_limited_and_shared_among_the_arguments():
    constants = Constants(tuple(Constant(number, str(number)) for number in range(0, 400, 7)), ())
    inputs = candidates({"a": 1000, "b": 2000}, constants, 21)
    assert len(inputs) == 21
    assert (
        [candidate.argument for candidate in inputs].count("a")
        == [candidate.argument for candidate in inputs].count("b")
        == 10
    )


@pytest.mark.parametrize(
    ("value", "path", "new"),
    [
        (True, "x", False),
        (Decimal("1.5"), "x", Decimal(5)),
        (2.5, "x", 5.01),
        (None, "x", "red"),
        ({"a": 1}, "x['a']", 5),
        ({"a": {"b": "c"}}, "x['a']['b']", "red"),
        ([1, 2], "x[1]", 5),
        (["red", "blue"], "x", "(empty)"),
        (("a",), "x[0]", "red"),
    ],
)
def test_values_of_every_kind_have_alternatives(value, path, new):
    constants = Constants((Constant(5, "five"),), (Constant("red", "red"),))
    inputs = candidates({"x": value}, constants, 200)
    assert (path, new) in [(candidate.argument, candidate.value) for candidate in inputs]
    assert {
        type(candidate.arguments["x"])
        for candidate in inputs
        if candidate.argument != "x" or value is not None
    } >= {type(value)}


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,4}", fullmatch=True), _VALUES, min_size=1, max_size=3))
def test_recorded_arguments_stay_unchanged_and_give_the_same_inputs_each_time(arguments):
    before = repr(arguments)
    constants = Constants((Constant(5, "five"), Constant(2, "two")), (Constant("red", "red"),))
    inputs = candidates(arguments, constants, 64)
    for candidate in inputs:
        copied(candidate.arguments)
    assert repr(arguments) == before
    assert [repr(candidate) for candidate in inputs] == [
        repr(candidate) for candidate in candidates(arguments, constants, 64)
    ]


def test_a_value_that_cannot_be_copied_is_shared():
    import threading

    lock = threading.Lock()
    copy = copied({"lock": lock, "list": [1]})
    assert copy["lock"] is lock
    assert copy["list"] == [1]


def test_hypothesis_draws_the_same_inputs_each_time():
    known_inputs = candidates({"item": "mug", "cents": 700}, Constants((), ()), 20)
    inputs = drawn(known_inputs, 40)
    assert [repr(candidate.arguments) for candidate in inputs] == [
        repr(candidate.arguments) for candidate in drawn(known_inputs, 40)
    ]
    assert len(inputs) > 10
    assert {frozenset(candidate.arguments) for candidate in inputs} == {frozenset({"item", "cents"})}
    assert not {repr(candidate.arguments) for candidate in inputs} & {
        repr(candidate.arguments) for candidate in known_inputs
    }


# --- as a test ---------------------------------------------------------------------------------------------------------

GUARD = """\
from dataclasses import dataclass

made = []

@dataclass
class Order:
    item: str
    number: int

def guard(item, cents):
    if cents > 500:
        raise ValueError("too much")
    if item == "mug":
        return {"status": "blocked"}
    made.append(item)
    return Order(item, len(made))
"""


def _input(number, arguments, outcome, *, is_kept=True, target=MutationTarget("guard.py", "guard")):
    return Input(
        number=number,
        address="guard[1]",
        target=target,
        argument="cents",
        value="1",
        source="one",
        arguments=arguments,
        outcome=outcome,
        is_kept=is_kept,
    )


def _study(*inputs):
    incident = StudiedIncident(
        name="shop",
        targets=(MutationTarget("guard.py", "guard"),),
        sources={"guard.py": GUARD},
        generated=1,
        same_bytecode=0,
        duplicates=0,
        inputs=inputs,
    )
    return Study(operators="core", digest="0", methods=("cut-point",), incidents=(incident,))


INPUTS = (
    _input(0, "{'item': 'mug', 'cents': 1}", '{"returned":{"status":"blocked"}}'),
    _input(1, "{'item': 'cup', 'cents': 2}", '{"returned":{"$type":"guard:Order","item":"cup","number":1}}'),
    _input(2, "{'item': 'pot', 'cents': 2}", '{"returned":{"$type":"guard:Order","item":"pot","number":1}}'),
    _input(
        3, "{'item': 'mug', 'cents': 501}", '{"raised":{"$error":"builtins:ValueError","args":["too much"]}}'
    ),
    _input(4, "{'item': 'no', 'cents': 9}", '{"returned":1}', is_kept=False),
    _input(5, "<an object>", '{"returned":1}'),
)


@pytest.mark.slow
def test_drawn_inputs_do_not_depend_on_the_modules_that_are_loaded(tmp_path):
    """Of loaded modules, hypothesis would read the constants, and keep them in a folder of its own."""
    program = """
import sys
sys.path.insert(0, {path!r})
import autochron.mutate.hypothesis_inputs as inputs
from autochron.mutate.boundary_values import Candidate
if {loads}:
    import many
known = [Candidate("", None, "recorded", {{"cents": 7, "order": "A1"}})]
print([candidate.arguments for candidate in inputs.drawn(known, 60)])
"""
    numbers = ", ".join(str(70_000 + number) for number in range(300))
    (tmp_path / "many.py").write_text(f"NUMBERS = [{numbers}]\n")
    printed = {
        subprocess.run(
            [sys.executable, "-c", program.format(path=str(tmp_path), loads=loads)],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": ROOT},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for loads in (False, True)
    }
    assert len(printed) == 1
    assert not (tmp_path / ".hypothesis").exists()


def written(study, folder, place="test_{incident}.py"):
    """Write the tests of a study whose incidents lie in a folder; return the files written, and the notes."""
    notes = []
    folders = {incident.name: folder for incident in study.incidents}
    return write_tests(study, str(folder / place), folders, notes.append), notes


def pytest_summary(folder, *options):
    """Run pytest in a folder, and return the last line without the time."""
    done = subprocess.run(
        # Without bytecode: a mutant of the same length, written in the same second, would load the fix's bytecode.
        [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    return done.stdout.splitlines()[-1].partition(" in ")[0]


def test_the_written_test_passes_on_the_fix_and_fails_on_a_mutant(tmp_path):
    (tmp_path / "guard.py").write_text(GUARD)
    assert written(_study(*INPUTS), tmp_path, "tests/test_{incident}.py") == (
        [str(tmp_path / "tests" / "test_shop.py")],
        [],
    )
    assert os.listdir(tmp_path / "tests") == ["test_shop.py"]
    summaries = []
    for old, new in (("", ""), ("> 500", "> 501"), ('"mug"', '""'), ("len(made)", "1 + len(made)")):
        (tmp_path / "guard.py").write_text(GUARD.replace(old, new) if old else GUARD)
        summaries.append(pytest_summary(tmp_path))
    assert summaries == ["4 passed", "1 failed, 3 passed", "1 failed, 3 passed", "2 failed, 2 passed"]


LATER = """\
TAKEN = {"seats": 0}
MOST = 4
names = []

def book(seats):
    if TAKEN["seats"] + seats > MOST:
        return {"status": "full", "why": f"{MOST - TAKEN['seats']} seats are left"}
    TAKEN["seats"] += seats
    names.append(seats)
    return {"status": "booked", "left": MOST - TAKEN["seats"]}
"""
LATER_TARGET = MutationTarget("booking.py", "book")


def _later(*inputs, states):
    incident = StudiedIncident(
        name="table",
        targets=(LATER_TARGET,),
        sources={"booking.py": LATER},
        generated=1,
        same_bytecode=0,
        duplicates=0,
        inputs=tuple(
            msgspec.structs.replace(edge_input, address=address, target=LATER_TARGET)
            for address, edge_input in inputs
        ),
        states=states,
    )
    return Study(operators="core", digest="0", methods=("cut-point",), incidents=(incident,))


def test_a_written_test_starts_from_the_state_of_its_call_and_leaves_words_open(tmp_path):
    (tmp_path / "booking.py").write_text(LATER)
    study = _later(
        ("book[1]", _input(0, "{'seats': 4}", '{"returned":{"status":"booked","left":0}}')),
        ("book[2]", _input(1, "{'seats': 2}", '{"returned":{"status":"full","why":"1 seats are left"}}')),
        states={"book[2]": {"booking.py": {"TAKEN": "{'seats': 3}", "names": "[3]"}}},
    )
    assert written(study, tmp_path)[1] == []
    summaries = []
    for old, new in (("seats are left", "left, so"), ("+ seats >", "+ seats > 1 +"), ('"full"', '"booked"')):
        (tmp_path / "booking.py").write_text(LATER.replace(old, new))
        summaries.append(pytest_summary(tmp_path))
    assert summaries == ["2 passed", "1 failed, 1 passed", "1 failed, 1 passed"]


def test_inputs_on_which_the_written_test_fails_are_left_out_and_told(tmp_path):
    (tmp_path / "booking.py").write_text(LATER)
    right = ("book[1]", _input(0, "{'seats': 4}", '{"returned":{"status":"booked","left":0}}'))
    wrong = ("book[2]", _input(1, "{'seats': 4}", '{"returned":{"status":"full","why":"none"}}'))
    paths, notes = written(_later(right, wrong, states={}), tmp_path)
    assert [note.partition(", on")[0] for note in notes] == [f"{paths[0]}: 1 of 2 inputs are left out"]
    assert "AssertionError" in notes[0] or "assert {" in notes[0]
    assert pytest_summary(tmp_path) == "1 passed"


def test_a_test_that_only_fails_is_not_written(tmp_path):
    (tmp_path / "booking.py").write_text(LATER)
    wrong = ("book[2]", _input(1, "{'seats': 4}", '{"returned":{"status":"full","why":"none"}}'))
    notes = []
    with pytest.raises(UsageError, match="no input can be written as a test that passes"):
        path = str(tmp_path / "tests" / "test_{incident}.py")
        write_tests(_later(wrong, states={}), path, {"table": tmp_path}, notes.append)
    (note,) = notes
    assert "is not written: it fails on the function as it is" in note
    assert os.listdir(tmp_path) == ["booking.py"]


DESKS = """\
class Shop:
    @staticmethod
    def pay(cents):
        return cents > 3

class Bank:
    @staticmethod
    async def pay(cents):
        return cents > 5
"""
DESK_TARGETS = (MutationTarget("desks.py", "Shop.pay"), MutationTarget("desks.py", "Bank.pay"))


def _desks():
    incident = StudiedIncident(
        name="desks",
        targets=DESK_TARGETS,
        sources={"desks.py": DESKS},
        generated=1,
        same_bytecode=0,
        duplicates=0,
        inputs=(
            _input(0, "{'cents': 4}", '{"returned":true}', target=DESK_TARGETS[0]),
            _input(1, "{'cents': 4}", '{"returned":false}', target=DESK_TARGETS[1]),
        ),
    )
    return Study(operators="core", digest="0", methods=("cut-point",), incidents=(incident,))


def test_two_functions_with_one_short_name_get_a_test_each(tmp_path):
    (tmp_path / "desks.py").write_text(DESKS)
    expected = [str(tmp_path / "test_desks_Shop_pay.py"), str(tmp_path / "test_desks_Bank_pay.py")]
    assert written(_desks(), tmp_path, "test_{incident}_{function}.py") == (expected, [])
    assert pytest_summary(tmp_path) == "2 passed"


def test_several_functions_get_a_place_each_though_the_path_names_none(tmp_path):
    (tmp_path / "desks.py").write_text(DESKS)
    paths, notes = written(_desks(), tmp_path)
    assert [os.path.basename(path) for path in paths] == ["test_desks_Shop_pay.py", "test_desks_Bank_pay.py"]
    assert notes == []


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((), "nothing to write"),
        (INPUTS[4:5], "nothing to write"),
        (INPUTS[5:], "no input can be written as a test that passes"),
    ],
)
def test_without_inputs_to_write_there_is_an_error(inputs, message, tmp_path):
    with pytest.raises(UsageError, match=message):
        written(_study(*inputs), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_several_incidents_need_a_file_each(tmp_path):
    study = _study(*INPUTS)
    two_incidents = Study(operators="core", digest="0", methods=(), incidents=study.incidents * 2)
    with pytest.raises(UsageError, match=r"there are 2 incidents; say where each goes with \{incident\}"):
        written(two_incidents, tmp_path, "test_edges.py")
