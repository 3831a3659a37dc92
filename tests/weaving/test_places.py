"""Weaving at compile time and in place: which functions are woven, what the ledger lists, and how weaving is undone."""

import opcode
import types

import pytest

from autochron.weaving import weave
from autochron.weaving.ledger import Ledger
from autochron.weaving.weave import Mark, function_kind, is_woven, weave_code, weave_function, weave_functions
from tests.weaving import ways

TEXT = """
import functools

def tool(a): return ("tool", a)

def other(a): return ("other", a)

def deco(f):
    @functools.wraps(f)
    def wrapper(*args): return f(*args)
    return wrapper

@deco
def decorated(a): return ("decorated", a)

def make(n):
    def inner(a): return (n, a)
    return inner

class C:
    def method(self): return "method"
    @property
    def prop(self): return "prop"

TOOLS = {f.__name__: f for f in (tool, other)}
early = make(1)
bound = C().method
part = functools.partial(tool, 1)
anonymous = lambda: 1
"""


@pytest.fixture
def module():
    code = ways.compiled_text(TEXT)
    with ways.program_as(code, ways.UNWOVEN) as module:
        module.code = code
        yield module


def weave_in_place(module, *names):
    ledger = Ledger()
    return weave_functions(ways.NAME, ways.all_places(module.code, *names), ledger), ledger


def test_weaving_in_place_reaches_functions_held_anywhere(module):
    undo, ledger = weave_in_place(module)
    handler = ways.Logging()
    with ways.handled_by(handler):
        (
            module.TOOLS["tool"](1),
            module.decorated(2),
            module.early(3),
            module.bound(),
            module.part(),
            module.C().prop,
        )
    undo()

    entered = [name for event, name, *_ in handler.log if event == "enter"]
    assert entered == [
        "tool", "deco.<locals>.wrapper", "decorated", "make.<locals>.inner", "C.method", "tool", "C.prop",
    ]  # fmt: skip
    assert {point.qualname for point in ledger.points} >= {
        "tool",
        "other",
        "make",
        "make.<locals>.inner",
        "C.method",
    }


def test_undoing_restores_the_identical_code_objects(module):
    functions = [
        woven_function
        for woven_function in weave.Functions().of(ways.NAME)
        if woven_function.__globals__ is module.__dict__
    ]
    before = [woven_function.__code__ for woven_function in functions]
    undo, _ = weave_in_place(module)
    assert sum(is_woven(woven_function.__code__) for woven_function in functions) >= 8
    undo()

    assert all(function.__code__ is code for function, code in zip(functions, before, strict=True))


def test_undoing_reaches_functions_that_woven_code_has_created_since(module):
    make, before = module.make, module.early.__code__
    undo, _ = weave_in_place(module)
    late = module.make(2)
    assert is_woven(late.__code__)
    undo()

    assert not is_woven(late.__code__)
    assert late.__code__ is before
    assert module.make is make


def test_undoing_leaves_code_that_someone_else_has_set_since(module):
    undo, _ = weave_in_place(module, "tool")
    mine = (lambda a: "mine").__code__
    module.tool.__code__ = mine
    undo()

    assert module.tool.__code__ is mine


def test_an_inner_function_is_woven_without_its_outer_one(module):
    make = module.make.__code__
    undo, ledger = weave_in_place(module, "make.<locals>.inner")

    assert not is_woven(module.make.__code__)
    assert module.make.__code__ is not make
    assert is_woven(module.make(5).__code__)
    assert is_woven(module.early.__code__)
    assert {point.qualname for point in ledger.points} == {"make.<locals>.inner"}
    undo()


def test_weaving_returns_the_same_code_object_if_nothing_is_woven(module):
    ledger = Ledger()

    assert weave_code(module.code, ways.NAME, {}, ledger) is module.code
    assert weave_code(module.code, ways.NAME, {("nothing", 1): Mark(())}, ledger) is module.code
    assert (ledger.points, ledger.unwoven) == ([], ())


def test_functions_that_are_not_selected_keep_their_code_objects(module):
    woven = weave_code(module.code, ways.NAME, ways.all_places(module.code, "tool"), Ledger())

    def named(code, name):
        return next(
            constant
            for constant in code.co_consts
            if isinstance(constant, types.CodeType) and constant.co_name == name
        )

    assert named(woven, "other") is named(module.code, "other")
    assert named(woven, "tool") is not named(module.code, "tool")


def test_a_place_matches_by_name_and_line(module):
    (place,) = ways.all_places(module.code, "tool")
    ledger = Ledger()

    assert weave_code(module.code, ways.NAME, {(place[0], place[1] + 1): Mark(())}, ledger) is module.code


def test_weaving_a_function_twice_is_refused_with_a_slug(module):
    undo, _ = weave_in_place(module, "tool")
    undo_second, ledger = weave_in_place(module, "tool")
    undo()

    assert [(refusal.what, refusal.slug) for refusal in ledger.unwoven] == [
        (f"{ways.NAME}:tool", "woven-twice")
    ]
    undo_second()
    assert not is_woven(module.tool.__code__)


def test_the_same_refusal_is_listed_once():
    ledger = Ledger()
    ledger.refuse("m:f", "because")
    ledger.refuse("m:f", "because")

    assert [(refusal.what, refusal.reason, refusal.slug) for refusal in ledger.unwoven] == [
        ("m:f", "because", "not-woven")
    ]


def test_code_with_an_unusual_beginning_is_not_woven():
    ledger = Ledger()

    def strange():
        return 1

    resume = next(at for at in range(0, 100, 2) if strange.__code__.co_code[at] == opcode.opmap["RESUME"])
    raw = bytearray(strange.__code__.co_code)
    raw[resume + 1] = 1
    strange.__code__ = strange.__code__.replace(co_code=bytes(raw))

    assert weave_function(strange, Mark(()), ledger) is None
    assert [refusal.reason for refusal in ledger.unwoven] == [
        "its code does not begin as the compiler's code does"
    ]


def test_a_single_function_is_woven_and_restored():
    def f(a):
        return a

    before = f.__code__
    ledger, handler = Ledger(), ways.Logging()
    undo = weave_function(f, Mark(("rule",), transport=True), ledger)
    with ways.handled_by(handler):
        f(1)
    undo()

    assert f.__code__ is before
    assert handler.events() == ["enter", "returned"]
    (point,) = ledger.points
    assert (point.rules, point.transport, point.parameters, point.file) == (("rule",), True, ("a",), __file__)
    assert (point.line, point.module, point.function) == (before.co_firstlineno, __name__, "sync")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("def f(): pass", "sync"),
        ("def f():\n    yield", "generator"),
        ("async def f(): pass", "coroutine"),
        ("async def f():\n    yield", "async_generator"),
        ("import types\n@types.coroutine\ndef f():\n    yield", "coroutine"),
    ],
)
def test_the_kind_of_a_function_is_read_from_its_code(text, kind):
    namespace = {}
    exec(text, namespace)

    assert function_kind(namespace["f"].__code__) == kind


def test_a_point_has_the_variadic_parameters():
    def f(a, *args, b, **kwargs):
        pass

    ledger = Ledger()
    weave_function(f, Mark(()), ledger)()

    assert (ledger.points[0].parameters, ledger.points[0].variadic) == (
        ("a", "b", "args", "kwargs"),
        ("args", "kwargs"),
    )
