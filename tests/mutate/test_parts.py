"""The code of a function out of a changed module: compiled by itself, it is what the whole module gives."""

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


def same(part, text, name="pay"):
    own, whole = part.compiled(text), compiled(text, "shop.py", name)
    assert (fingerprint(own), list(own.co_positions()), own.co_firstlineno, own.co_filename) == (
        fingerprint(whole), list(whole.co_positions()), whole.co_firstlineno, whole.co_filename,
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
def test_a_change_anywhere_gives_what_the_whole_gives(before, after):
    assert before in SOURCE
    same(FunctionPart(SOURCE, "shop.py", "pay"), SOURCE.replace(before, after))


def test_a_method_is_compiled_with_the_whole():
    same(
        FunctionPart(SOURCE, "shop.py", "Shop.pay"), SOURCE.replace("self.__till", "-self.__till"), "Shop.pay"
    )


def test_the_last_of_a_name_is_meant():
    source = "def pay():\n    return 1\n\n\ndef pay():\n    return 2\n"
    part = FunctionPart(source, "shop.py", "pay")
    same(part, source.replace("2", "3"))
    same(part, source.replace("1", "3"))


def test_what_is_no_python_is_said_of_the_whole():
    with pytest.raises(SyntaxError) as caught:
        FunctionPart(SOURCE, "shop.py", "pay").compiled(SOURCE.replace("cents > LIMIT", "cents >"))
    assert caught.value.lineno == 14


def test_a_function_that_is_gone_is_said():
    with pytest.raises(UsageError, match=r"shop\.py has no function `pay`"):
        FunctionPart(SOURCE, "shop.py", "pay").compiled(SOURCE.replace("def pay(cents", "def paid(cents"))
