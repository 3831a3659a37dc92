"""Functions that `gc.freeze()` has moved aside, as servers do before they fork, are woven and unwoven like others."""

from tests.cli.processes import python, write

PROGRAM = """
import functools, gc, shop, autochron
from autochron.instrument.activation import deactivate

table = {"pay": shop.pay}
bound = functools.partial(shop.pay, 3)
gc.freeze()
with autochron.record("x", store="memory:", rules="autochron.toml") as recording:
    shop.pay(1), table["pay"](2), bound(), shop.Till().open(), shop.made()
print([each.address for each in recording.trace().envelopes])
before = shop.pay.__code__
deactivate()
print(shop.pay.__code__ is before, shop.pay(1), gc.get_freeze_count() > 0)
"""

SHOP = """
def pay(amount):
    return amount

class Till:
    def open(self):
        return True

def _make():
    def made():
        return 1
    return made

made = _make()
"""

RULES = """
version = 1
[[boundary]]
name = "{__name__}"
kind = "tool"
target = "shop:pay"
[[boundary]]
name = "open"
kind = "tool"
target = "shop:Till.open"
"""


def test_frozen_functions_are_woven_and_unwoven(tmp_path):
    write(tmp_path, {"shop.py": SHOP, "autochron.toml": RULES, "main.py": PROGRAM})
    done = python(tmp_path, "main.py")
    assert (done.text.splitlines(), done.said) == (
        ["['pay[1]', 'pay[2]', 'pay[3]', 'open[1]']", "False 1 True"],
        "",
    )


ASKING = """
import asyncio, gc, shop, types, autochron

of, modules = gc.get_referents, []

def get_referents(*objects):
    modules.extend(each.__name__ for each in objects if isinstance(each, types.ModuleType))
    return of(*objects)

gc.get_referents = get_referents
gc.freeze()
with autochron.record("x", store="memory:", rules="autochron.toml"):
    asyncio.run(asyncio.sleep(0))
print(modules)
"""


def test_the_referents_of_modules_are_not_read(tmp_path):
    """Up to Python 3.12.5 `_asyncio` returns freed iterators, and the interpreter aborts when they are used."""
    write(tmp_path, {"shop.py": SHOP, "autochron.toml": RULES, "main.py": ASKING})
    done = python(tmp_path, "main.py")
    assert (done.text, done.said) == ("[]\n", "")


COUNTING = """
import gc, sys
from autochron.weaving.heap import every_function

def times(function):
    return sum(each is function for each in every_function())

def first():
    pass

ballast = [[] for _ in range(100_000)]
steps = [times(first)]
gc.freeze()
steps += [times(first), times(first)]
exec("def second():\\n    pass")
steps.append(times(second))
del ballast
gc.freeze()  # less is put aside now than the first time
steps += [times(first), times(second)]
gc.unfreeze()
steps += [times(first), times(second)]
gc.freeze()
steps += [times(first), times(second)]
print(steps)
"""


def test_each_function_is_found_once_after_repeated_freezes(tmp_path):
    write(tmp_path, {"main.py": COUNTING})
    done = python(tmp_path, "main.py")
    assert (done.text, done.said) == ("[1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n", "")
