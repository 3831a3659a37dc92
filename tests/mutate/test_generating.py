"""The mutants of a function: which are generated, that cosmic-ray makes the same ones, and what is refused."""

import sys
import textwrap
import time
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("cosmic_ray")

from cosmic_ray.mutating import mutate_code
from hypothesis import given, settings
from hypothesis import strategies as st

from autochron.errors import UsageError
from autochron.mutate.bytecode import compiled, fingerprint
from autochron.mutate.generating import Generated, generate, mutated
from autochron.mutate.model import MutationTarget
from autochron.mutate.operators import operator_class
from autochron.mutate.parsing import parse
from autochron.mutate.sets import OperatorSet, operator_set
from tests.cli.processes import ROOT

INCIDENTS = sorted(path.parent for path in Path(ROOT, "incidents").glob("*/guarded.py"))


@pytest.fixture
def generate_from(tmp_path):
    """Return a function that writes a module and generates the mutants of a function in it."""

    def make(source, function="f", operators="paper", **more) -> Generated:
        chosen = (
            operator_set(operators)
            if isinstance(operators, str)
            else OperatorSet("some", "", tuple(operators))
        )
        text = textwrap.dedent(source).lstrip("\n")
        (tmp_path / "m.py").write_text(text, encoding="utf-8", newline="")
        return generate(tmp_path, "some", MutationTarget("m.py", function), chosen, **more)

    return make


def described(generated):
    """Return each mutant in a few words: its place, the text before and the text after."""
    return [
        f"{mutant.line}:{mutant.column} {mutant.before} -> {mutant.after}" for mutant in generated.mutants
    ]


def by_cosmic_ray(generated, mutant):
    return mutate_code(
        generated.source, operator_class(mutant.operator)(**mutant.arguments), mutant.occurrence
    )


def assert_sound(generated):
    """Check what must hold of all mutants of every function."""
    assert generated.generated == len(generated.mutants) + generated.same_bytecode + generated.duplicates
    assert len({mutant.id for mutant in generated.mutants}) == len(generated.mutants)
    programs = {None: fingerprint(compile(generated.source, "m.py", "exec", dont_inherit=True))}
    for mutant in generated.mutants:
        text = mutated(generated.source, mutant)
        assert text == by_cosmic_ray(generated, mutant)
        lines = generated.source.split("\n")[mutant.line - 1 : mutant.end_line]
        lines[-1] = lines[-1][: mutant.end_column]
        assert "\n".join(lines)[mutant.column :] == mutant.before
        try:
            programs[mutant.id] = fingerprint(compile(text, "m.py", "exec", dont_inherit=True))
        except SyntaxError:
            assert mutant.id in generated.invalid
        else:
            assert mutant.id not in generated.invalid
    assert len(set(programs.values())) == len(
        programs
    )  # no two whole modules are the same, and none is the source


# --- Which are generated ---

SOURCE = '''
"""Words."""
from __future__ import annotations
import os

LOW = 10


def deco(n):
    return lambda f: f


@deco(7)
def f(a: int | None = 4, /, *, note="n" f"{8}") -> int | str:
    """Doc 1."""
    total: int | float = a  # type: int + 1
    def inner(a: int | None = 2, *, b) -> int | None:
        "inner doc"
        return {**a, "k": f"{b + 6:>{7}}"}
    class Deep:
        """deep"""
        x: int = 9
    return f"{total - 1}", lambda *, c: c
'''

BODY = ["16:30 2 -> 3", "16:30 2 -> 1", '18:21 "k" -> "XXkXX"', "21:17 9 -> 10", "21:17 9 -> 8"]
HEAD = ["12:6 7 -> 8", "12:6 7 -> 6", "13:22 4 -> 5", "13:22 4 -> 3", "13:43 8 -> 9", "13:43 8 -> 7"]
DEEPER = [
    '17:8 "inner doc" -> "XXinner docXX"', "18:33 6 -> 7", "18:33 6 -> 5", "18:37 7 -> 8", "18:37 7 -> 6",
    '20:8 """deep""" -> """XXdeepXX"""', "22:22 1 -> 2", "22:22 1 -> 0",
]  # fmt: skip


def test_by_default_signature_docstrings_annotations_and_f_strings_are_not_mutated(generate_from):
    generated = generate_from(SOURCE)
    assert described(generated) == BODY
    assert {mutant.at_import for mutant in generated.mutants} == {False}


def test_everything_mutates_all_but_annotations(generate_from):
    generated = generate_from(SOURCE, everything=True)
    doc = '14:4 """Doc 1.""" -> """XXDoc 1.XX"""'
    assert sorted(described(generated)) == sorted([*HEAD, doc, *BODY, *DEEPER])
    # These are evaluated when the function is defined.
    assert [
        text for text, mutant in zip(described(generated), generated.mutants, strict=True) if mutant.at_import
    ] == [*HEAD, doc]


def test_the_functions_own_decorators_are_removed_only_with_everything(generate_from):
    source = "import g\n\n# Why.\n@g.a\n@g.b(1)  # how\ndef f(a):\n    @g.c\n    def inner(): pass\n"
    generated = generate_from(source, operators=["core/RemoveDecorator"], everything=True)
    assert [(mutant.before, mutant.after, mutant.at_import) for mutant in generated.mutants] == [
        ("@g.a\n", "", True), ("@g.b(1)  # how\n", "", True), ("@g.c\n", "", False)
    ]  # fmt: skip
    assert [
        mutant.before for mutant in generate_from(source, operators=["core/RemoveDecorator"]).mutants
    ] == ["@g.c\n"]
    assert_sound(generated)


def test_a_mutant_of_the_body_keeps_its_id_with_everything(generate_from):
    body, everything = generate_from(SOURCE).mutants, generate_from(SOURCE, everything=True).mutants
    assert {mutant.id for mutant in body} < {mutant.id for mutant in everything}


def test_a_star_that_is_no_operator_is_not_mutated(generate_from):
    source = """
    def f(a):
        def inner(b, /, *, c=1 * 2, **d): return [*b], {**d}, inner(*b, **d)
        g = lambda e, *, h: e ** 2
        return inner | g
    """
    generated = generate_from(
        source, operators=["core/ReplaceBinaryOperator_Mul_Add", "core/ReplaceBinaryOperator_Pow_Mul"]
    )
    assert described(generated) == ["2:27 * -> +", "3:26 ** -> *"]
    assert_sound(generated)


def test_only_whole_names_of_exceptions_are_replaced(generate_from):
    source = """
    def f(a):
        try: pass
        except a.B: pass
        except (a.B, KeyError): pass
        except ValueError as b: pass
    """
    generated = generate_from(source, operators=["core/ExceptionReplacer"])
    new = "CosmicRayTestingException"
    assert described(generated) == [f"4:17 KeyError -> {new}", f"5:11 ValueError -> {new}"]
    assert_sound(generated)


def test_mutants_come_in_the_order_of_the_source_and_then_of_the_operators(generate_from):
    source = """
    def f(a):
        if a > 1 and a in "x": return True
    """
    tried = (
        ("NegateIf", "DropOperand"),
        ("NumberReplacer", "ReplaceTrueWithFalse", "AddNot", "ReplaceComparisonOperator_Gt_Lt"),
    )
    names = [
        f"{provider}/{name}"
        for provider, own in zip(("autochron", "core"), tried, strict=True)
        for name in own
    ]
    generated = generate_from(source, operators=names)
    condition = 'a > 1 and a in "x"'
    assert described(generated) == [
        f"2:7 {condition} -> not ({condition})",
        f'2:7 {condition} -> a in "x"',
        f"2:7 {condition} -> a > 1",
        f"2:7 {condition} -> not {condition}",
        "2:9 > -> <", "2:11 1 -> 2", "2:11 1 -> 0", "2:34 True -> False",
    ]  # fmt: skip


FORMS = """
import functools

def f(a): return a > 0

async def g(a):
    async with a as b:
        return [c async for c in b if c > 1]

def h(a):
    yield a > 2; x = 1

class A:
    def m(self): return self.a > 3
    class B:
        @staticmethod
        @functools.cache
        async def n(a): return a > 4

def outer(a):
    if a:
        def inner(): return "ä" < a > 5
    return inner

if FLAG:
    def twice(): return 0 > 6
else:
    def twice(): return 0 > 7
def last(): return 0 > 8;"""


@pytest.mark.parametrize(
    ("function", "number"),
    [("f", 0), ("g", 1), ("h", 2), ("A.m", 3), ("A.B.n", 4), ("outer", 5), ("outer.<locals>.inner", 5),
     ("twice", 7), ("last", 8)],
)  # fmt: skip
def test_every_form_of_function_is_found(generate_from, function, number):
    generated = generate_from(FORMS, function, operators=["core/ReplaceComparisonOperator_Gt_Lt"])
    (mutant,) = generated.mutants
    assert mutant.occurrence == number
    assert mutated(generated.source, mutant) == generated.source.replace(f"> {number}", f"< {number}")
    # The compiled code is that of the same function.
    before, after = (
        compiled(text, "m.py", function) for text in (generated.source, mutated(generated.source, mutant))
    )
    assert before.co_qualname == after.co_qualname == function
    assert fingerprint(before) != fingerprint(after)


# --- Constants ---

CONSTANTS = """
LOW = 10
HIGH: int = LOW * 2
UNUSED = 5
SHADOWED = 6
IS_ON = LOW > 3 if LOW in (1,) else f"{4}"
later: int
if IS_ON:
    later = -1

class A:
    limit = 5
    more = limit + 1
    other = 7
    def m(self, amount=4, *, note=8):
        SHADOWED = 1
        return HIGH > amount and IS_ON and later and self.more > 2 and SHADOWED
"""


def test_thresholds_are_the_constants_and_defaults_that_the_function_uses(generate_from):
    generated = generate_from(CONSTANTS, "A.m", operators="thresholds")
    numbers = [mutant for mutant in generated.mutants if mutant.operator == "core/NumberReplacer"]
    assert [(mutant.line, mutant.before, mutant.after) for mutant in numbers] == [
        (line, str(number), str(number + by))
        for line, number in [(1, 10), (2, 2), (5, 3), (5, 1), (8, 1), (11, 5), (12, 1), (14, 4), (14, 8)]
        for by in (1, -1)
    ]
    other_changes = [
        text
        for text in described(generated)
        if text.partition(" ")[2].partition(" ")[0] not in {m.before for m in numbers}
    ]
    assert other_changes == [
        "5:12 > -> ==",
        "5:12 > -> !=",
        "5:12 > -> <",
        "5:12 > -> <=",
        "5:12 > -> >=",
        "5:23 in -> not in",
        "8:12 - -> +",
    ]
    assert {mutant.at_import for mutant in generated.mutants} == {True}
    assert_sound(generated)


def test_a_function_without_constants_has_no_thresholds(generate_from):
    generated = generate_from("A = 1\ndef f(a): return a > 2", operators="thresholds")
    assert (generated.mutants, generated.generated) == ((), 0)


def test_a_constant_that_is_set_twice_has_two_mutants_of_each_sort(generate_from):
    generated = generate_from("A = 1\nA = 1\ndef f(): return A", operators="thresholds")
    assert described(generated) == ["1:4 1 -> 2", "1:4 1 -> 0", "2:4 1 -> 2", "2:4 1 -> 0"]
    assert_sound(generated)


# --- Same bytecode and duplicates ---


@pytest.mark.parametrize(
    ("body", "operators", "expected"),
    [
        # `not a` and `not (a)` are the same program, so only the first stays.
        ("if a: pass", ["core/AddNot", "autochron/NegateIf"], (2, 0, 1, ["not a"])),
        ("if a or b: pass", ["core/AddNot", "autochron/NegateIf"], (2, 0, 0, ["not a or b", "not (a or b)"])),
        # A string as a statement compiles to nothing.
        ("pass; 'x'", ["autochron/StringConstant"], (1, 1, 0, [])),
        ("return 1e22", ["core/NumberReplacer"], (2, 2, 0, [])),
        # 1, 1.0 and True are equal, but different programs.
        ("return 1, 1.0, True", ["core/NumberReplacer", "core/ReplaceTrueWithFalse"],
         (5, 0, 0, ["2", "0", "2.0", "0.0", "False"])),
        ("return 0, False, 0.0, -0.0", ["core/ReplaceFalseWithTrue", "core/ReplaceUnaryOperator_USub_UAdd"],
         (2, 0, 0, ["True", "+"])),
    ],
)  # fmt: skip
def test_mutants_with_the_same_bytecode_and_duplicates_are_dropped(generate_from, body, operators, expected):
    generated = generate_from(f"def f(a, b):\n    {body}", operators=operators)
    counts = (generated.generated, generated.same_bytecode, generated.duplicates)
    assert (*counts, [mutant.after for mutant in generated.mutants]) == expected
    assert_sound(generated)


def test_mutants_that_are_not_python_are_kept_and_listed(generate_from):
    generated = generate_from("def f(a):\n    for x in a: continue\n    1", operators=["core/NumberReplacer"])
    # cosmic-ray removes the blanks before a number, which are an indentation here.
    assert described(generated) == ["3:4 1 -> 2", "3:4 1 -> 0"]
    assert generated.invalid == tuple(mutant.id for mutant in generated.mutants)
    assert_sound(generated)


# --- Identity ---


def test_a_guard_is_made_to_look_at_what_an_argument_was_in_the_incident(generate_from):
    source = """
    def f(order, cents=1, *, note):
        if cents > 7 or note:
            raise ValueError(cents)
        elif order in PAID:
            return pay(order)
        return None
    """
    literals = {"order": "'A1'", "cents": "-9", "currency": "'EUR'"}
    generated = generate_from(source, operators=["autochron/OneLiteral"], literals=literals)
    assert described(generated) == [
        "2:7 cents > 7 or note -> (cents > 7 or note) and order == 'A1'",
        "2:7 cents > 7 or note -> (cents > 7 or note) and cents == -9",
        "4:9 order in PAID -> (order in PAID) or order != 'A1'",
        "4:9 order in PAID -> (order in PAID) or cents != -9",
    ]
    assert {by_cosmic_ray(generated, mutant) for mutant in generated.mutants} == {
        mutated(generated.source, mutant) for mutant in generated.mutants
    }
    assert generate_from(source, operators=["autochron/OneLiteral"]).mutants == ()


def test_an_id_does_not_depend_on_the_text_above(generate_from):
    body = "def f(a):\n    return a > 1 and a < 1\n"
    below = "x = [1 > 2, 1 in (3, 4), 'x']\n\ndef other(): return 1 and 2\n\n" + body
    first, second = generate_from(body, operators="extended"), generate_from(below, operators="extended")
    assert [mutant.id for mutant in first.mutants] == [mutant.id for mutant in second.mutants]
    assert [mutant.line for mutant in first.mutants] != [mutant.line for mutant in second.mutants]
    numbers = [mutant for mutant in second.mutants if mutant.operator == "core/NumberReplacer"]
    assert [mutant.occurrence for mutant in numbers] == [14, 15, 16, 17]


def test_an_id_is_the_same_on_every_machine(generate_from):
    (mutant,) = generate_from(
        "def f(a): return a == 1", operators=["core/ReplaceComparisonOperator_Eq_NotEq"]
    ).mutants
    assert mutant.id == "521a7f1602ad"


def test_a_mutant_of_another_source_is_refused(generate_from):
    generated = generate_from("def f(a): return a > 1", operators=["core/NumberReplacer"])
    mutant = generated.mutants[0]
    for source in ("def f(a): return a > 2", "def f(a): return a"):
        with pytest.raises(UsageError) as refused:
            mutated(source, mutant)
        assert refused.value.message == (
            f"m.py:1: mutant {mutant.id} was made of another source, with `1` there; generate the mutants anew"
        )


# --- As cosmic-ray ---


@pytest.mark.parametrize("folder", INCIDENTS, ids=lambda folder: folder.name)
def test_cosmic_ray_makes_the_same_mutants_of_the_incidents(folder):
    tool = tomllib.loads((folder / "incident.toml").read_text(encoding="utf-8"))["tool"].partition(":")[2]
    assert_sound(
        generate(
            folder, folder.name, MutationTarget("guarded.py", tool), operator_set("extended"), everything=True
        )
    )


ATOMS = st.sampled_from(
    ["a", "b", "self.c", "0", "1", "2.5", "1j", "''", "'x'", "b'y'", "'p' 'q'", "True", "None", "f'{a + 1}z'"]
)
OPERATORS = st.sampled_from(["and", "or", "in", "not in", "is not", "<", "==", "+", "**"])
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("{} {} {}".format, inner, OPERATORS, inner),
        st.builds("({})and({})or({})".format, inner, inner, inner),
        st.builds("(\n        {}\n        and {}  # it's\n        and {})".format, inner, inner, inner),
        st.builds("not {}".format, inner),
        st.builds("-({})".format, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("[{} for a in b if {} if {}]".format, inner, inner, inner),
        st.builds("g(*a, k={}, **b)".format, inner),
        st.builds("{{**a, 'k': {}}}".format, inner),
        st.builds("(lambda a, *, b={}: {})".format, inner, inner),
    ),
    max_leaves=6,
)  # fmt: skip
STATEMENTS = st.one_of(
    st.builds("x = {}".format, EXPRESSIONS),
    st.builds("x: int | None = {}; y = 1".format, EXPRESSIONS),
    st.builds(
        "if({}): x = {}\n    elif {}: pass\n    else: x = 2".format, EXPRESSIONS, EXPRESSIONS, EXPRESSIONS
    ),
    st.builds("while {}: break".format, EXPRESSIONS),
    st.builds("for y in ({}): continue".format, EXPRESSIONS),
    st.builds("assert {}, 'why'".format, EXPRESSIONS),
    st.builds("try: pass\n    except (KeyError, a.B): x = {}".format, EXPRESSIONS),
    st.builds(
        "@g\n    def h(p: int | None = {}, *, q=1) -> 'r':\n        'doc'\n        return {}".format,
        EXPRESSIONS,
        EXPRESSIONS,
    ),
    st.builds("return {}".format, EXPRESSIONS),
)
FUNCTIONS = st.lists(STATEMENTS, min_size=1, max_size=4).map(
    lambda statements: (
        "\n    ".join(["@g(3)\ndef f(self, a=1, *, b: 'x | 2' = 4):", '"""Doc."""', *statements]) + "\n"
    )
)


def is_python(text):
    try:
        compile(text, "m.py", "exec")
    except SyntaxError:
        return False
    return True


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@settings(max_examples=20)
@given(
    above=st.lists(EXPRESSIONS.map("X = ({})\n".format), max_size=2).map("".join),
    function=FUNCTIONS,
    name=st.sampled_from(["extended", "paper"]),
    everything=st.booleans(),
    data=st.data(),
)
def test_cosmic_ray_makes_the_same_mutants_of_any_function(
    tmp_path_factory, above, function, name, everything, data
):
    source = above + function
    if not is_python(source):
        return
    folder = tmp_path_factory.mktemp("made")
    (folder / "m.py").write_text(source, encoding="utf-8")
    generated = generate(
        folder, "some", MutationTarget("m.py", "f"), operator_set(name), everything=everything
    )
    for mutant in generated.mutants:
        text = mutated(source, mutant)
        assert text.startswith(above)  # the text above is never changed
        assert is_python(text) == (mutant.id not in generated.invalid)
    # cosmic-ray parses anew for each mutant, so only a few are compared here. Those of the incidents are all compared.
    picked = data.draw(st.lists(st.sampled_from(generated.mutants), max_size=6)) if generated.mutants else []
    for mutant in picked:
        assert mutated(source, mutant) == by_cosmic_ray(generated, mutant)
    if picked:
        # Our own operators always make valid Python.
        ours = {mutant.id for mutant in generated.mutants if mutant.operator.startswith("autochron/")}
        assert not ours & set(generated.invalid)


# --- What is refused ---

NEWER = sys.version_info >= (3, 12)
MISREAD = [
    ("def f(a):\n    match a:\n        case 1: return 2\n", 2, "the `match` statement"),
    ("def g(a):\n    match a:\n        case 1: return 2\ndef f(a): return 1\n", 2, "the `match` statement"),
    ("def f(a):\n    x = 1\n    try: a()\n    except* ValueError: pass\n", 3, "`except*`"),
    ("def f(a):\n    with (a() as b, a() as c): pass\n", 2, "`with` and its brackets"),
    ("async def f(a):\n    async with (a() as b, a() as c): pass\n", 2, "`with` and its brackets"),
    ("def f(a):\n    return a[*a]\n", 2, "a `*` in this place"),
    ("x = 1\n\x0cdef f(a): return 1\n", 2, "a form feed"),
]
MISREAD_NEWER = [
    (
        'def f(a):\n    return f"{a["b"]}"\n',
        2,
        "an f-string with its own quotes, line breaks or comments inside braces",
    ),
    (
        'def f(a):\n    return f"{a\n}"\n',
        2,
        "an f-string with its own quotes, line breaks or comments inside braces",
    ),
    ("type X = int\ndef f(a): return 1\n", 1, "the `type` statement"),
]


@pytest.mark.parametrize(("source", "line", "construct"), [*MISREAD, *(MISREAD_NEWER if NEWER else [])])
@pytest.mark.parametrize("everything", [False, True])
def test_syntax_that_parso_misreads_is_refused_with_its_line(
    generate_from, source, line, construct, everything
):
    with pytest.raises(UsageError) as refused:
        generate_from(source, everything=everything)
    assert refused.value.message == (
        f"m.py:{line}: cosmic-ray's parser, parso, can't read {construct}, and would miss places of `f`; "
        "write it otherwise, or move it and `f` into different files"
    )


@pytest.mark.parametrize(("source", "line", "construct"), MISREAD)
def test_syntax_that_parso_misreads_below_the_function_does_no_harm(generate_from, source, line, construct):
    generated = generate_from("def first(a): return a > 1\n" + source.lstrip("\x0c"), "first")
    assert len(generated.mutants) == 7
    assert_sound(generated)


@pytest.mark.skipif(not NEWER, reason="type parameters came with 3.12")
def test_a_function_with_type_parameters_is_read(generate_from):
    generated = generate_from("def f[T: int](a: T) -> T:\n    return a > 1\n", operators="extended")
    assert {mutant.before for mutant in generated.mutants} - {"a"} == {">", "1"}
    assert compiled(generated.source, "m.py", "f").co_argcount == 1
    assert_sound(generated)


def test_a_function_on_which_parso_and_python_do_not_agree_is_refused(generate_from, monkeypatch):
    source = "def f(a):\n    return a > 1\n"
    wrong = parse(source, "m.py")
    definition = wrong.definition("f")
    monkeypatch.setattr(definition, "end_lineno", 1)
    with pytest.raises(UsageError) as refused:
        generate_from(source)
    assert refused.value.message == (
        "m.py:1: parso and Python don't agree on where `f` begins and ends, so it can't be mutated; "
        "move it to a file of its own, or write it in a plainer way"
    )


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            "issue_refnd",
            "m.py has no function `issue_refnd`; nearest is `issue_refund`; name one that it defines",
        ),
        ("A.run", "m.py has no function `A.run`; nearest is `A.rum`; name one that it defines"),
        ("A", "m.py has no function `A`; known are `issue_refund`, `A.rum`; name one that it defines"),
    ],
)
def test_an_unknown_function_is_refused_with_the_nearest(generate_from, function, message):
    with pytest.raises(UsageError) as refused:
        generate_from("def issue_refund(): pass\nclass A:\n    def rum(self): pass\n", function)
    assert refused.value.message == message


def test_an_unknown_file_is_refused_with_the_nearest(generate_from, tmp_path):
    (tmp_path / "guarded.py").write_text("")
    with pytest.raises(UsageError) as refused:
        generate(tmp_path, "some", MutationTarget("guardd.py", "f"), operator_set("paper"))
    assert refused.value.message == (
        f"there is no file guardd.py in {tmp_path}; nearest is `guarded.py`; a target is written FILE:FUNCTION"
    )


def test_a_file_that_is_not_python_is_refused_with_its_line(generate_from):
    with pytest.raises(UsageError) as refused:
        generate_from("x = 1\ndef f(:\n")
    assert refused.value.message == (
        "m.py:2 is no Python (invalid syntax), so there is nothing to mutate; mend it first"
    )


def test_code_that_an_operator_cannot_read_is_refused_with_its_line(generate_from):
    with pytest.raises(UsageError) as refused:
        generate_from("def f(a):\n    try: pass\n    except (): pass\n", operators=["core/ExceptionReplacer"])
    assert refused.value.message.startswith("m.py:3 can't be read by cosmic-ray's core/ExceptionReplacer (")


# --- Files ---


def test_a_file_is_read_as_cosmic_ray_reads_it(generate_from, tmp_path):
    text = '# coding: latin-1\r\ndef f(a):\r\n    return a == "\xe4", "b"\r\n'
    (tmp_path / "m.py").write_bytes(text.encode("latin-1"))
    generated = generate(tmp_path, "some", MutationTarget("m.py", "f"), operator_set("paper"))
    assert generated.source == text.replace("\r\n", "\n")
    assert described(generated) == ["3:13 == -> !=", '3:16 "ä" -> "XXäXX"', '3:21 "b" -> "XXbXX"']
    assert_sound(generated)


# --- Code objects ---


def test_the_code_of_a_function_is_that_of_the_module(generate_from):
    source = "def f(a):\n    return a > 1\n"
    names = {}
    exec(compile(source, "m.py", "exec"), names)
    assert compiled(source, "m.py", "f") == names["f"].__code__


def test_of_several_functions_of_one_name_the_last_is_compiled():
    source = "def f(): return 1\ndef f(): return 2\nclass A:\n    def f(self): return 3\n"
    assert compiled(source, "m.py", "f").co_consts[-1] == 2
    assert compiled(source, "m.py", "A.f").co_consts[-1] == 3


def test_a_class_is_no_function():
    with pytest.raises(UsageError) as refused:
        compiled("class A: pass\ndef a(): pass\n", "m.py", "A")
    assert refused.value.message == "m.py has no function `A`; nearest is `a`"


def test_a_text_that_is_not_python_has_no_code():
    with pytest.raises(SyntaxError):
        compiled("def f(:", "m.py", "f")


@pytest.mark.filterwarnings("error")
def test_code_that_python_warns_of_is_mutated_too(generate_from):
    generated = generate_from(
        "def f(a):\n    return '\\d' if 1 is a else 2", operators=["core/NumberReplacer"]
    )
    assert described(generated) == ["2:19 1 -> 2", "2:19 1 -> 0", "2:31 2 -> 3", "2:31 2 -> 1"]
    assert compiled(generated.source, "m.py", "f").co_argcount == 1


def test_a_fingerprint_does_not_depend_on_lines_and_layout():
    first = compiled("def f(a):\n    return [x for x in a if x > 1]\n", "m.py", "f")
    second = compiled("\n\ndef f( a ): # why\n\n    return [ x for x in a if (x > 1) ]\n", "m.py", "f")
    third = compiled("def f(a):\n    return [x for x in a if x > 1.0]\n", "m.py", "f")
    assert fingerprint(first) == fingerprint(second)
    assert fingerprint(first) != fingerprint(third)


# --- Speed ---


@pytest.mark.slow
def test_mutants_of_sixty_lines_are_generated_fast(generate_from):
    clauses = [
        f'    if amount > {number} and currency == "EUR" or account not in ("a", "b{number}"):\n'
        f"        total = amount * {number} + 3\n"
        f'        return {{"status": "blocked", "n": total}}\n'
        for number in range(19)
    ]
    source = "def f(account, amount, currency):\n" + "".join(clauses) + "    return None\n"
    rates = []
    for _ in range(3):
        parse.cache_clear()
        began = time.process_time()
        generated = generate_from(source, operators="extended")
        rates.append(generated.generated / (time.process_time() - began))
    assert max(rates) > 500, rates  # an idle machine reaches twice that
