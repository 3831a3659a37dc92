"""Matching rules with the definitions of a module."""

import sys
import textwrap

import pytest

from autochron.errors import RuleError
from autochron.matching.definitions import definitions, shape_of
from autochron.matching.matcher import Matcher, match_definitions
from autochron.model import BoundaryRule, Decorated, Define, Pack, Place, Rules, Target, TraceRule
from autochron.rules.nearest import nearest


def rule(selector, line=1, *, pack=None, when=(), kind="tool"):
    place = Place(f"{pack or 'autochron'}.toml", line)
    return BoundaryRule(
        id=str(place), name="n", kind=kind, selector=selector, place=place, pack=pack, when=when
    )


def rules(*boundaries):
    own = tuple(boundary for boundary in boundaries if boundary.pack is None)
    packs = tuple(
        Pack(
            name,
            (name,),
            name,
            (),
            (),
            (),
            tuple(boundary for boundary in boundaries if boundary.pack == name),
        )
        for name in dict.fromkeys(boundary.pack for boundary in boundaries if boundary.pack)
    )
    return Rules(boundaries=own, packs=packs)


def compiled(source, path="shop/tools.py"):
    source = textwrap.dedent(source)
    return compile(source, path, "exec", dont_inherit=True), source


SOURCE = """
import os
from os.path import join
class Desk:
    table = [x for x in (1, 2)]
    key = lambda self: self
    def sell(self):
        def inner(): pass
        return (i for i in [])
    def _hidden(self): pass
    def __init__(self): pass
    class Drawer:
        async def open(self): pass
if os:
    def refund(): yield
else:
    def refund(): return
async def feed(): yield 1
def _private(): pass
(lambda: [d for d in ()])()
"""


def test_definitions_are_functions_only():
    assert [(name, shape_of(code)) for name, code in definitions(compiled(SOURCE)[0])] == [
        ("Desk.sell", "function"),
        ("Desk.sell.<locals>.inner", "function"),
        ("Desk._hidden", "function"),
        ("Desk.__init__", "function"),
        ("Desk.Drawer.open", "coroutine"),
        ("refund", "generator"),
        ("refund", "function"),
        ("feed", "async_generator"),
        ("_private", "function"),
    ]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are new in 3.12")
def test_annotation_scopes_are_not_definitions():
    source = """
    type Alias = int
    type G[T: int] = list[T]
    def f[T: str](x: T) -> T:
        def inner(): pass
    def T(): pass
    class C[T]:
        def m(self): pass
        type Z = int
    names = ("m", "f")
    """
    assert [name for name, _ in definitions(compiled(source)[0])] == ["f", "f.<locals>.inner", "T", "C.m"]


def matched_names(selector, source=SOURCE, module="shop.tools", *, is_project=True, path="shop/tools.py"):
    code, text = compiled(source, path)
    matches = match_definitions(rules(rule(selector)), module, is_project, code, text)
    return [match.qualname for match in matches]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (Target("shop.tools", "refund"), ["refund", "refund"]),
        (Target("shop.tools", "Desk.sell"), ["Desk.sell"]),
        (Target("shop", "refund"), []),
        (Target("shop.tools", "join"), []),
        (Define("shop.tools", "*"), ["refund", "refund", "feed"]),
        (Define("shop.*", "Desk.*"), ["Desk.sell"]),
        (Define("shop.**", "**", ("re*",)), ["Desk.sell", "Desk.Drawer.open", "feed"]),
        (Define("*.tools", "_*"), ["_private"]),
        (Define("shop.tools", "Desk.sell.<locals>.*"), ["Desk.sell.<locals>.inner"]),
        (Define("shop", "*"), []),
        (Define("sho", "*"), []),
    ],
)
def test_targets_and_globs_match_definitions(selector, expected):
    assert matched_names(selector) == expected


def test_globs_match_project_code_only():
    assert matched_names(Define("shop.tools", "*"), is_project=False) == []
    assert matched_names(Target("shop.tools", "feed"), is_project=False) == ["feed"]


@pytest.mark.parametrize(
    "source",
    [
        "from shop.registry import tool\n@tool\ndef f(): pass",
        "from shop.registry import tool as t\n@t\ndef f(): pass",
        "import shop.registry\n@shop.registry.tool\ndef f(): pass",
        "import shop.registry as r\n@r.tool(name='x')\ndef f(): pass",
        "from shop import registry\n@registry.tool()()\nasync def f(): pass",
        "from .registry import tool\n@tool\ndef f(): pass",
        "from . import registry as g\n@g.tool\ndef f(): pass",
        "from shop.registry import *\n@tool\ndef f(): pass",
        "from shop import registry\ntool = registry.tool\n@tool\ndef f(): pass",
        "try:\n    from shop.registry import tool\nexcept ImportError:\n    tool = 0\n@tool\ndef f(): 1",
        "import shop.registry\n@print\n@shop.registry.tool\n@staticmethod\ndef f(): pass",
        "def g():\n    from shop.registry import tool\n    @tool\n    def f(): pass",
        "import shop.registry\nclass A:\n    from shop.registry import tool as t\n    @t\n    def f(s): 1",
        "import shop.registry\nmatch 1:\n    case 1:\n        @shop.registry.tool\n        def f(): pass",
    ],
)
def test_a_decorator_is_resolved_through_imports(source):
    assert [name.rpartition(".")[2] for name in matched_names(Decorated("shop.registry.tool"), source)] == [
        "f"
    ]


@pytest.mark.parametrize(
    "source",
    [
        "from other.registry import tool\n@tool\ndef f(): pass",
        "from shop.registry import tools\n@tools\ndef f(): pass",
        "from .registry import tool\n@tool\ndef f(): pass",
        "class A:\n    from shop.registry import tool\n    def g(self):\n        @tool\n        def f(): 1",
        "tool = 1\n# from shop.registry import tool\ndef f(): pass",
    ],
)
def test_other_decorators_do_not_match(source):
    assert matched_names(Decorated("shop.registry.tool"), source, "shop.deep.tools") == []


def test_decorators_in_the_same_module_and_in_packages_match():
    source = "def tool(f): return f\n@tool\ndef f(): pass"
    assert matched_names(Decorated("shop.registry.tool"), source, "shop.registry") == ["f"]
    source = "from .registry import tool\n@tool\ndef f(): pass"
    assert matched_names(Decorated("shop.registry.tool"), source, "shop", path="shop/__init__.py") == ["f"]
    source = "registry = make()\n@registry.tool\ndef f(): pass"
    assert matched_names(Decorated("shop.tools.registry.tool"), source) == ["f"]


def test_without_source_decorators_are_unknown():
    code, _ = compiled("from shop.registry import tool\n@tool\ndef f(): pass")
    answer = Matcher(rules(rule(Decorated("shop.registry.tool")))).find("shop.tools", code, is_project=True)
    assert (answer.matches, [entry.reason for entry in answer.ledger]) == (
        (),
        ["shop.tools has no source, so its decorators are unknown; use `target` instead (autochron.toml:1)"],
    )
    code, _ = compiled("def f(): pass")
    assert (
        Matcher(rules(rule(Decorated("shop.registry.tool")))).find("shop.tools", code, is_project=True).ledger
        == ()
    )


def order(*boundaries):
    code, text = compiled("from r import tool\n@tool\ndef f(): pass")
    matches = match_definitions(rules(*boundaries), "m", True, code, text)
    return [match.rule.place.line for match in matches]


TARGET, GLOB, DECORATED = Target("m", "f"), Define("m", "*"), Decorated("r.tool")
A, B = (("x", "a"),), (("x", "b"),)


@pytest.mark.parametrize(
    ("boundaries", "lines"),
    [
        ([rule(TARGET, 1, pack="p"), rule(GLOB, 2)], [2]),
        ([rule(GLOB, 1), rule(DECORATED, 2), rule(TARGET, 3)], [3]),
        ([rule(GLOB, 1), rule(DECORATED, 2)], [2]),
        (
            [rule(TARGET, 1, pack="p", when=A), rule(TARGET, 2, pack="p"), rule(TARGET, 3, pack="p", when=A)],
            [1, 2, 3],
        ),
        ([rule(TARGET, 1, when=A), rule(TARGET, 2, when=B)], [1, 2]),
        ([rule(TARGET, 1), rule(TARGET, 2, when=B)], [1]),
        ([rule(TARGET, 1, when=A), rule(GLOB, 2), rule(TARGET, 3, pack="p")], [1, 2]),
        ([rule(TARGET, 1, when=A), rule(TARGET, 2, pack="p")], [1, 2]),
    ],
)
def test_rules_take_precedence_by_origin_and_kind(boundaries, lines):
    assert order(*boundaries) == lines


def test_two_patterns_of_one_list_may_fit_the_same_definition():
    assert order(rule(GLOB, 1), rule(Define("*", "f"), 1)) == [1]
    assert order(rule(GLOB, 1, when=A), rule(Define("*", "f"), 1, when=A), rule(GLOB, 1, when=B)) == [1, 1, 1]


def test_two_rules_of_equal_precedence_are_refused():
    with pytest.raises(RuleError) as caught:
        order(rule(GLOB, 1), rule(Define("*", "f"), 7))
    assert str(caught.value) == (
        "autochron.toml:7: `*:f` fits m:f, as does `m:*` at autochron.toml:1; "
        "narrow one with `exclude` or `when`, or name the definition with `target` (bad-rule)"
    )


def test_an_absent_target_is_reported_with_the_nearest_name():
    code, _ = compiled(SOURCE)
    matcher = Matcher(
        Rules(
            boundaries=(rule(Target("shop.tools", "Desk.sel")),),
            traces=(
                TraceRule(Target("shop.tools", "refund"), Place("autochron.toml", 9)),
                TraceRule(Target("shop.tools", "zzz"), Place("autochron.toml", 12)),
            ),
        )
    )
    answer = matcher.find("shop.tools", code, is_project=True)
    assert [(absent.rule.place.line, absent.nearest) for absent in answer.absent] == [
        (12, None),
        (1, "Desk.sell"),
    ]
    assert [(trace.rule.place.line, trace.qualname) for trace in answer.traces] == [
        (9, "refund"),
        (9, "refund"),
    ]


def test_a_script_is_matched_by_its_module_name_too():
    code, _ = compiled("def run(): pass", "agent.py")
    matcher = Matcher(rules(rule(Target("agent", "run"))))
    assert matcher.find("__main__", code, is_project=True).matches == ()
    answer = matcher.find("__main__", code, is_project=True, aliases=["agent"])
    assert [match.qualname for match in answer.matches] == ["run"]


def test_source_is_read_only_if_a_rule_needs_it():
    code, text = compiled("from r import tool\n@tool\ndef f(): pass")
    reads = []

    def source():
        reads.append(1)
        return text.encode()

    match_definitions(rules(rule(TARGET)), "m", True, code, source)
    assert reads == []
    assert len(match_definitions(rules(rule(DECORATED)), "m", True, code, source)) == 1
    assert reads == [1]


def test_the_nearest_name_is_found_or_none():
    assert nearest(["Desk.sell", "refund"], "refnd") == "refund"
    assert nearest(["Desk.sell"], "zzz") is None


LAMBDAS = """
double = lambda value: value * 2
typed: object = lambda value: value
one = lambda: 1; two = lambda: 2
kept = wrap(lambda value: value)
table = {"triple": lambda value: value * 3}
class Desk:
    sell = lambda self: self
def make():
    inner = lambda: 1
    return inner
if double:
    either = lambda: 1
else:
    either = lambda: 2
async_default = lambda value, *, more=1: value
"""


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (Define("shop.tools", "double"), [("double", 2)]),
        (Target("shop.tools", "double"), [("double", 2)]),
        (Define("shop.*", "typed"), [("typed", 3)]),
        (Define("shop.tools", "Desk.sell"), [("Desk.sell", 8)]),
        (Define("shop.tools", "make.<locals>.inner"), [("make.<locals>.inner", 10)]),
        (Target("shop.tools", "make.<locals>.inner"), [("make.<locals>.inner", 10)]),
        (Define("shop.tools", "either"), [("either", 13), ("either", 15)]),
        (Define("shop.tools", "async_default"), [("async_default", 16)]),
        (Define("shop.tools", "*"), [("make", 9)]),
        (Define("shop.tools", "d*"), []),
        (Define("shop.tools", "kept"), []),
        (Define("shop.tools", "triple"), []),
        (Define("shop.tools", "one"), []),
    ],
    ids=str,
)
def test_a_lambda_has_the_name_that_it_is_assigned_to(selector, expected):
    code, source = compiled(LAMBDAS)
    matches = match_definitions(rules(rule(selector)), "shop.tools", True, code, source)
    assert [(match.qualname, match.firstlineno) for match in matches] == expected


def test_two_lambdas_on_one_line_are_reported():
    code, source = compiled(LAMBDAS)
    matched_names = Matcher(rules(rule(Target("shop.tools", "two")))).find(
        "shop.tools", code, source, is_project=True
    )
    assert [entry.reason for entry in matched_names.ledger] == [
        "line 4 has another lambda as well; put each in a line of its own, or use `def`"
    ]
