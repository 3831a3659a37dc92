"""Results that other tools change or lose are served unchanged: a list, a number, a KeyError, a cancellation."""

import asyncio

import pytest

import autochron

ran = []


class Custom:
    """A tool that is a method and returns a number."""

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
    """Handle a tool's result as an agent's loop does."""
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
def test_a_result_or_an_error_is_served_unchanged(tool, expected, block):
    result, trace = block.record(lambda: status_of(tool))
    assert result == expected
    before = list(ran)
    replayed, divergences = block.replay(trace, lambda: status_of(tool))
    assert (replayed, divergences, ran) == (expected, (), before)


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
    result, trace = block.record(lambda: asyncio.run(cancel()))
    assert result == (False, True, ("enough",))
    assert ran == ["waits"]
    assert [envelope.address for envelope in trace.envelopes] == ["waits[1]"]
    replayed, divergences = block.replay(trace, lambda: asyncio.run(cancel()))
    assert (replayed, divergences, ran) == (result, (), ["waits"])


def test_a_time_limit_expires_again(block):
    async def limited():
        try:
            async with asyncio.timeout(0.01):
                await waits()
        except TimeoutError as error:
            return type(error.__cause__).__name__

    result, trace = block.record(lambda: asyncio.run(limited()))
    assert block.replay(trace, lambda: asyncio.run(limited())) == (result, ())
