"""Other inputs: at the edges of what a guard knows, drawn by hypothesis, and written as a test."""

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


def test_a_guard_knows_its_own_constants_and_those_that_its_names_mean():
    found = constants_of(SOURCE, "guard.py", "guard", NAMES)
    assert [each.value for each in found.numbers] == [500, 1990, 450, 2]
    assert [each.value for each in found.texts] == ["demo-", "mug", "cup", "cents"]
    assert [each.source for each in found.numbers[:2]] == [
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


def test_each_input_changes_one_argument_and_none_comes_twice():
    constants = Constants((Constant(500, "LIMIT"),), (Constant("demo-", "text"),))
    recorded = {"item": "mug", "cents": 700}
    found = candidates(recorded, constants, 96)
    assert found[0].arguments == recorded
    for each in found[1:]:
        differing = [name for name in recorded if each.arguments[name] != recorded[name]]
        assert len(differing) == 1
        assert each.argument == differing[0]
    assert len({repr(each.arguments) for each in found}) == len(found)
    cents = {each.arguments["cents"] for each in found}
    assert {499, 500, 501, 0, 1, -1, -700, 699, 701} <= cents
    items = {each.arguments["item"] for each in found}
    assert {"demo-", "", "MUG", "demo-mug"} <= items


def test_so_many_at_most_and_each_argument_has_its_share():
    constants = Constants(tuple(Constant(number, str(number)) for number in range(0, 400, 7)), ())
    found = candidates({"a": 1000, "b": 2000}, constants, 21)
    assert len(found) == 21
    assert [each.argument for each in found].count("a") == [each.argument for each in found].count("b") == 10


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
def test_values_of_every_kind_have_others(value, path, new):
    constants = Constants((Constant(5, "five"),), (Constant("red", "red"),))
    found = candidates({"x": value}, constants, 200)
    assert (path, new) in [(each.argument, each.value) for each in found]
    assert {type(each.arguments["x"]) for each in found if each.argument != "x" or value is not None} >= {
        type(value)
    }


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,4}", fullmatch=True), _VALUES, min_size=1, max_size=3))
def test_whatever_was_recorded_stays_as_it_was_and_gives_the_same_inputs_again(arguments):
    before = repr(arguments)
    constants = Constants((Constant(5, "five"), Constant(2, "two")), (Constant("red", "red"),))
    found = candidates(arguments, constants, 64)
    for each in found:
        copied(each.arguments)
    assert repr(arguments) == before
    assert [repr(each) for each in found] == [repr(each) for each in candidates(arguments, constants, 64)]


def test_what_can_not_be_copied_is_shared():
    import threading

    lock = threading.Lock()
    given_ = copied({"lock": lock, "list": [1]})
    assert given_["lock"] is lock
    assert given_["list"] == [1]


def test_hypothesis_draws_the_same_ones_each_time():
    known = candidates({"item": "mug", "cents": 700}, Constants((), ()), 20)
    found = drawn(known, 40)
    assert [repr(each.arguments) for each in found] == [repr(each.arguments) for each in drawn(known, 40)]
    assert len(found) > 10
    assert {frozenset(each.arguments) for each in found} == {frozenset({"item", "cents"})}
    assert not {repr(each.arguments) for each in found} & {repr(each.arguments) for each in known}


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


def _input(number, arguments, outcome, *, kept=True, target=MutationTarget("guard.py", "guard")):
    return Input(
        number=number,
        address="guard[1]",
        target=target,
        argument="cents",
        value="1",
        source="one",
        arguments=arguments,
        outcome=outcome,
        is_kept=kept,
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
    _input(4, "{'item': 'no', 'cents': 9}", '{"returned":1}', kept=False),
    _input(5, "<an object>", '{"returned":1}'),
)


def test_what_is_written_passes_on_the_fix_and_fails_on_a_mutant(tmp_path):
    (tmp_path / "guard.py").write_text(GUARD)
    assert write_tests(_study(*INPUTS), str(tmp_path / "test_{incident}.py")) == [
        str(tmp_path / "test_shop.py")
    ]
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    said = []
    for old, new in (("", ""), ("> 500", "> 501"), ('"mug"', '""'), ("len(made)", "1 + len(made)")):
        (tmp_path / "guard.py").write_text(GUARD.replace(old, new) if old else GUARD)
        done = subprocess.run(
            # Without bytecode: a mutant of the same length, written in the same second, would be taken for the fix.
            [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        said.append(done.stdout.splitlines()[-1].partition(" in ")[0])
    assert said == ["4 passed", "1 failed, 3 passed", "1 failed, 3 passed", "2 failed, 2 passed"]


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
    ("inputs", "said"),
    [
        ((), "nothing to write"),
        (INPUTS[4:5], "nothing to write"),
        (INPUTS[5:], "none of the inputs can be written in Python"),
    ],
)
def test_where_nothing_can_be_written_it_says_so(inputs, said, tmp_path):
    with pytest.raises(UsageError, match=said):
        write_tests(_study(*inputs), str(tmp_path / "test_{incident}.py"))


def test_several_incidents_want_a_place_each(tmp_path):
    study = _study(*INPUTS)
    both = Study(operators="core", digest="0", methods=(), incidents=study.incidents * 2)
    with pytest.raises(UsageError, match=r"there are 2 incidents; say where each goes with \{incident\}"):
        write_tests(both, str(tmp_path / "test_edges.py"))
