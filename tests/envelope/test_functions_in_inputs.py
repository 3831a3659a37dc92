"""The state of a function is part of an input, also if the function was read before and one of its objects has changed."""

import pytest

from autochron.envelope.canonical import canonical


def with_default(held):
    def function(value=held):
        return value

    return function


def with_cell(held):
    def function():
        return held

    return function


def with_attribute(held):
    def function():
        return None

    function.held = held
    return function


CHANGES = {
    "bytearray": (lambda: bytearray(b"a"), lambda held: held.append(1)),
    "slice": (lambda: slice([1], None), lambda held: held.start.append(1)),
    "list": (lambda: [1], lambda held: held.append(1)),
    "function": (lambda: with_default([1]), lambda held: held.__defaults__[0].append(1)),
    "defaults": (lambda: with_default(1), lambda held: setattr(held, "__defaults__", (2,))),
    "inner attribute": (lambda: with_attribute(1), lambda held: setattr(held, "held", 2)),
}


@pytest.mark.parametrize("make", [with_default, with_cell, with_attribute])
@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_of_the_state_of_a_function_changes_the_input(kind, make):
    make_state, change = CHANGES[kind]
    state = make_state()
    function = make(state)
    before = canonical(["function"], [function])
    assert canonical(["function"], [function]) == before
    change(state)
    assert canonical(["function"], [function]) != before
