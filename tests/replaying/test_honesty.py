"""A replay says "the same" of what is the same and of nothing else: pairs, one identical, one with a single difference."""

import asyncio
import contextlib
import copy
import decimal
import queue
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

import autochron
from autochron.diff.json import first_difference
from autochron.diff.traces import differ
from autochron.envelope.canonical import canonical
from autochron.errors import DivergenceError
from tests.agents.workshop import Block
from tests.cli import processes
from tests.replaying.honest_values import PAIRS, close_all


@autochron.boundary("refund", kind="tool")
def refund(value):
    """Be a tool that is given the value."""


@pytest.fixture(autouse=True)
def _closed():
    yield
    close_all()


PLACES = {"alone": lambda value: value, "nested": lambda value: {"order": [0, value]}}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", PAIRS)
def test_an_input_of_the_same_value_is_the_same_and_of_another_is_not(block, name, place):
    make, make_other, says = PAIRS[name]
    put = PLACES[place]
    _, trace = block.record(lambda: refund(put(make())))
    _, found = block.replay(trace, lambda: refund(put(make())))
    assert list(found) == []
    _, found = block.replay(trace, lambda: refund(put(make_other())), check=False)
    (divergence,) = found
    assert (divergence.kind, divergence.severity) == ("input", "error")
    assert says in divergence.message


def test_what_is_too_large_is_said_not_to_be_compared(block):
    def ask():
        return refund([(number,) for number in range(250_000)])

    _, trace = block.record(ask)
    _, found = block.replay(trace, ask)
    assert [(each.kind, each.severity, each.path) for each in found] == [("not-compared", "notice", "value")]


def test_an_older_trace_is_compared_as_json(block):
    _, trace = block.record(lambda: refund({"sum": decimal.Decimal(1)}))
    (envelope,) = trace.envelopes
    older = structs.replace(
        trace,
        header=structs.replace(trace.header, typed=False),
        envelopes=(structs.replace(envelope, input=b'{"value":{"sum":"1"}}'),),
    )
    assert list(block.replay(older, lambda: refund({"sum": decimal.Decimal(1)}))[1]) == []
    assert list(block.replay(older, lambda: refund({"sum": "1"}))[1]) == []
    (divergence,) = block.replay(older, lambda: refund({"sum": "2"}), check=False)[1]
    assert divergence.path == "value.sum"


def test_two_traces_differ_by_a_type(block):
    _, first = block.record(lambda: refund(decimal.Decimal(1)))
    _, second = block.record(lambda: refund("1"))
    _, third = block.record(lambda: refund(decimal.Decimal(1)))
    assert differ(first, third).same
    (difference,) = differ(first, second).pairs[0].differences
    assert (difference.kind, difference.path, difference.first, difference.second) == (
        "input",
        "value",
        "Decimal",
        "str",
    )


def test_a_field_that_is_volatile_has_no_type_that_counts(tmp_path):
    file = tmp_path / "autochron.toml"
    file.write_text(
        'version = 1\npacks = []\n[[boundary]]\nname = "pay"\nkind = "tool"\n'
        f'target = "{__name__}:pay"\nvolatile = ["order.when"]\n',
        encoding="utf-8",
    )
    own = Block(str(file))
    _, trace = own.record(lambda: pay({"when": (1,), "sum": (1,)}))
    assert list(own.replay(trace, lambda: pay({"when": [2], "sum": (1,)}))[1]) == []
    (divergence,) = own.replay(trace, lambda: pay({"when": [2], "sum": [1]}), check=False)[1]
    assert (divergence.path, divergence.recorded, divergence.replayed) == ("order.sum", "tuple", "list")


def pay(order):
    """Be a tool that a rule weaves."""


SCALARS = st.one_of(
    *(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(),
        st.binary(),
        st.decimals(),
        st.dates(),
    ),
    *(st.datetimes(), st.timedeltas(), st.uuids(), st.complex_numbers(), st.fractions()),
)
KEYS = st.one_of(st.text(), st.integers(), st.booleans(), st.dates(), st.tuples(st.integers()))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        *(
            st.lists(inner, max_size=4),
            st.lists(inner, max_size=4).map(tuple),
            st.dictionaries(KEYS, inner, max_size=4),
        ),
        *(
            st.sets(st.one_of(st.integers(), st.text(), st.dates()), max_size=4),
            st.lists(inner, max_size=3).map(deque),
        ),
    ),
    max_leaves=12,
)


def typed(value):
    """Return a value as text that tells types, as Python sees it; sets and dicts in one order."""
    kind = type(value).__name__
    if isinstance(value, dict):
        pairs = sorted(f"{typed(key)}:{typed(item)}" for key, item in value.items())
        return f"{kind}{{{','.join(pairs)}}}"
    if isinstance(value, (list, tuple, deque)):
        return f"{kind}[{','.join(map(typed, value))}]"
    if isinstance(value, (set, frozenset)):
        return f"{kind}[{','.join(sorted(map(typed, value)))}]"
    return f"{kind} {value!r}"


@given(VALUES, VALUES)
def test_two_values_have_one_text_only_if_they_are_equal_and_of_one_type(one, other):
    texts = [canonical(("value",), (each,)) for each in (one, other)]
    assert (texts[0] == texts[1]) == (typed(one) == typed(other))
    assert (first_difference(*texts) is None) == (typed(one) == typed(other))


@given(VALUES)
def test_a_copy_has_the_same_text(value):
    copied = copy.deepcopy(value)
    assert canonical(("value",), (value,)) == canonical(("value",), (copied,))


@given(VALUES, st.randoms(use_true_random=False))
def test_a_value_with_one_change_has_another_text(value, chance):
    changed = with_one_change(copy.deepcopy(value), chance)
    texts = [canonical(("value",), (each,)) for each in (value, changed)]
    assert (first_difference(*texts) is None) == (typed(value) == typed(changed))


def with_one_change(value, chance):
    """Change the type or the content of one part."""
    if isinstance(value, list) and value and chance.random() < 0.8:
        at = chance.randrange(len(value))
        value[at] = with_one_change(value[at], chance)
        return value
    if isinstance(value, dict) and value and chance.random() < 0.8:
        key = chance.choice(list(value))
        value[key] = with_one_change(value[key], chance)
        return value
    as_others = {
        list: tuple,
        tuple: list,
        set: frozenset,
        dict: list,
        int: float,
        bool: int,
        float: str,
        bytes: bytearray,
    }
    try:
        return as_others.get(type(value), str)(value)
    except OverflowError:
        return None


# --- streams -------------------------------------------------------------------------------------------------------


@autochron.boundary("count", kind="tool")
def count(to):
    """Count, and hear what the consumer says; what is thrown in is an item of its own."""
    said = None
    for number in range(to):
        try:
            said = yield number, said
        except ValueError as error:
            said = str(error)


@autochron.boundary("count_async", kind="tool")
async def count_async(to):
    """Do the same asynchronously."""
    said = None
    for number in range(to):
        try:
            said = yield number, said
        except ValueError as error:
            said = str(error)


def read(items):
    """Read so many items, and leave the stream open."""
    stream = count(3)
    LEFT.append(stream)
    return [next(stream) for _ in range(items)]


LEFT = []


def sending(*values):
    """Send values into a stream."""
    stream = count(5)
    given = [next(stream)]
    for value in values:
        given.append(stream.throw(value) if isinstance(value, Exception) else stream.send(value))
    stream.close()
    return given


def sending_async(*values):
    """Do so to an asynchronous one."""

    async def send():
        stream = count_async(5)
        given = [await anext(stream)]
        for value in values:
            given.append(
                await (stream.athrow(value) if isinstance(value, Exception) else stream.asend(value))
            )
        await stream.aclose()
        return given

    return asyncio.run(send())


def closed_after(items):
    """Read so many items, and close the stream."""
    stream = count(3)
    given = [next(stream) for _ in range(items)]
    stream.close()
    return given


def read_on(stream):
    """Read a stream to its end."""
    return [item for item in [next(stream, None) for _ in range(4)] if item is not None]


STREAMS = {
    "another value is sent": (lambda: sending(1, 2), lambda: sending(1, 3), "sent was 2, now it is 3"),
    "a value of another type is sent": (
        lambda: sending((1,)),
        lambda: sending([1]),
        "sent was tuple, now it is list",
    ),
    "nothing is sent": (lambda: sending(1), lambda: sending(None), "sent was 1"),
    "something is sent": (lambda: sending(None), lambda: sending(1), "now it is 1"),
    "another error is thrown": (
        lambda: sending(ValueError("a")),
        lambda: sending(ValueError("b")),
        'thrown.args.0 was "a", now it is "b"',
    ),
    "a value in place of an error": (lambda: sending(ValueError("a")), lambda: sending(1), "thrown"),
    "another value is sent asynchronously": (
        lambda: sending_async(1, 2),
        lambda: sending_async(1, 3),
        "sent was 2, now it is 3",
    ),
    "another error is thrown asynchronously": (
        lambda: sending_async(ValueError("a")),
        lambda: sending_async(ValueError("b")),
        "thrown.args.0",
    ),
    "fewer items are read": (lambda: read(2), lambda: read(1), "left open after 1"),
    "none is read": (lambda: read(1), lambda: read(0), "did not happen"),
    "it is closed earlier": (lambda: closed_after(2), lambda: closed_after(1), "closed after 1"),
    "it is left instead of read": (lambda: list(count(3)), lambda: read(2), "left open after 2"),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_is_the_same_only_if_it_is_read_alike(block, name):
    then, now, says = STREAMS[name]
    given, trace = block.record(then)
    again, found = block.replay(trace, then)
    assert (again, list(found)) == (given, [])
    _, found = block.replay(trace, now, check=False)
    errors = [each.message for each in found if each.severity == "error"]
    assert errors, found
    assert says in errors[0]
    LEFT.clear()


# --- prints ----------------------------------------------------------------------------------------------------------

PRINTS = """
import asyncio, sys, threading
import tools


async def both():
    print(await asyncio.gather(tools.one("a", 0.01), tools.one("b", 0.03), tools.two("c", 0.005)))


def threads():
    found = [threading.Thread(target=tools.say, args=(name, wait)) for name, wait in (("d", 0.02), ("e", 0.05))]
    for each in found:
        each.start()
    for each in found:
        each.join()


asyncio.run(both())
if len(sys.argv) > 1:
    threads()
print("done")
"""
PRINTING = """
import asyncio, time

async def one(name, wait):
    print(name, 1)
    await asyncio.sleep(wait)
    print(name, 2)
    await asyncio.sleep(wait)
    print(name, 3)
    return name

async def two(name, wait):
    for number in range(8):
        print(name, number)
        await asyncio.sleep(wait)
    return name

def say(name, wait):
    print(f"{name} 1\\n", end="")
    time.sleep(wait)
    print(f"{name} 2\\n", end="")
"""


@pytest.mark.parametrize("arguments", [(), ("threads",)])
def test_parallel_tools_print_in_the_order_of_their_prints(tmp_path, arguments):
    (tmp_path / "autochron.toml").write_text(
        'version = 1\npacks = []\n[[boundary]]\nname = "{__name__}"\nkind = "tool"\ndefine = "tools:*"\n'
    )
    (tmp_path / "tools.py").write_text(PRINTING)
    (tmp_path / "agent.py").write_text(PRINTS)
    ran = processes.autochron(tmp_path, "run", "agent.py", *arguments)
    assert ran.status == 0, ran.said
    for _ in range(5):
        again = processes.autochron(tmp_path, "replay", "last")
        assert (again.status, again.text) == (0, ran.text), again.said


# --- daemons ---------------------------------------------------------------------------------------------------------


@autochron.boundary("poll", kind="tool")
def poll(number):
    """Poll."""


def daemon(*calls):
    """Make calls in a daemon thread."""

    def work():
        with contextlib.suppress(DivergenceError):
            for number, tool in enumerate(calls):
                tool(number)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join()


DAEMONS = {
    "a tail is missing": ((poll, poll, refund), (poll, poll), []),
    "it goes on as it did": ((poll, poll), (poll, poll, poll), []),
    "another input": ((poll, poll, poll), (poll, refund), ["error"]),
    "one is missing in between": ((poll, refund, poll), (poll, poll), ["error"]),
    "one is extra": ((poll, poll), (poll, poll, refund), ["error"]),
}


@pytest.mark.parametrize("name", DAEMONS)
def test_a_daemon_is_compared_but_for_its_end(block, name):
    then, now, severities = DAEMONS[name]
    _, trace = block.record(lambda: daemon(*then))
    assert list(block.replay(trace, lambda: daemon(*then))[1]) == []
    _, found = block.replay(trace, lambda: daemon(*now), check=False)
    assert [each.severity for each in found if each.severity == "error"][:1] == severities


# --- order across lanes ----------------------------------------------------------------------------------------------


@autochron.boundary("check", kind="tool")
def check(number):
    """Check."""


def in_thread(function):
    """Call it in a thread, and wait for that."""
    thread = threading.Thread(target=function, args=(1,))
    thread.start()
    thread.join()


def in_pool(function):
    """Call it in a pool, and wait for its result."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(function, 1).result()


def without_waiting(first, then):
    """Call one in a thread, and the other beside it."""
    thread = threading.Thread(target=first, args=(1,))
    thread.start()
    then(1)
    thread.join()


def started_after(first, then):
    """Call one, and then start a thread that calls the other."""
    first(1)
    in_thread(then)


@autochron.boundary("look", kind="tool")
async def look(number):
    """Look, and let others run meanwhile."""
    await asyncio.sleep(0)


async def look_later(number):
    """Let others run, and look."""
    await asyncio.sleep(0.001)
    await look(number)


async def look_in_a_task():
    """Look in a task of a task."""
    await asyncio.create_task(look_later(1))


async def in_group():
    """Look in a task of a group."""
    async with asyncio.TaskGroup() as group:
        group.create_task(look_later(1))


WAITS = {
    "await of a task": lambda: _await(asyncio.create_task(look_later(1))),
    "a task of a task": lambda: _await(asyncio.create_task(look_in_a_task())),
    "gather": lambda: asyncio.gather(look_later(1), asyncio.sleep(0)),
    "gather of gathers": lambda: asyncio.gather(asyncio.gather(look_later(1)), asyncio.sleep(0)),
    "wait": lambda: asyncio.wait([asyncio.create_task(look_later(1))]),
    "a time limit": lambda: asyncio.wait_for(asyncio.create_task(look_later(1)), 5),
    "a shield": lambda: asyncio.shield(asyncio.create_task(look_later(1))),
    "a group": in_group,
}


async def _await(task):
    await task


def awaiting(wait, *, is_first):
    """Wait for a task that looks, and refund after or before that."""

    async def main():
        if not is_first:
            refund(1)
        await wait()
        if is_first:
            refund(1)

    asyncio.run(main())


def handed(make, put_first):
    """Hand an item from one thread to another: the one checks, the other refunds, each before or after the hand-over."""
    items = make()

    def produce():
        if put_first:
            items.put(1)
        check(1)
        if not put_first:
            items.put(1)

    def consume():
        if put_first:
            refund(1)
        items.get()
        if not put_first:
            refund(1)

    threads = [threading.Thread(target=each) for each in (produce, consume)]
    for each in threads[::-1]:
        each.start()
        time.sleep(0.005 if put_first else 0)
    for each in threads:
        each.join()


def handed_in_a_loop(*, put_first):
    """Do so between two tasks."""

    async def main():
        items = asyncio.Queue(1)

        async def produce():
            if put_first:
                await asyncio.sleep(0.002)
            check(1)
            await items.put(1)

        async def consume():
            if put_first:
                refund(1)
            await items.get()
            if not put_first:
                refund(1)

        tasks = [asyncio.create_task(consume()), asyncio.create_task(produce())]
        await asyncio.gather(*tasks)

    asyncio.run(main())


def in_block(function):
    """Call it in a pool whose block waits for it."""
    with ThreadPoolExecutor(2) as pool:
        pool.submit(function, 1)


def pooled(*functions):
    """Have the only worker of a pool call functions."""
    with ThreadPoolExecutor(1) as pool:
        for each in functions:
            pool.submit(each, 1)


ORDERS = {
    **{
        name: (
            lambda wait=wait: awaiting(wait, is_first=True),
            lambda wait=wait: awaiting(wait, is_first=False),
        )
        for name, wait in WAITS.items()
    },
    "a queue": (lambda: handed(queue.Queue, put_first=False), lambda: handed(queue.Queue, put_first=True)),
    "a bounded queue": (
        lambda: handed(lambda: queue.Queue(1), put_first=False),
        lambda: handed(lambda: queue.Queue(1), put_first=True),
    ),
    "a queue of asyncio": (
        lambda: handed_in_a_loop(put_first=False),
        lambda: handed_in_a_loop(put_first=True),
    ),
    "the only worker of a pool": (lambda: pooled(check, refund), lambda: pooled(refund, check)),
    "a join": (lambda: (in_thread(check), refund(1)), lambda: (refund(1), in_thread(check))),
    "the block of a pool": (
        lambda: (in_block(check), refund(1)),
        lambda: (refund(1), in_block(check)),
    ),
    "a result": (lambda: (in_pool(check), refund(1)), lambda: (refund(1), in_pool(check))),
    "a start": (lambda: started_after(check, refund), lambda: (in_thread(refund), check(1))),
}


@pytest.mark.parametrize("name", ORDERS)
def test_an_order_that_had_a_cause_is_compared_across_lanes(block, name):
    then, now = ORDERS[name]
    _, trace = block.record(then)
    for _ in range(5):
        assert list(block.replay(trace, then)[1]) == []
    _, found = block.replay(trace, now, check=False)
    (divergence,) = found
    assert (divergence.kind, divergence.severity) == ("reordered", "error")
    assert "came before" in divergence.message


def test_an_order_that_was_a_race_is_not_compared(block):
    _, trace = block.record(lambda: without_waiting(check, refund))
    for _ in range(10):
        assert list(block.replay(trace, lambda: without_waiting(check, refund))[1]) == []
