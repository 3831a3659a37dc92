"""Other inputs for a guard: at the edges of its constants, drawn by hypothesis, and written as a test."""

import subprocess
import sys
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autochron.errors import UsageError
from autochron.mutate.boundary_values import Constant, Constants, candidates, constants_of, copied
from autochron.mutate.hypothesis_inputs import drawn
from autochron.mutate.model import Input, MutationTarget, StudiedIncident, Study
from autochron.mutate.report.edge_tests import write_tests

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


def test_the_written_test_passes_on_the_fix_and_fails_on_a_mutant(tmp_path):
    (tmp_path / "guard.py").write_text(GUARD)
    assert write_tests(_study(*INPUTS), str(tmp_path / "test_{incident}.py")) == [
        str(tmp_path / "test_shop.py")
    ]
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    summaries = []
    for old, new in (("", ""), ("> 500", "> 501"), ('"mug"', '""'), ("len(made)", "1 + len(made)")):
        (tmp_path / "guard.py").write_text(GUARD.replace(old, new) if old else GUARD)
        done = subprocess.run(
            # Without bytecode: a mutant of the same length, written in the same second, would load the fix's bytecode.
            [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        summaries.append(done.stdout.splitlines()[-1].partition(" in ")[0])
    assert summaries == ["4 passed", "1 failed, 3 passed", "1 failed, 3 passed", "2 failed, 2 passed"]


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
    assert write_tests(_desks(), str(tmp_path / "test_{incident}_{function}.py")) == [
        str(tmp_path / "test_desks_Shop_pay.py"),
        str(tmp_path / "test_desks_Bank_pay.py"),
    ]
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1].partition(" in ")[0] == "2 passed", done.stdout


def test_several_functions_want_a_place_each(tmp_path):
    with pytest.raises(UsageError, match=r"of several functions; say where each goes with \{function\}"):
        write_tests(_desks(), str(tmp_path / "test_{incident}.py"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((), "nothing to write"),
        (INPUTS[4:5], "nothing to write"),
        (INPUTS[5:], "none of the inputs can be written in Python"),
    ],
)
def test_without_inputs_to_write_there_is_an_error(inputs, message, tmp_path):
    with pytest.raises(UsageError, match=message):
        write_tests(_study(*inputs), str(tmp_path / "test_{incident}.py"))


def test_several_incidents_need_a_file_each(tmp_path):
    study = _study(*INPUTS)
    two_incidents = Study(operators="core", digest="0", methods=(), incidents=study.incidents * 2)
    with pytest.raises(UsageError, match=r"there are 2 incidents; say where each goes with \{incident\}"):
        write_tests(two_incidents, str(tmp_path / "test_edges.py"))
