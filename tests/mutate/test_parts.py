"""A function of a changed module, compiled by itself, has the same code as in the whole module."""

import pytest

from autochron.errors import UsageError
from autochron.mutate.bytecode import FunctionPart, compiled, fingerprint

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


def test_a_missing_function_is_an_error():
    with pytest.raises(UsageError, match=r"shop\.py has no function `pay`"):
        FunctionPart(SOURCE, "shop.py", "pay").compiled(SOURCE.replace("def pay(cents", "def paid(cents"))
