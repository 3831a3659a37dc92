"""A generator or coroutine that only the caller gets is followed, however its function returns it.

One that something else holds is handed out itself, for a stand-in would not be what the other holds. Which it is, reference
counts tell, and they count other references on each version of Python.
"""

import pytest

from tests.cli import processes

LIB = """
import functools

kept = []

def numbers(count):
    yield from range(count)

def returned(count):
    return numbers(count)

def named(count):
    made = numbers(count)
    return made

def named_twice(count):
    made = other = numbers(count)
    return other

def chosen(count, other=False):
    made = numbers(count)
    return None if other else made

def in_a_try(count):
    made = numbers(count)
    try:
        return made
    finally:
        str(count)

def alternative(count):
    made = numbers(count)
    return made or None

@functools.wraps(numbers)
def wrapper(*args, **kwargs):
    return numbers(*args, **kwargs)

class Shop:
    def stock(self, count):
        return numbers(count)

def appended(count):
    made = numbers(count)
    kept.append(made)
    return made

def kept_first(count):
    kept.append(numbers(count))
    return kept[-1]

def in_a_tuple(count):
    made = numbers(count)
    kept.append((made,))
    return made

def in_a_function(count):
    made = numbers(count)
    kept.append(lambda: made)
    return made

class Holder:
    pass

holder = Holder()

def in_an_attribute(count):
    holder.made = numbers(count)
    return holder.made
"""
ALONE = ("returned", "named", "named_twice", "chosen", "in_a_try", "alternative", "wrapper")
HELD = ("appended", "kept_first", "in_a_tuple", "in_a_function", "in_an_attribute")
AGENT = """
import sys, lib
name = sys.argv[1]
call = lib.Shop().stock if name == "stock" else getattr(lib, name)
print(list(call(3)))
"""
DEFINITION = 'version = 1\n\n[[boundary]]\nname = "it"\nkind = "tool"\ntarget = "lib:{}"\n'
CALL = 'version = 1\n\n[[boundary]]\nname = "it"\nkind = "tool"\ncall = "call($count)"\n'


@pytest.fixture
def run(tmp_path):
    def run_with(rules, name):
        processes.write(tmp_path, {"lib.py": LIB, "agent.py": AGENT, "autochron.toml": rules})
        ended = processes.autochron(tmp_path, "run", "agent.py", name)
        assert (ended.status, ended.text) == (0, "[0, 1, 2]\n"), ended.said
        return ended, processes.autochron(tmp_path, "replay", "last")

    return run_with


@pytest.mark.parametrize("name", [*ALONE, "stock"])
def test_a_stream_that_only_the_caller_gets_is_replayed(run, name):
    recorded, replayed = run(DEFINITION.format("Shop.stock" if name == "stock" else name), name)
    assert "not rebuilt" not in recorded.said
    assert (replayed.status, replayed.text) == (0, "[0, 1, 2]\n"), replayed.said


@pytest.mark.parametrize("name", HELD)
def test_a_stream_that_is_held_elsewhere_is_told(run, name):
    recorded, _ = run(DEFINITION.format(name), name)
    assert "not rebuilt on replay: it: (value): builtins:generator (opaque)" in recorded.said


@pytest.mark.parametrize("name", [*ALONE, "stock"])
def test_so_it_is_at_a_call(run, name):
    recorded, replayed = run(CALL, name)
    assert "not rebuilt" not in recorded.said
    assert (replayed.status, replayed.text) == (0, "[0, 1, 2]\n"), replayed.said


@pytest.mark.parametrize("name", HELD)
def test_so_it_is_told_at_a_call(run, name):
    recorded, _ = run(CALL, name)
    assert "not rebuilt on replay: it: (value): builtins:generator (opaque)" in recorded.said
