"""Streams that are read less or further than recorded, and boundaries that change their arguments."""

import asyncio
import random

import pytest

import autochron
from autochron.errors import DivergenceError
from autochron.provider import Script, Step
from autochron.store.memory import MemorySink
from tests.agents.workshop import write


@autochron.boundary
def numbers(size):
    for number in range(size):
        yield number, random.random()


@autochron.boundary
async def numbers_later(size):
    for number in range(size):
        await asyncio.sleep(0)
        yield number, random.random()


@autochron.boundary
def grow(state):
    state["items"].append(random.random())
    return state


@autochron.boundary
def fresh():
    return {"items": [1]}


def read(count):
    stream = numbers(5)
    return [next(stream) for _ in range(count)]


def read_and_close(count):
    stream = numbers(5)
    items = [next(stream) for _ in range(count)]
    stream.close()
    return items


def read_later(count):
    async def run():
        stream = numbers_later(5)
        items = [await anext(stream) for _ in range(count)]
        await stream.aclose()
        return items

    return asyncio.run(run())


@pytest.mark.parametrize("way", [read, read_and_close, read_later])
def test_a_stream_is_served_as_far_as_it_was_read(way, block):
    items, trace = block.record(lambda: way(3))
    assert block.replay(trace, lambda: way(3)) == (items, ())


@pytest.mark.parametrize("way", [read, read_and_close, read_later])
def test_reading_further_than_recorded_raises(way, block):
    _, trace = block.record(lambda: way(3))
    with pytest.raises(DivergenceError, match=r"is read further than when it was recorded .* after 3 items"):
        block.replay(trace, lambda: way(4))


def test_a_finished_stream_ends_as_recorded(block):
    items, trace = block.record(lambda: list(numbers(3)))
    assert block.replay(trace, lambda: list(numbers(3))) == (items, ())


READER = """
import os
from openai import OpenAI

stream = OpenAI().chat.completions.create(
    model="m", messages=[{"role": "user", "content": "Count."}], stream=True
)
for number, chunk in enumerate(stream, 1):
    if number == int(os.environ["CHUNKS"]):
        break
else:
    print("ended by itself")
stream.close()
print("done")
"""


def test_reading_a_models_stream_further_than_recorded_raises(forked, provider, tmp_path):
    write(tmp_path, READER)
    script = Script((Step(text="one two three four five six seven eight nine ten " * 400),))
    with provider.serve(script=script) as model:
        recorded = forked.run(tmp_path, "run", "agent.py", model=model, CHUNKS="2")
    assert recorded.stdout == b"done\n", recorded.stderr
    replayed = forked.run(tmp_path, "replay", "last", CHUNKS="2")
    assert (replayed.status, replayed.stdout) == (0, b"done\n"), replayed.stderr
    further = forked.run(tmp_path, "replay", "last", CHUNKS="100000")
    assert further.status == 1
    assert b"ended by itself" not in further.stdout
    assert "further than" in further.stderr


def test_a_served_call_changes_its_argument_again_and_returns_the_same_object(block):
    def use():
        state = {"items": []}
        inner = state["items"]
        assert grow(state) is state
        assert grow(state) is state
        assert state["items"] is inner
        return state

    result, trace = block.record(use)
    assert block.replay(trace, use) == (result, ())


def test_each_served_result_is_a_new_object(block):
    def use():
        first = fresh()
        first["items"].append(2)
        second = fresh()
        return first, second, first is second

    _, trace = block.record(use)
    assert block.replay(trace, use) == (({"items": [1, 2]}, {"items": [1]}, False), ())
    assert block.replay(trace, use) == (({"items": [1, 2]}, {"items": [1]}, False), ())


@autochron.boundary
def forgiving(answer):
    """Catch an error that is thrown in, and go on, end, raise it again, or raise another one."""
    try:
        yield 1
    except KeyError:
        if answer == "more":
            yield "caught"
        if answer == "through":
            raise
        if answer == "other":
            raise LookupError("another") from None
    return "end"


def throw_in(answer):
    stream = forgiving(answer)
    items = [next(stream)]
    error = KeyError("thrown")
    try:
        items.append(stream.throw(error))
        items.append(next(stream))
    except StopIteration as ended:
        items.append(ended.value)
    except LookupError as raised:
        items.append((type(raised), raised is error))
    return items


@pytest.mark.parametrize("answer", ["more", "end", "through", "other"])
def test_a_stream_handles_a_thrown_error_as_recorded(answer, block):
    items, trace = block.record(lambda: throw_in(answer))
    replayed, divergences = block.replay(trace, lambda: throw_in(answer))
    assert replayed == items
    assert divergences == ()


def test_a_stream_is_stored_as_open_until_all_its_items_are_stored(block, monkeypatch):
    outcomes = []
    original_put = MemorySink.put

    def noting_put(sink, envelope):
        outcomes.append(envelope.outcome)
        original_put(sink, envelope)

    monkeypatch.setattr(MemorySink, "put", noting_put)
    block.record(lambda: list(numbers(3)))
    # Items are prepared long after the stream ended: a crash between them must not leave a stream that looks complete.
    assert [type(outcome.end).__name__ for outcome in outcomes] == ["Abandoned", "Returned"]
