"""A function of a changed module, compiled by itself, has the same code as in the whole module. Canaries raise."""

import pytest

from autochron.errors import UsageError
from autochron.mutate.bytecode import FunctionPart, compiled, fingerprint
from autochron.mutate.canary import canary_source

SOURCE = '''\
"""A module."""
from __future__ import annotations

import functools

LIMIT = 3


@functools.cache
def pay(cents: int, to: str = "x") -> dict:
    """Pay."""
    def inside():
        return [each for each in range(cents)]
    if cents > LIMIT:
        return {"blocked": True}
    return {"paid": inside()}


class Shop:
    def pay(self):
        return self.__till


AFTER = pay
'''


def assert_same_code(part, text, name="pay"):
    from_part, from_module = part.compiled(text), compiled(text, "shop.py", name)
    assert (fingerprint(from_part), list(from_part.co_positions()), from_part.co_firstlineno, from_part.co_filename) == (
        fingerprint(from_module), list(from_module.co_positions()), from_module.co_firstlineno, from_module.co_filename,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cents > LIMIT", "cents >= LIMIT"),
        ('"blocked": True', '"blocked":\n            not True'),
        ("@functools.cache", "@functools.lru_cache(9)"),
        ("LIMIT = 3", "LIMIT = 4\nOTHER = 1"),
        ("AFTER = pay", "AFTER = None"),
        ("from __future__ import annotations\n", ""),
        ("[each for", "[-each for"),
    ],
)
def test_a_change_anywhere_compiles_as_in_the_whole_module(before, after):
    assert before in SOURCE
    assert_same_code(FunctionPart(SOURCE, "shop.py", "pay"), SOURCE.replace(before, after))


def test_a_method_is_compiled_with_the_whole_module():
    assert_same_code(
        FunctionPart(SOURCE, "shop.py", "Shop.pay"), SOURCE.replace("self.__till", "-self.__till"), "Shop.pay"
    )


def test_of_several_functions_of_one_name_the_last_is_compiled():
    source = "def pay():\n    return 1\n\n\ndef pay():\n    return 2\n"
    part = FunctionPart(source, "shop.py", "pay")
    assert_same_code(part, source.replace("2", "3"))
    assert_same_code(part, source.replace("1", "3"))


def test_a_syntax_error_has_the_line_of_the_whole_module():
    with pytest.raises(SyntaxError) as caught:
        FunctionPart(SOURCE, "shop.py", "pay").compiled(SOURCE.replace("cents > LIMIT", "cents >"))
    assert caught.value.lineno == 14


# --- the canary --------------------------------------------------------------------------------------------------------

CANARIES = {
    "plain": "def pay(cents):\n    return cents\n",
    "in one line": "def pay(cents): return cents\n",
    "after another of its name": "def pay(cents):\n    return 1\n\ndef pay(cents):\n    return cents\n",
    "after another in a branch": "try:\n    def pay(): pass\nfinally:\n    def pay(cents):\n        return cents\n",
    "after a class with one": "class Shop:\n    def pay(self): return 1\n\ndef pay(cents):\n    return cents\n",
    "inner generator": "def pay(cents):\n    def each():\n        yield cents\n    return sum(each())\n",
    "inner lambda": "def pay(cents):\n    return list((lambda: (yield cents))())\n",
    "decorated inner function": "def pay(cents):\n    @property\n    def each(): pass\n    return cents\n",
    "decorated inner class": "def pay(cents):\n    @property\n    @str\n    class Each: pass\n    return cents\n",
    "form feed": "A = 1\n\x0c\ndef pay(cents):\n    return 'a\x0cb'\n\nB = 2\n",
}


@pytest.mark.parametrize("source", CANARIES.values(), ids=CANARIES)
def test_a_canary_raises_when_it_is_called(source):
    space = {}
    exec(canary_source(source, "pay"), space)
    with pytest.raises(NotImplementedError, match="a canary of autochron"):
        space["pay"](1)


@pytest.mark.parametrize(
    "source",
    [
        "def pay(cents):\n    yield cents\n",
        "def pay(cents):\n    def each(first=(yield cents)): pass\n",
        "def pay(cents):\n    return (each for each in (yield cents))\n",
    ],
)
def test_a_canary_of_a_generator_raises_when_its_first_item_is_asked_for(source):
    space = {}
    exec(canary_source(source, "pay"), space)
    items = space["pay"](1)
    with pytest.raises(NotImplementedError, match="a canary of autochron"):
        next(items)


def test_a_missing_function_is_an_error():
    with pytest.raises(UsageError, match=r"shop\.py has no function `pay`"):
        FunctionPart(SOURCE, "shop.py", "pay").compiled(SOURCE.replace("def pay(cents", "def paid(cents"))
