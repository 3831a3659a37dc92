"""How served crossings end: closed early, cancelled, or with a future. No other crossing waits for them."""

import asyncio
import concurrent.futures
import time

import pytest

import autochron


@autochron.boundary
def numbers(size):
    yield from range(size)


@autochron.boundary
async def numbers_later(size):
    for number in range(size):
        yield number


@autochron.boundary
def shared(size):
    for _ in range(size):
        yield b"the same"


def read(function, count):
    stream = function(3)
    items = [next(stream) for _ in range(count)]
    stream.close()
    return items


def read_later(count):
    async def run():
        stream = numbers_later(3)
        items = [await anext(stream) for _ in range(count)]
        await stream.aclose()
        return items

    return asyncio.run(run())


WAYS = [lambda count: read(numbers, count), read_later, lambda count: read(shared, count)]


@pytest.mark.parametrize("way", WAYS)
def test_a_stream_that_is_closed_earlier_than_recorded_is_a_divergence(way, block):
    _, trace = block.record(lambda: way(3))
    assert block.replay(trace, lambda: way(3))[1] == ()
    _, (divergence,) = block.replay(trace, lambda: way(2), check=False)
    assert (divergence.kind, divergence.severity) == ("outcome", "error")
    assert "was closed after 3 items when it was recorded, and is now closed after 2" in divergence.message


def test_a_stream_that_was_read_to_its_end_and_is_closed_is_a_divergence(block):
    _, trace = block.record(lambda: list(numbers(3)))
    _, (early,) = block.replay(trace, lambda: read(numbers, 1), check=False)
    assert (
        "was read to its end after 3 items when it was recorded, and is now closed after 1" in early.message
    )
    _, (late,) = block.replay(trace, lambda: read(numbers, 3), check=False)
    assert (early.severity, late.severity) == ("error", "warning")


@autochron.boundary
def throwing(size):
    for _ in range(size):
        try:
            yield b"the same"
        except KeyError:
            pass


def test_an_error_thrown_in_between_equal_items_does_not_end_the_stream(block):
    def use():
        stream = throwing(3)
        items = [next(stream), stream.throw(KeyError()), *stream]
        return items

    items, trace = block.record(use)
    assert items == [b"the same"] * 3
    assert block.replay(trace, use) == (items, ())


# --- other lanes


@autochron.boundary
async def slow(started):
    started.set()
    await asyncio.sleep(60)


@autochron.boundary
async def quick(name):
    return name


def cancelled_first():
    async def run():
        async def first():
            await slow(asyncio.Event())

        async def second():
            return await quick("b")

        task = asyncio.create_task(first())
        await asyncio.sleep(0.01)
        second_task = asyncio.create_task(second())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        return await second_task, await asyncio.create_task(second())

    return asyncio.run(run())


def closed_first():
    async def run():
        async def first():
            stream = numbers_later(5)
            await anext(stream)
            await stream.aclose()

        async def second():
            return await quick("b")

        await asyncio.create_task(first())
        return await asyncio.create_task(second())

    return asyncio.run(run())


@pytest.mark.parametrize("way", [cancelled_first, closed_first])
def test_no_crossing_waits_for_one_that_was_cancelled_or_closed(way, block):
    result, trace = block.record(way)
    with autochron.replay(trace, rules=block.rules) as replaying:
        began = time.monotonic()
        assert way() == result
        took = time.monotonic() - began
        director = replaying._session.director
        assert director.state.schedule.turns.is_over
    assert took < 0.9


def test_a_served_coroutine_that_is_cancelled_counts_as_ended(block):
    async def awaited(*, cancel):
        async def run():
            return await quick("a")

        task = asyncio.create_task(run())
        if cancel:
            await asyncio.sleep(0)
            task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    _, trace = block.record(lambda: asyncio.run(awaited(cancel=False)))
    with autochron.replay(trace, rules=block.rules, check=False) as replaying:
        asyncio.run(awaited(cancel=True))
    assert replaying._session.director.state.schedule.progress == 1


# --- futures


class Futures:
    """A client whose methods return cancelled futures."""

    def pool(self):
        future = concurrent.futures.Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future

    def loop(self):
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        return future


def test_a_cancelled_future_of_a_pool_is_served_cancelled(block):
    def use():
        future = autochron.wrap(Futures(), kind="tool").pool()
        done, _ = concurrent.futures.wait([future], timeout=5)
        with pytest.raises(concurrent.futures.CancelledError):
            future.result()
        return future.cancelled(), len(done)

    result, trace = block.record(use)
    assert b'"concurrent.futures._base:CancelledError"' in trace.envelopes[0].outcome.error
    assert result == (True, 1)
    assert block.replay(trace, use) == (result, ())


def test_a_cancelled_future_of_a_loop_is_served_cancelled(block):
    async def run():
        future = autochron.wrap(Futures(), kind="tool").loop()
        with pytest.raises(asyncio.CancelledError):
            await future
        return future.cancelled()

    result, trace = block.record(lambda: asyncio.run(run()))
    assert result is True
    assert block.replay(trace, lambda: asyncio.run(run())) == (result, ())
