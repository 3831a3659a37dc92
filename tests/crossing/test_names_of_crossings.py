"""`{caller}` is the calling function of the program, even through a wrapper; names of lanes and states."""

import _thread
import threading
import types

import pytest

import autochron
from autochron.crossing.lanes import LaneRoot, stray_root
from autochron.errors import UsageError
from autochron.instrument.decorators import marked
from autochron.model import BoundaryRule, Place, Target
from autochron.weaving.weave import Mark, weave_function
from autochron.weaving.wrapping import point_for, wrap_attribute

owner = types.SimpleNamespace(length=len)
RULE = BoundaryRule(
    id="@test", name="{caller}", kind="tool", selector=Target(__name__, "x"), place=Place("test", 1)
)


def spliced():
    return 1


weave_function(spliced, Mark((RULE,)), marked)


def calls_wrapped():
    return owner.length([1])


def calls_spliced():
    return spliced()


def test_the_caller_is_the_calling_function_of_the_program(block):
    undo = wrap_attribute(owner, "length", point_for(len, __name__, "length", (RULE,)))
    try:
        _, trace = block.record(lambda: (calls_wrapped(), calls_spliced()))
    finally:
        undo()
    assert [envelope.name for envelope in trace.envelopes] == ["calls_wrapped", "calls_spliced"]


def test_lanes_of_threads_that_no_hook_saw_have_different_names():
    lanes, ready = [], threading.Semaphore(0)

    def begin():
        lanes.append(stray_root(LaneRoot(None, "0")).lane)
        ready.release()

    for _ in range(20):
        _thread.start_new_thread(begin, ())
    for _ in range(20):
        ready.acquire(timeout=10)
    assert len(set(lanes)) == 20
    assert all(lane.startswith("0/?.") for lane in lanes)


@pytest.mark.parametrize("state", ["", " "])
def test_a_state_without_a_name_is_refused_by_the_decorator(state):
    with pytest.raises(UsageError, match="name the state that tools share"):
        autochron.boundary("x", state=state)
