"""Our own operators, run by cosmic-ray, and the named sets of operators."""

import ast
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("cosmic_ray")

from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.number_replacer import NumberReplacer
from cosmic_ray.operators.provider import OperatorProvider
from hypothesis import given
from hypothesis import strategies as st

from autochron.errors import UsageError
from autochron.mutate.operators import OPERATORS, AutochronOperators, operator_class, operator_names
from autochron.mutate.sets import OperatorSet, operator_set, set_names
from tests.cli.processes import ROOT


def mutants(name, source):
    """Return all texts that cosmic-ray itself makes with one of our operators, in order."""
    texts = []
    while (text := mutate_code(source, AutochronOperators()[name](), len(texts))) is not None:
        texts.append(text)
    return texts


@pytest.mark.parametrize(
    ("operator", "example"),
    [
        pytest.param(operator, example, id=f"{operator.__name__}-{number}")
        for operator in OPERATORS
        for number, example in enumerate(operator.examples())
    ],
)
def test_an_operators_examples_hold(operator, example):
    instance = operator(**example.operator_args)
    assert mutate_code(example.pre_mutation_code, instance, example.occurrence) == example.post_mutation_code


TABLE = [
    ("StringConstant", 'x = "a"', ['x = "XXaXX"']),
    ("StringConstant", "x = {'a': '', 1: u'b'}", [
        "x = {'XXaXX': '', 1: u'b'}", "x = {'a': 'XXXX', 1: u'b'}", "x = {'a': '', 1: u'XXbXX'}",
    ]),
    ("StringConstant", 'x = """a\nb"""', ['x = """XXa\nbXX"""']),
    ("StringConstant", "x = '\\1' '2'", ["x = 'XX\\1' '2XX'"]),
    ("StringConstant", "x = ('a'  # it's\n     'b')", ["x = ('XXa'  # it's\n     'bXX')"]),
    ("StringConstant", "x = f'a{b[\"c\"]}'", ["x = f'a{b[\"XXcXX\"]}'"]),
    ("StringConstant", "x = 'a' f'{b}' 'c'", []),
    ("StringConstant", "x = b'a', 1, None", []),
    ("BytesConstant", "x = b'a' b'b', 'c'", ["x = b'XXa' b'bXX', 'c'"]),
    ("BytesConstant", "x = b''", ["x = b'XXXX'"]),
    ("EmptyString", "x = 'a', '', b'b', b''", ["x = '', '', b'b', b''", "x = 'a', '', b'', b''"]),
    ("EmptyString", "x = r'a' 'b' ''", ["x = r''"]),
    ("EmptyString", "x = '' ''", []),
    ("EmptyString", "return'a'", ["return''"]),
    ("ReplaceMembership", "a in b not in c < d", ["a not in b not in c < d", "a in b in c < d"]),
    ("ReplaceMembership", "if x in(y): pass", ["if x not in(y): pass"]),
    ("ReplaceMembership", "for x in y: pass", []),
    ("ReplaceMembership", "[x for x in y if'a'in x]", ["[x for x in y if'a' not in x]"]),
    ("ReplaceMembership", "a is not b", []),
    ("ReplaceMembership", "(a\n in b)", ["(a\n not in b)"]),
    ("DropOperand", "a and b or c", ["c", "a and b", "b or c", "a or c"]),
    ("DropOperand", "a or b or c", ["b or c", "a or c", "a or b"]),
    ("DropOperand", "(a\n  and b  # why\n  and c)", ["(b  # why\n  and c)", "(a  # why\n  and c)", "(a\n  and b)"]),
    ("DropOperand", "if a and \\\n   b: pass", ["if b: pass", "if a: pass"]),
    ("DropOperand", "x = a or(b)", ["x = (b)", "x = a "]),
    ("DropOperand", "x=(a)or b", ["x= b", "x=(a)"]),
    ("DropOperand", "not a and b", ["b", "not a"]),
    ("NegateIf", "if a and b: pass", ["if not (a and b): pass"]),
    ("NegateIf", "if a: pass\nelif(b): pass\nelse: pass", [
        "if not (a): pass\nelif(b): pass\nelse: pass", "if a: pass\nelif not ((b)): pass\nelse: pass",
    ]),
    ("NegateIf", "if x := a(): pass", ["if not (x := a()): pass"]),
    ("NegateIf", "while a: pass", []),
    ("NegateCondition", "while a or b: pass", ["while not (a or b): pass"]),
    ("NegateCondition", "assert a == b, c", ["assert not (a == b), c"]),
    ("NegateCondition", "x = a if b else c if(d)else e", [
        "x = a if not (b) else c if(d)else e", "x = a if b else c if not ((d))else e",
    ]),
    ("NegateCondition", "{a for a in b if a if c}", ["{a for a in b if not (a) if c}", "{a for a in b if a if not (c)}"]),
    ("NegateCondition", "if a: pass", []),
    ("ActFirst", "def f(x):\n    if x:\n        y = 1\n        raise E\n    else:\n        z()\n    return g(x)\n", [
        "def f(x):\n    g(x)\n    if x:\n        y = 1\n        raise E\n    else:\n        z()\n    return g(x)\n",
    ]),
    ("ActFirst", "def f(x):\n    with a:\n        if x:\n            return g(x)\n    return 0\n", [
        "def f(x):\n    with a:\n        g(x)\n        if x:\n            return g(x)\n    return 0\n",
    ]),
    ("ActFirst", "def f(x):\n\tif x: return 0\n\treturn g(x)\n", [
        "def f(x):\n\tg(x)\n\tif x: return 0\n\treturn g(x)\n",
    ]),
    ("ActFirst", "def f(x):\n    if x:\n        return 0\n    return 1\n", []),
    ("ActFirst", "def f(x):\n    if x:\n        y = 0\n    return g(x)\n", []),
    ("ActFirst", "if x:\n    pass\n", []),
    ("SwallowRefusal", "def f(x):\n    if x:\n        return {1: x}\n    return g(x)\n", [
        "def f(x):\n    if x:\n        {1: x}\n    return g(x)\n",
    ]),
    ("SwallowRefusal", "def f(x):\n    if x: raise E\n    g(x)\n", ["def f(x):\n    if x: E\n    g(x)\n"]),
    ("SwallowRefusal", "def f(x):\n    if x: return g(x)\n    raise E\n", []),
    ("SwallowRefusal", "def f(x):\n    if x: return\n    g(x)\n", []),
    ("SwallowRefusal", "def f(x):\n    if x:\n        raise E\n", []),
    ("RefuseEverything", "def f(x):\n    if x > 1:\n        return 0\n    elif y: return g(x)\n    return g(x)\n", [
        "def f(x):\n    if True:\n        return 0\n    elif y: return g(x)\n    return g(x)\n",
        "def f(x):\n    if x > 1:\n        return 0\n    elif False: return g(x)\n    return g(x)\n",
    ]),
    ("RefuseEverything", "if x:\n    y = 1\n", []),
    ("AllowEverything", "def f(x):\n    if(x): raise E\n", ["def f(x):\n    if False: raise E\n"]),
    ("AllowEverything", "def f(x):\n    if x: return await_(x)\n", ["def f(x):\n    if True: return await_(x)\n"]),
    ("DropAwait", "async def f():\n    x = await  g(1) + (await h)\n", [
        "async def f():\n    x = g(1) + (await h)\n", "async def f():\n    x = await  g(1) + (h)\n",
    ]),
    ("CheckWrongArgument", "def f(self, x, y=1, *z):\n    if x and w: raise E(x)\n", [
        "def f(self, x, y=1, *z):\n    if y and w: raise E(x)\n", "def f(self, x, y=1, *z):\n    if z and w: raise E(x)\n",
    ]),
    ("CheckWrongArgument", "def f(x, y):\n    return a if g(x=y.x) else x\n", [
        "def f(x, y):\n    return a if g(x=x.x) else x\n",
    ]),
    ("CheckWrongArgument", "def f(x):\n    if x: raise E\n", []),
    ("CheckWrongArgument", "x = y if z else 1\n", []),
    ("StaleRead", "def f(x):\n    y = a.b\n    z = x + 1\n    u, v = a[0]\n    w += a()\n", [
        'def f(x):\n    y = globals().setdefault("_stale_y", a.b)\n    z = x + 1\n    u, v = a[0]\n    w += a()\n',
    ]),
    ("StaleRead", "x = y[0]\n", []),
    ("WrongUnit", "def f(x, y):\n    if 0 < x <= z or y == 1: pass\n", [
        "def f(x, y):\n    if 0 < x / 100 <= z or y == 1: pass\n", "def f(x, y):\n    if 0 < x * 100 <= z or y == 1: pass\n",
    ]),
    ("WrongUnit", "def f(x):\n    if x > 0 or 0 >= x: pass\n", []),
    ("WrongUnit", "def f(x):\n    if x.y > 1: pass\n", []),
    ("Tolerance", "def f(x):\n    return a<b+1 and x >= 2 > x\n", [
        "def f(x):\n    return a< (b+1) * 1.1 and x >= 2 > x\n", "def f(x):\n    return a<b+1 and x >= 2 * 1.1 > x\n",
    ]),
    ("Tolerance", "x == y in z", []),
    ("DropBound", "x = max(a, min(b or c, d))", ["x = a", "x = min(b or c, d)", "x = max(a, (b or c))", "x = max(a, d)"]),
    ("DropBound", "x = min(a) + max(*a, b) + min(a, b, key=c) + o.min(a, b)", []),
    ("OneLiteral", "def f(x):\n    if x: raise E\n", []),
    ("DropNormalisation", "x = a.b.strip(' ').lower( ).split()", ["x = a.b.strip(' ').split()"]),
    ("DropNormalisation", "x = unicodedata.normalize('NFC', a + b)", ["x = a + b"]),
    ("DropNormalisation", "x = strip(a)", []),
]  # fmt: skip


@pytest.mark.parametrize(("name", "source", "expected"), TABLE)
def test_an_operator_changes_all_its_places_in_order(name, source, expected):
    assert mutants(name, source) == expected
    for text in expected:
        # Only a function may contain `return`.
        ast.parse(f"def f():\n {text}" if "return" in text and "def " not in text else text)


@pytest.mark.parametrize("name", sorted(AutochronOperators()))
def test_every_operator_has_a_row(name):
    assert name in {row[0] for row in TABLE}


LITERALS = st.builds(
    lambda prefix, quote, text: f"{prefix}{quote}{text}{quote}",
    st.sampled_from(["", "r", "u", "R"]),
    st.sampled_from(["'", '"', "'''", '"""']),
    st.text("abX ä\\n1", max_size=5).filter(lambda text: not text.endswith("\\") and "\\a" not in text),
)


def is_python(text):
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@given(st.lists(LITERALS, min_size=1, max_size=3).map(" ".join).filter(lambda text: is_python(f"x = {text}")))
@pytest.mark.filterwarnings("ignore:invalid escape")
@pytest.mark.filterwarnings("ignore:.*invalid escape:DeprecationWarning")
def test_the_value_of_a_string_is_marked_with_any_quotes(literals):
    value = ast.literal_eval(literals)
    (marked,) = mutants("StringConstant", f"x = {literals}")
    assert ast.literal_eval(marked.removeprefix("x = ")) == f"XX{value}XX"
    emptied = mutants("EmptyString", f"x = {literals}")
    assert [ast.literal_eval(text.removeprefix("x = ")) for text in emptied] == ([""] if value else [])


# --- Names ---


def test_the_provider_has_the_interface_that_cosmic_ray_uses():
    assert list(AutochronOperators()) == [operator.__name__ for operator in OPERATORS]
    assert [AutochronOperators()[name] for name in AutochronOperators()] == list(OPERATORS)
    with pytest.raises(KeyError):
        AutochronOperators()["NumberReplacer"]


def test_the_entry_point_names_the_provider():
    project = tomllib.loads(Path(ROOT, "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, name = project["entry-points"]["cosmic_ray.operator_providers"]["autochron"].partition(":")
    assert getattr(import_module(module), name) is AutochronOperators


def test_operators_are_found_by_name_without_the_entry_point():
    assert operator_class("core/NumberReplacer") is NumberReplacer
    assert operator_class("autochron/NegateIf") is AutochronOperators()["NegateIf"]
    assert set(operator_names()) == {
        *(f"core/{name}" for name in OperatorProvider()), *(f"autochron/{name}" for name in AutochronOperators())
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("core/NumberReplacr", "core/NumberReplacer"),
        ("NegateIf", "autochron/NegateIf"),
        ("core/negateif", "autochron/NegateIf"),
    ],
)
def test_an_unknown_operator_is_refused_with_the_nearest(name, near):
    with pytest.raises(UsageError) as refused:
        operator_class(name)
    assert refused.value.message == f"there is no operator `{name}`; nearest is `{near}`"


def test_an_unknown_operator_without_a_near_one_says_where_they_are_listed():
    with pytest.raises(UsageError) as refused:
        operator_class("x")
    assert refused.value.message == "there is no operator `x`; `cosmic-ray operators` lists them"


# --- Sets ---

ORDERS = ("Lt", "LtE", "Gt", "GtE")
RELATIONS = ("Eq", "NotEq", *ORDERS)


def relational(versions_before):
    return {
        f"core/ReplaceComparisonOperator_{before}_{after}"
        for before in versions_before
        for after in RELATIONS
        if after != before
    }


IDENTITIES = {"core/ReplaceComparisonOperator_Is_IsNot", "core/ReplaceComparisonOperator_IsNot_Is"}
BOOLEANS = {
    f"core/Replace{change}" for change in ("TrueWithFalse", "FalseWithTrue", "AndWithOr", "OrWithAnd")
}


def test_the_paper_set_has_the_operators_of_the_paper():
    assert set(operator_set("paper").operators) == {
        "autochron/StringConstant", "autochron/ReplaceMembership", "autochron/DropOperand", "autochron/NegateIf",
        "core/NumberReplacer", *BOOLEANS, *IDENTITIES, *relational(ORDERS),
        "core/ReplaceComparisonOperator_Eq_NotEq", "core/ReplaceComparisonOperator_NotEq_Eq",
    }  # fmt: skip


def test_the_core_set_leaves_out_random_operators_and_those_between_identity_and_magnitude():
    left_out = {f"core/{name}" for name in OperatorProvider()} - set(operator_set("core").operators)
    mixed = {
        f"core/ReplaceComparisonOperator_{before}_{after}"
        for relation in RELATIONS
        for identity in ("Is", "IsNot")
        for before, after in ((relation, identity), (identity, relation))
    }
    assert left_out == {"core/VariableReplacer", "core/VariableInserter"} | mixed


def test_the_extended_set_is_the_core_set_and_our_operators():
    ours = tuple(f"autochron/{operator.__name__}" for operator in OPERATORS)
    assert operator_set("extended").operators == operator_set("core").operators + ours


def test_the_thresholds_set_changes_numbers_and_comparisons():
    thresholds = operator_set("thresholds")
    assert thresholds.places == "thresholds"
    assert set(thresholds.operators) == relational(RELATIONS) | {
        "core/NumberReplacer", "core/ReplaceUnaryOperator_USub_UAdd", "autochron/ReplaceMembership"
    }  # fmt: skip


def test_every_operator_of_a_set_needs_no_arguments():
    assert set_names() == ("paper", "core", "extended", "thresholds")
    for name in set_names():
        operators = operator_set(name)
        assert isinstance(operators, OperatorSet)
        assert operators.about
        assert operators.operators == tuple(name for name in operator_names() if name in operators.operators)
        for operator in operators.operators:
            assert operator_class(operator)()  # needs no arguments


def test_an_unknown_set_is_refused_with_the_nearest():
    with pytest.raises(UsageError) as refused:
        operator_set("papers")
    assert refused.value.message == "there is no operator set `papers`; nearest is `paper`"


def test_cosmic_ray_is_imported_only_when_it_is_needed():
    program = """
import sys
sys.modules["cosmic_ray"] = None
import autochron, autochron.mutate.sets as sets
print(sets.set_names())
try:
    sets.operator_set("core")
except autochron.errors.UsageError as error:
    print(error.message)
assert not any(name.startswith("parso") for name in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "('paper', 'core', 'extended', 'thresholds')",
        "mutation needs cosmic-ray, which isn't installed: pip install 'autochron[mutate]'",
    ], done.stderr
