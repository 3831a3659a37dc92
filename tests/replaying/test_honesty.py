"""A replay says "the same" only of equal runs. Each case is tried with an equal run and with a single difference."""

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
    """Take a value, as a tool."""


@pytest.fixture(autouse=True)
def _closed():
    yield
    close_all()


PLACES = {"alone": lambda value: value, "nested": lambda value: {"order": [0, value]}}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", PAIRS)
def test_an_equal_input_is_the_same_and_a_different_one_is_a_divergence(block, name, place):
    make, make_other, says = PAIRS[name]
    wrap = PLACES[place]
    _, trace = block.record(lambda: refund(wrap(make())))
    _, divergences = block.replay(trace, lambda: refund(wrap(make())))
    assert list(divergences) == []
    _, divergences = block.replay(trace, lambda: refund(wrap(make_other())), check=False)
    (divergence,) = divergences
    assert (divergence.kind, divergence.severity) == ("input", "error")
    assert says in divergence.message


def test_an_input_that_is_too_large_is_reported_as_not_compared(block, monkeypatch, request):
    size = 250_000
    if not request.config.getoption("--thorough"):  # as many parts as the real limit allows take seconds
        monkeypatch.setattr("autochron.envelope.value_types.MAX_NODES", 10_000)
        size = 25_000

    def ask():
        return refund([(number,) for number in range(size)])

    _, trace = block.record(ask)
    _, divergences = block.replay(trace, ask)
    assert [(divergence.kind, divergence.severity, divergence.path) for divergence in divergences] == [
        ("not-compared", "notice", "value")
    ]


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


def test_a_trace_of_format_3_is_compared_with_marks(block):
    first = [1]
    first.append(first)
    _, trace = block.record(lambda: refund(first))
    (envelope,) = trace.envelopes
    assert envelope.input == b'{"value":[1,{"$cycle":1}]}'
    older = structs.replace(
        trace,
        header=structs.replace(trace.header, numbered=False),
        envelopes=(structs.replace(envelope, input=b'{"value":[1,{"$cycle":true}]}'),),
    )
    assert list(block.replay(older, lambda: refund(first))[1]) == []
    assert [
        divergence.kind for divergence in block.replay(older, lambda: refund([1, [1]]), check=False)[1]
    ] == ["input"]


def test_two_traces_differ_by_the_type_of_an_input(block):
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


def test_the_type_of_a_volatile_field_is_not_compared(tmp_path):
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
    """Take an order, as a tool that a rule weaves."""


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
    """Return a text that shows a value with all its types. Sets and dicts are sorted."""
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
def test_two_values_have_the_same_canonical_text_only_if_they_and_their_types_are_equal(first, second):
    texts = [canonical(("value",), (value,)) for value in (first, second)]
    assert (texts[0] == texts[1]) == (typed(first) == typed(second))
    assert (first_difference(*texts) is None) == (typed(first) == typed(second))


@given(VALUES)
def test_a_copy_has_the_same_canonical_text(value):
    copied = copy.deepcopy(value)
    assert canonical(("value",), (value,)) == canonical(("value",), (copied,))


@given(VALUES, st.randoms(use_true_random=False))
def test_a_changed_value_has_another_canonical_text(value, chance):
    changed = with_one_change(copy.deepcopy(value), chance)
    texts = [canonical(("value",), (version,)) for version in (value, changed)]
    assert (first_difference(*texts) is None) == (typed(value) == typed(changed))


def with_one_change(value, chance):
    """Return the value with the type or the content of one part changed."""
    if isinstance(value, list) and value and chance.random() < 0.8:
        at = chance.randrange(len(value))
        value[at] = with_one_change(value[at], chance)
        return value
    if isinstance(value, dict) and value and chance.random() < 0.8:
        key = chance.choice(list(value))
        value[key] = with_one_change(value[key], chance)
        return value
    conversions = {
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
        return conversions.get(type(value), str)(value)
    except OverflowError:
        return None


# --- streams -------------------------------------------------------------------------------------------------------


@autochron.boundary("count", kind="tool")
def count(to):
    """Yield numbers, each with what the consumer last sent or threw in."""
    message = None
    for number in range(to):
        try:
            message = yield number, message
        except ValueError as error:
            message = str(error)


@autochron.boundary("count_async", kind="tool")
async def count_async(to):
    """Do the same as `count`, asynchronously."""
    message = None
    for number in range(to):
        try:
            message = yield number, message
        except ValueError as error:
            message = str(error)


def read(items):
    """Read some items of a stream and leave it open."""
    stream = count(3)
    OPEN_STREAMS.append(stream)
    return [next(stream) for _ in range(items)]


OPEN_STREAMS = []


def sending(*values):
    """Send values into a stream."""
    stream = count(5)
    items = [next(stream)]
    for value in values:
        items.append(stream.throw(value) if isinstance(value, Exception) else stream.send(value))
    stream.close()
    return items


def sending_async(*values):
    """Send values into an asynchronous stream."""

    async def send():
        stream = count_async(5)
        items = [await anext(stream)]
        for value in values:
            items.append(
                await (stream.athrow(value) if isinstance(value, Exception) else stream.asend(value))
            )
        await stream.aclose()
        return items

    return asyncio.run(send())


def closed_after(number):
    """Read some items of a stream and close it."""
    stream = count(3)
    items = [next(stream) for _ in range(number)]
    stream.close()
    return items


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
    recorded_use, changed_use, says = STREAMS[name]
    result, trace = block.record(recorded_use)
    replayed, divergences = block.replay(trace, recorded_use)
    assert (replayed, list(divergences)) == (result, [])
    _, divergences = block.replay(trace, changed_use, check=False)
    errors = [divergence.message for divergence in divergences if divergence.severity == "error"]
    assert errors, divergences
    assert says in errors[0]
    OPEN_STREAMS.clear()


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
    recorded = processes.autochron(tmp_path, "run", "agent.py", *arguments)
    assert recorded.status == 0, recorded.said
    for _ in range(5):
        replayed = processes.autochron(tmp_path, "replay", "last")
        assert (replayed.status, replayed.text) == (0, recorded.text), replayed.said


# --- daemons ---------------------------------------------------------------------------------------------------------


@autochron.boundary("poll", kind="tool")
def poll(number):
    """Do nothing, as a tool that polls."""


def daemon(*calls):
    """Call tools in a daemon thread and wait for it."""

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
def test_a_daemon_thread_is_compared_except_for_how_far_it_got(block, name):
    recorded_calls, replayed_calls, severities = DAEMONS[name]
    _, trace = block.record(lambda: daemon(*recorded_calls))
    assert list(block.replay(trace, lambda: daemon(*recorded_calls))[1]) == []
    _, divergences = block.replay(trace, lambda: daemon(*replayed_calls), check=False)
    assert [divergence.severity for divergence in divergences if divergence.severity == "error"][
        :1
    ] == severities


# --- order across lanes ----------------------------------------------------------------------------------------------


@autochron.boundary("check", kind="tool")
def check(number):
    """Do nothing, as a tool that checks."""


def in_thread(function):
    """Call a function in a thread and wait for the thread."""
    thread = threading.Thread(target=function, args=(1,))
    thread.start()
    thread.join()


def in_pool(function):
    """Call a function in a pool and wait for its result."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(function, 1).result()


def without_waiting(first, then):
    """Call one function in a thread and the other at the same time in this thread."""
    thread = threading.Thread(target=first, args=(1,))
    thread.start()
    then(1)
    thread.join()


def started_after(first, then):
    """Call one function, then start a thread that calls the other."""
    first(1)
    in_thread(then)


@autochron.boundary("look", kind="tool")
async def look(number):
    """Let other tasks run, as a tool."""
    await asyncio.sleep(0)


async def look_later(number):
    """Let other tasks run, then call `look`."""
    await asyncio.sleep(0.001)
    await look(number)


async def look_in_a_task():
    """Call `look` in a task of a task."""
    await asyncio.create_task(look_later(1))


async def in_group():
    """Call `look` in a task of a group."""
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
    """Wait for a task that calls `look`, and call `refund` after or before the wait."""

    async def main():
        if not is_first:
            refund(1)
        await wait()
        if is_first:
            refund(1)

    asyncio.run(main())


def handed(make, put_first):
    """Pass an item from a thread that calls `check` to one that calls `refund`; each calls before or after the transfer."""
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

    threads = [threading.Thread(target=thread) for thread in (produce, consume)]
    for thread in threads[::-1]:
        thread.start()
        time.sleep(0.005 if put_first else 0)
    for thread in threads:
        thread.join()


def handed_in_a_loop(*, put_first):
    """Do the same as `handed` with two tasks of one event loop."""

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
    """Call a function in a pool whose `with` block waits for it."""
    with ThreadPoolExecutor(2) as pool:
        pool.submit(function, 1)


def pooled(*functions):
    """Call functions in the only worker of a pool."""
    with ThreadPoolExecutor(1) as pool:
        for function in functions:
            pool.submit(function, 1)


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
def test_an_order_that_the_program_enforced_is_compared_across_lanes(block, name):
    recorded_order, changed_order = ORDERS[name]
    _, trace = block.record(recorded_order)
    for _ in range(5):
        assert list(block.replay(trace, recorded_order)[1]) == []
    _, divergences = block.replay(trace, changed_order, check=False)
    (divergence,) = divergences
    assert (divergence.kind, divergence.severity) == ("reordered", "error")
    assert "came before" in divergence.message


def test_an_order_that_was_a_race_is_not_compared(block):
    _, trace = block.record(lambda: without_waiting(check, refund))
    for _ in range(10):
        assert list(block.replay(trace, lambda: without_waiting(check, refund))[1]) == []
