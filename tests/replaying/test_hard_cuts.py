"""Cut-points where a replay might pass in silence, fail without need, or do for real what was to be served."""

import threading

import pytest

import autochron
from autochron.errors import DivergenceError

ran = []


@autochron.boundary
def look_up(key):
    ran.append(("look_up", key))
    return {"key": key}


@autochron.boundary
def refund(order, cents=10):
    ran.append(("refund", order, cents))
    return {"order": order, "cents": cents}


@autochron.boundary(kind="model")
def ask(question):
    ran.append(("ask", question))
    return {"words": [question]}


@autochron.boundary
def step(state, by, *rest):
    state["steps"].append(by)
    return rest[0] if rest else state


class Shop:
    sold = 0

    @autochron.boundary
    def open(self):
        return self


@pytest.fixture(autouse=True)
def nothing_ran():
    ran.clear()


def in_thread(function, *arguments):
    thread = threading.Thread(target=function, args=arguments)
    thread.start()
    thread.join()


def told(replaying, kind):
    return [(each.severity, each.address) for each in replaying.divergences if each.kind == kind]


# --- what was live, and what follows from it


def test_what_is_missing_before_a_live_call_in_a_new_thread_is_no_consequence_of_it(block):
    def recorded():
        in_thread(look_up, 1)
        ask("what")
        refund(1)

    def with_another_thread():
        ask("what")
        refund(1)
        in_thread(refund, 2)

    _, trace = block.record(recorded)
    replaying = autochron.replay(trace, rules=block.rules, live="refund")
    with pytest.raises(DivergenceError, match=r"look_up\[1\] .* did not happen"), replaying:
        with_another_thread()
    assert told(replaying, "missing") == [("error", "look_up[1]")]
    assert told(replaying, "extra") == [("consequence", "refund[2]")]


def test_what_follows_a_live_call_in_a_new_thread_is_a_consequence_of_it(block):
    def recorded():
        ask("what")
        refund(1)
        look_up(1)

    def with_another_thread():
        ask("what")
        in_thread(refund, 2)
        refund(1)

    _, trace = block.record(recorded)
    with autochron.replay(trace, rules=block.rules, live="refund") as replaying:
        with_another_thread()
    assert told(replaying, "missing") == [("consequence", "look_up[1]")]
