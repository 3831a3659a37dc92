"""Orders of sets and places in memory: what stands in their place, and how a module is compiled for it."""

import json
import pickle
import re
import traceback

import pytest

from autochron.impact.alternative_orders import (
    OrderedFrozenSet,
    OrderedSet,
    iterate_in,
    other_address,
    other_hash,
    other_order,
)
from autochron.impact.rewrite import NAME, rewrite
from tests.impact.test_impact import project as project
from tests.impact.test_impact import run

SOURCE = """\
import json
NAMES = {"b", "a", "c"}
class Tool:
    many = [name for name in NAMES]
def shown(tool=Tool()):
    return (f"{NAMES} é {tool}" +
            ",".join(
                NAMES) + str(tool))
def popped(names):
    return ({"é": {"x", "y"}}["é"]
        .pop()) + 1
def hashed(name="x"):
    return hash(name) % 0, id(name), [*{"p", "q"}]
def looped():
    first, second = {"p", "q", "r"}
def given():
    for each in set(json.loads("{")):
        print(each)
"""


def spoken(code, wrapper, name):
    """Run a function that fails; gives its traceback, and where Python points at."""
    space = {"__name__": "sample", NAME: wrapper}
    exec(code, space)
    try:
        space[name](*([1] if name == "popped" else []))
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)[1:]
        return type(error), [
            (each.lineno, each.colno, each.end_colno) for each in frames if each.filename == "sample.py"
        ]
    return None


@pytest.mark.parametrize("name", ["popped", "hashed", "looped", "given"])
def test_what_is_put_in_leaves_tracebacks_as_they_are(name):
    made = rewrite(SOURCE.encode(), "", lambda order: f"{order.line} {order.call}").compiled("sample.py")
    plain = compile(SOURCE, "sample.py", "exec")
    found = spoken(made, lambda _key, _kind, value: value, name)
    assert found is not None
    assert found == spoken(plain, None, name)


def test_each_unordered_expression_passes_through():
    met = []

    def wrapper(key, kind, value):
        met.append((key, kind))
        return value

    made = rewrite(SOURCE.encode(), "", lambda order: f"{order.line} {order.call}")
    space = {"__name__": "sample", NAME: wrapper}
    exec(made.compiled("sample.py"), space)
    space["shown"]()
    assert met == [
        ("4 set.__iter__", "iterated"),
        *[("6 set.__repr__", "set"), ("6 object.__repr__", "text")] * 2,
        ("7 set.__iter__", "set"),
        *[("8 set.__iter__", "set"), ("8 object.__repr__", "text")],
    ]
    assert {key for key, _ in met} < made.sites.keys()


@pytest.mark.parametrize("values", [["a", "b"], list("abcde"), ["b", "a", "c"]])
def test_a_variant_is_another_order_and_the_same_one_again(values):
    for variant in range(6):
        order = other_order(values, variant)
        assert order != values
        assert sorted(order) == sorted(values)
        assert other_order(values, variant) == order
    assert len({tuple(other_order(values, variant)) for variant in range(4)}) >= min(3, len(values) - 1)


@pytest.mark.parametrize("made", [OrderedSet, OrderedFrozenSet])
def test_a_set_in_another_order_is_a_set(made):
    plain = made.__base__("abcd")
    moved = made(list("dbca"))
    assert list(moved) == list("dbca")
    assert "".join(moved) == "dbca"
    assert repr(moved) in {"{'d', 'b', 'c', 'a'}", "frozenset({'d', 'b', 'c', 'a'})"}
    assert isinstance(moved, made.__base__)
    assert moved == plain
    assert (len(moved), "a" in moved, "x" in moved) == (4, True, False)
    assert (moved & {"a", "x"}, moved | {"x"}, moved - {"a"}) == (
        plain & {"a", "x"},
        plain | {"x"},
        plain - {"a"},
    )
    assert type(pickle.loads(pickle.dumps(moved))) is made.__base__


def test_a_set_that_changes_while_it_is_gone_through_is_refused_as_by_python():
    names = {"a", "b"}
    with pytest.raises(RuntimeError, match="Set changed size during iteration"):
        for each in iterate_in(["b", "a"], names):
            names.discard(each)


@pytest.mark.parametrize("variant", range(6))
def test_other_addresses_and_hashes_are_told_apart_as_before(variant):
    addresses = [(0x7E << 40) + (number << 6) + 16 for number in range(1_000)]
    moved = [other_address(each, variant) for each in addresses]
    assert len(set(moved)) == len(addresses)
    assert all(
        one != other and other % 16 == 0 and other > 0 for one, other in zip(addresses, moved, strict=True)
    )
    hashes = [hash(f"name {number}") for number in range(1_000)]
    assert all(other_hash(each, variant) not in {each, -1} for each in hashes)
    assert len({other_hash(each, variant) for each in hashes}) == len(set(hashes))


@pytest.mark.parametrize("value", [-2, 0, 1, -3, 2**61 - 2, 1 - 2**61, 1 << 62])
def test_another_hash_is_another_one_and_valid(value):
    others = [other_hash(value, variant) for variant in range(6)]
    assert value not in others
    assert -1 not in others
    assert others == [other_hash(value, variant) for variant in range(6)]


def told(folder, *arguments):
    result = run(folder, "impact", "last", "--json", *arguments)
    assert result.status in {0, 1}, result.stderr
    return json.loads(result.stdout)


def verdicts(report):
    return {
        f"{each['site']['file']}:{each['site']['line']}": each["untried"] or each["effect"]["what"]
        if each["untried"] or each["effect"]
        else "no effect"
        for each in report["sites"]
    }


HIDDEN = """\
import sys
from statistics import multimode
from boundary import send
from texts import joined, labelled

names = {"ann", "bob", "cid", "dan", "eve", "fay"}
print(*names, file=sys.stderr)
print([name for name in names], file=sys.stderr)
send(' '.join(multimode(names)))
"""


TEXTS = """\
def joined(parts):
    return ",".join(parts)

def labelled(thing, count):
    return f"{count} of {thing}"
"""


@pytest.mark.slow
def test_what_no_scan_sees_is_found_where_it_runs(project):
    (project / "texts.py").write_text(TEXTS)
    more = "import enum\nKind = enum.Enum('Kind', 'RED BLUE GREEN')\nclass Thing: pass\n"
    last = (
        "send(joined(names))\nsend(labelled(Thing(), 3))\nsend(' '.join(each.name for each in set(Kind)))\n"
    )
    (project / "agent.py").write_text(more + HIDDEN.replace("send(' '.join(multimode(names)))\n", last))
    run(project, "run", "agent.py")
    report = told(project)
    assert verdicts(report) == {
        "agent.py:10": "no effect",
        "agent.py:11": "no effect",
        "agent.py:14": "changes send[3] input at text",
        "texts.py:2": "changes send[1] input at text",
        "texts.py:5": "changes send[2] input at text",
    }
    assert [each["site"]["qualname"] for each in report["sites"]][-2:] == ["joined", "labelled"]
    assert report["problems"] == []


@pytest.mark.slow
def test_what_only_another_seed_changes_is_a_problem_and_all_orders_are_blamed(project):
    (project / "texts.py").write_text(TEXTS)
    (project / "agent.py").write_text(HIDDEN)
    run(project, "run", "agent.py")
    report = told(project)
    what = "changes send[1] input at text (this or another order of a set)"
    assert verdicts(report) == {"agent.py:7": what, "agent.py:8": what}
    (problem,) = report["problems"]
    assert problem.startswith("another seed of hashes changes send[1] input at text (was ")
    assert problem.endswith("so those are called harmful together (unexplained-order)")
    one = told(project, "--site", "agent.py:7")
    assert verdicts(one) == {"agent.py:7": "no effect"}
    assert one["problems"][0].endswith("; only agent.py:7 was tried (unexplained-order)")


BY_HAND = """\
import importlib.machinery, importlib.util, sys
from boundary import send

class Loader(importlib.machinery.SourceFileLoader):
    pass

spec = importlib.util.spec_from_loader("late", Loader("late", "late.py"))
late = importlib.util.module_from_spec(spec)
sys.modules["late"] = late
spec.loader.exec_module(late)
for name in late.NAMES:
    print(name, file=sys.stderr)
print(*{"x", "y", "z"}, file=sys.stderr)
send(late.joined())
"""


@pytest.mark.slow
def test_what_a_loader_of_its_own_loads_is_not_tried_alone(project):
    (project / "late.py").write_text(
        "NAMES = {'ann', 'bob', 'cid', 'dan', 'eve', 'fay'}\ndef joined():\n    return ','.join(NAMES)\n"
    )
    (project / "agent.py").write_text(BY_HAND)
    run(project, "run", "agent.py")
    assert verdicts(told(project)) == {
        "late.py:3": "changes send[1] input at text",
        "agent.py:11": "no effect",
        "agent.py:13": "no effect",
    }
    (project / "late.py").write_text(
        "NAMES = {'ann', 'bob'}\ndef joined():\n    print(*NAMES, file=__import__('sys').stderr)\n"
    )
    run(project, "run", "agent.py")
    assert verdicts(told(project)) == {
        "late.py:3": "its module isn't run from its source",
        "agent.py:11": "no effect",
        "agent.py:13": "no effect",
    }


@pytest.mark.slow
def test_a_program_that_works_on_addresses_is_replayed_as_it_is(project):
    (project / "agent.py").write_text(
        "import ctypes, sys\nfrom boundary import send\n\nnames = {'ann', 'bob', 'cid', 'dan', 'eve'}\n"
        "send(len(ctypes.cast(id(names), ctypes.py_object).value))\nprint(*names, file=sys.stderr)\n"
    )
    run(project, "run", "agent.py")
    report = told(project)
    assert set(verdicts(report).values()) == {
        "the program doesn't replay where another one can be put in its place"
    }
    assert report["problems"] == []


RULE = """
[[boundary]]
kind = "tool"
name = "{tool}"
call = "TOOLS[$tool](...)"
"""
PACKAGE = """\
import sys
from .tools import TOOLS, shout

def main():
    names = {"ann", "bob", "cid", "dan"}
    print(*{TOOLS["upper"](name) for name in sorted(names)}, file=sys.stderr)
    for found in {TOOLS["lower"](name)
                  for name in names}:
        print(found, file=sys.stderr)
    for text in list(TOOLS["split"](name) for name in names):
        shout(text)

main()
"""


@pytest.mark.slow
def test_a_boundary_within_what_is_wrapped_is_one_still(project):
    (project / "autochron.toml").write_text("version = 1\npacks = []\n" + RULE)
    (project / "desk").mkdir()
    (project / "desk" / "__init__.py").write_text("")
    (project / "desk" / "__main__.py").write_text(PACKAGE)
    (project / "desk" / "tools.py").write_text(
        "TOOLS = {'upper': str.upper, 'lower': str.lower, 'split': str.split}\n\ndef shout(text):\n    return text\n"
    )
    assert run(project, "run", "-m", "desk").status == 0
    found = verdicts(told(project))
    assert re.fullmatch(r"changes split\[\d\] input at args\[0\]", found.pop("desk/__main__.py:10"))
    assert found == {"desk/__main__.py:6": "no effect", "desk/__main__.py:7": "no effect"}
