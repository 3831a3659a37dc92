"""Alternative orders of sets and addresses in memory, and how a module is rewritten to use them."""

import json
import pickle
import re
import traceback

import pytest

from autochron.detect.rewriting import NAME, rewrite
from autochron.impact.alternative_orders import (
    OrderedFrozenSet,
    OrderedSet,
    iterate_in,
    other_address,
    other_hash,
    other_order,
)
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


def failure_of(code, wrapper, name):
    """Run a function that fails. Return the error's type and the positions in its traceback, or None."""
    space = {"__name__": "sample", NAME: wrapper}
    exec(code, space)
    try:
        space[name](*([1] if name == "popped" else []))
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)[1:]
        return type(error), [
            (frame.lineno, frame.colno, frame.end_colno) for frame in frames if frame.filename == "sample.py"
        ]
    return None


@pytest.mark.parametrize("name", ["popped", "hashed", "looped", "given"])
def test_the_rewrite_leaves_tracebacks_as_they_are(name):
    rewritten = rewrite(SOURCE.encode(), "", lambda order: f"{order.line} {order.call}").compiled("sample.py")
    plain = compile(SOURCE, "sample.py", "exec")
    failure = failure_of(rewritten, lambda _key, _kind, value: value, name)
    assert failure is not None
    assert failure == failure_of(plain, None, name)


def test_each_unordered_expression_passes_through_the_wrapper():
    wrapped = []

    def wrapper(key, kind, value):
        wrapped.append((key, kind))
        return value

    rewritten = rewrite(SOURCE.encode(), "", lambda order: f"{order.line} {order.call}")
    space = {"__name__": "sample", NAME: wrapper}
    exec(rewritten.compiled("sample.py"), space)
    space["shown"]()
    assert wrapped == [
        ("4 set.__iter__", "iterated"),
        *[("6 set.__repr__", "set"), ("6 object.__repr__", "text")] * 2,
        ("7 set.__iter__", "set"),
        *[("8 set.__iter__", "set"), ("8 object.__repr__", "text")],
    ]
    assert {key for key, _ in wrapped} < rewritten.sites.keys()


@pytest.mark.parametrize("values", [["a", "b"], list("abcde"), ["b", "a", "c"]])
def test_a_variant_is_another_order_and_the_same_each_time(values):
    for variant in range(6):
        order = other_order(values, variant)
        assert order != values
        assert sorted(order) == sorted(values)
        assert other_order(values, variant) == order
    assert len({tuple(other_order(values, variant)) for variant in range(4)}) >= min(3, len(values) - 1)


@pytest.mark.parametrize("ordered_type", [OrderedSet, OrderedFrozenSet])
def test_a_set_in_another_order_is_a_set(ordered_type):
    plain = ordered_type.__base__("abcd")
    moved = ordered_type(list("dbca"))
    assert list(moved) == list("dbca")
    assert "".join(moved) == "dbca"
    assert repr(moved) in {"{'d', 'b', 'c', 'a'}", "frozenset({'d', 'b', 'c', 'a'})"}
    assert isinstance(moved, ordered_type.__base__)
    assert moved == plain
    assert (len(moved), "a" in moved, "x" in moved) == (4, True, False)
    assert (moved & {"a", "x"}, moved | {"x"}, moved - {"a"}) == (
        plain & {"a", "x"},
        plain | {"x"},
        plain - {"a"},
    )
    assert type(pickle.loads(pickle.dumps(moved))) is ordered_type.__base__


def test_changing_a_set_during_its_iteration_raises_as_in_python():
    names = {"a", "b"}
    with pytest.raises(RuntimeError, match="Set changed size during iteration"):
        for name in iterate_in(["b", "a"], names):
            names.discard(name)


@pytest.mark.parametrize("variant", range(6))
def test_alternative_addresses_and_hashes_stay_distinct(variant):
    addresses = [(0x7E << 40) + (number << 6) + 16 for number in range(1_000)]
    moved = [other_address(value, variant) for value in addresses]
    assert len(set(moved)) == len(addresses)
    assert all(
        address != alternative and alternative % 16 == 0 and alternative > 0
        for address, alternative in zip(addresses, moved, strict=True)
    )
    hashes = [hash(f"name {number}") for number in range(1_000)]
    assert all(other_hash(value, variant) not in {value, -1} for value in hashes)
    assert len({other_hash(value, variant) for value in hashes}) == len(set(hashes))


@pytest.mark.parametrize("value", [-2, 0, 1, -3, 2**61 - 2, 1 - 2**61, 1 << 62])
def test_another_hash_is_another_one_and_valid(value):
    others = [other_hash(value, variant) for variant in range(6)]
    assert value not in others
    assert -1 not in others
    assert others == [other_hash(value, variant) for variant in range(6)]


def impact_report(folder, *arguments):
    result = run(folder, "impact", "last", "--json", *arguments)
    assert result.status in {0, 1}, result.stderr
    return json.loads(result.stdout)


def verdicts(report):
    return {
        f"{site['site']['file']}:{site['site']['line']}": site["untried"] or site["effect"]["what"]
        if site["untried"] or site["effect"]
        else "no effect"
        for site in report["sites"]
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
def test_orders_that_no_scan_sees_are_found_at_run_time(project):
    (project / "texts.py").write_text(TEXTS)
    head = "import enum\nKind = enum.Enum('Kind', 'RED BLUE GREEN')\nclass Thing: pass\n"
    sends = (
        "send(joined(names))\nsend(labelled(Thing(), 3))\nsend(' '.join(each.name for each in set(Kind)))\n"
    )
    (project / "agent.py").write_text(head + HIDDEN.replace("send(' '.join(multimode(names)))\n", sends))
    run(project, "run", "agent.py")
    report = impact_report(project)
    assert verdicts(report) == {
        "agent.py:10": "no effect",
        "agent.py:11": "no effect",
        "agent.py:14": "changes send[3] input at text",
        "texts.py:2": "changes send[1] input at text",
        "texts.py:5": "changes send[2] input at text",
    }
    assert [site["site"]["qualname"] for site in report["sites"]][-2:] == ["joined", "labelled"]
    assert report["problems"] == []


@pytest.mark.slow
def test_an_effect_that_only_another_hash_seed_has_is_blamed_on_all_orders(project):
    (project / "texts.py").write_text(TEXTS)
    (project / "agent.py").write_text(HIDDEN)
    run(project, "run", "agent.py")
    report = impact_report(project)
    effect = "changes send[1] input at text (this or another order of a set)"
    assert verdicts(report) == {"agent.py:7": effect, "agent.py:8": effect}
    (problem,) = report["problems"]
    assert problem.startswith("another seed of hashes changes send[1] input at text (was ")
    assert problem.endswith("so those are called harmful together (unexplained-order)")
    report_of_one_site = impact_report(project, "--site", "agent.py:7")
    assert verdicts(report_of_one_site) == {"agent.py:7": "no effect"}
    assert report_of_one_site["problems"][0].endswith("; only agent.py:7 was tried (unexplained-order)")


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
def test_orders_in_a_module_of_a_custom_loader_are_harmful_or_untried(project):
    (project / "late.py").write_text(
        "NAMES = {'ann', 'bob', 'cid', 'dan', 'eve', 'fay'}\ndef joined():\n    return ','.join(NAMES)\n"
    )
    (project / "agent.py").write_text(BY_HAND)
    run(project, "run", "agent.py")
    assert verdicts(impact_report(project)) == {
        "late.py:3": "changes send[1] input at text",
        "agent.py:11": "no effect",
        "agent.py:13": "no effect",
    }
    (project / "late.py").write_text(
        "NAMES = {'ann', 'bob'}\ndef joined():\n    print(*NAMES, file=__import__('sys').stderr)\n"
    )
    run(project, "run", "agent.py")
    assert verdicts(impact_report(project)) == {
        "late.py:3": "its module isn't run from its source",
        "agent.py:11": "no effect",
        "agent.py:13": "no effect",
    }


@pytest.mark.slow
def test_the_sites_of_a_program_that_uses_real_addresses_are_untried(project):
    (project / "agent.py").write_text(
        "import ctypes, sys\nfrom boundary import send\n\nnames = {'ann', 'bob', 'cid', 'dan', 'eve'}\n"
        "send(len(ctypes.cast(id(names), ctypes.py_object).value))\nprint(*names, file=sys.stderr)\n"
    )
    run(project, "run", "agent.py")
    report = impact_report(project)
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
def test_a_boundary_inside_a_wrapped_expression_stays_a_boundary(project):
    (project / "autochron.toml").write_text("version = 1\npacks = []\n" + RULE)
    (project / "desk").mkdir()
    (project / "desk" / "__init__.py").write_text("")
    (project / "desk" / "__main__.py").write_text(PACKAGE)
    (project / "desk" / "tools.py").write_text(
        "TOOLS = {'upper': str.upper, 'lower': str.lower, 'split': str.split}\n\ndef shout(text):\n    return text\n"
    )
    assert run(project, "run", "-m", "desk").status == 0
    found_verdicts = verdicts(impact_report(project))
    assert re.fullmatch(r"changes split\[\d\] input at args\[0\]", found_verdicts.pop("desk/__main__.py:10"))
    assert found_verdicts == {"desk/__main__.py:6": "no effect", "desk/__main__.py:7": "no effect"}
