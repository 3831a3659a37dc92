"""Searches of all objects find what they should, and let the program finish a tuple that it is building."""

import sys
import threading
from types import FunctionType

import pytest

from autochron._runtime.live_objects import exact_instances_of, functions_of, instances_of, is_known
from autochron.diagnostics import declined_calls
from autochron.weaving.heap import Heap


class Desk:
    pass


class Counter(Desk):
    pass


class Proxy:
    asked = 0

    @property
    def __class__(self):
        Proxy.asked += 1
        return Desk


def test_instances_of_a_class_and_of_its_subclasses_are_found_by_their_types():
    desk, counter, proxy = Desk(), Counter(), Proxy()
    found = instances_of(Desk)
    assert {id(each) for each in found} == {id(desk), id(counter)}
    assert [id(each) for each in exact_instances_of(Desk)] == [id(desk)]
    function = lambda: None
    assert any(each is function for each in exact_instances_of(FunctionType))
    another = FunctionType(function.__code__, {})
    assert {id(each) for each in functions_of(function.__code__)} == {id(function), id(another)}
    assert (type(proxy), Proxy.asked) == (Proxy, 0)


def test_an_object_is_known_until_it_is_put_aside():
    known = [Desk()]
    assert is_known(known)
    assert not is_known(object())


SEARCHES = {
    "instances": lambda: instances_of(Desk),
    "functions": lambda: exact_instances_of(FunctionType),
    "functions of a code": lambda: functions_of(search_for_a_code.__code__),
    "known": lambda: is_known([]),
    "found": lambda: is_known(found),
    "heap": Heap,
    "declined calls": lambda: iter(declined_calls._instances(Desk)),
}
found = [Desk()]


def search_for_a_code():
    pass


@pytest.mark.parametrize("search", SEARCHES)
def test_a_tuple_can_be_finished_while_the_result_of_a_search_is_kept(search):
    """Else Python raises "bad argument to internal function": something refers to a tuple that it is building."""
    kept, desk = [], Desk()

    def items():
        for number in range(40):
            if number == 20:
                kept.append(SEARCHES[search]())
                if search == "declined calls":
                    next(kept[0])
            yield number

    assert tuple(items()) == tuple(range(40))
    assert (len(kept), type(desk)) == (1, Desk)


@pytest.mark.parametrize("search", ["instances", "functions", "known", "heap"])
def test_threads_can_finish_their_tuples_during_searches(search):
    errors, is_over = [], threading.Event()

    def build():
        while not is_over.is_set():
            try:
                tuple(number for number in range(40))
            except SystemError as error:
                errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=build) for _ in range(2)]
    try:
        for thread in threads:
            thread.start()
        for _ in range(20):
            SEARCHES[search]()
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert errors == []
