"""What others give back changed or not at all comes back as it went: a list, a number, a KeyError, a cancellation."""

import asyncio

import pytest

import autochron

ran = []


class Custom:
    """Not a tool's usual result, and no function either."""

    def __init__(self, by):
        self.by = by

    @autochron.boundary("custom", kind="tool")
    def times(self, number):
        ran.append("custom")
        return self.by * number


@autochron.boundary
def pair():
    ran.append("pair")
    return [1, 2]


@autochron.boundary
def lost():
    ran.append("lost")
    return {}["the key"]


@autochron.boundary
async def waits():
    ran.append("waits")
    await asyncio.sleep(3600)


def status_of(tool):
    """Do what an agent's loop does with a tool's result."""
    try:
        result = tool()
    except KeyError as error:
        return {"status": "failed", "error": repr(error), "traceback": error.__traceback__ is not None}
    if isinstance(result, dict):
        return result
    return {"status": result, "type": type(result).__name__}


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (pair, {"status": [1, 2], "type": "list"}),
        (lambda: Custom(1).times(7), {"status": 7, "type": "int"}),
        (lost, {"status": "failed", "error": "KeyError('the key')", "traceback": True}),
    ],
    ids=["list", "int", "KeyError"],
)
def test_comes_back_as_it_went(tool, expected, block):
    given, trace = block.record(lambda: status_of(tool))
    assert given == expected
    before = list(ran)
    again, divergences = block.replay(trace, lambda: status_of(tool))
    assert (again, divergences, ran) == (expected, (), before)


async def cancel():
    task = asyncio.create_task(waits())
    for _ in range(9):
        await asyncio.sleep(0)
    done = task.done()
    task.cancel("enough")
    try:
        await task
    except asyncio.CancelledError as error:
        return done, task.cancelled(), error.args


def test_a_cancelled_tool_is_recorded_and_waits_until_it_is_cancelled(block):
    ran.clear()
    given, trace = block.record(lambda: asyncio.run(cancel()))
    assert given == (False, True, ("enough",))
    assert ran == ["waits"]
    assert [envelope.address for envelope in trace.envelopes] == ["waits[1]"]
    again, divergences = block.replay(trace, lambda: asyncio.run(cancel()))
    assert (again, divergences, ran) == (given, (), ["waits"])


def test_a_time_limit_runs_out_again(block):
    async def limited():
        try:
            async with asyncio.timeout(0.01):
                await waits()
        except TimeoutError as error:
            return type(error.__cause__).__name__

    given, trace = block.record(lambda: asyncio.run(limited()))
    assert block.replay(trace, lambda: asyncio.run(limited())) == (given, ())
