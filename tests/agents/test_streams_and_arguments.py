"""Streams that are read less or further than recorded, and what a boundary changes in its arguments."""

import asyncio
import random

import pytest

import autochron
from autochron import provider
from autochron.errors import DivergenceError
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
    given = [next(stream) for _ in range(count)]
    stream.close()
    return given


def read_later(count):
    async def run():
        stream = numbers_later(5)
        given = [await anext(stream) for _ in range(count)]
        await stream.aclose()
        return given

    return asyncio.run(run())


@pytest.mark.parametrize("way", [read, read_and_close, read_later])
def test_a_stream_is_served_as_far_as_it_was_read(way, block):
    given, trace = block.record(lambda: way(3))
    assert block.replay(trace, lambda: way(3)) == (given, ())


@pytest.mark.parametrize("way", [read, read_and_close, read_later])
def test_reading_further_than_recorded_raises(way, block):
    _, trace = block.record(lambda: way(3))
    with pytest.raises(DivergenceError, match=r"is read further than when it was recorded .* after 3 items"):
        block.replay(trace, lambda: way(4))


def test_a_finished_stream_ends_as_it_ended(block):
    given, trace = block.record(lambda: list(numbers(3)))
    assert block.replay(trace, lambda: list(numbers(3))) == (given, ())


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


def test_reading_a_models_stream_further_than_recorded_raises(forked, tmp_path):
    write(tmp_path, READER)
    script = provider.Script((provider.Step(text="one two three four five six seven eight nine ten " * 400),))
    with provider.serve(script=script) as model:
        recorded = forked.run(tmp_path, "run", "agent.py", model=model, CHUNKS="2")
    assert recorded.stdout == b"done\n", recorded.stderr
    same = forked.run(tmp_path, "replay", "last", CHUNKS="2")
    assert (same.status, same.stdout) == (0, b"done\n"), same.stderr
    further = forked.run(tmp_path, "replay", "last", CHUNKS="100000")
    assert further.status == 1
    assert b"ended by itself" not in further.stdout
    assert "further than" in further.stderr


def test_an_argument_is_changed_again_and_comes_back_as_itself(block):
    def use():
        state = {"items": []}
        inner = state["items"]
        assert grow(state) is state
        assert grow(state) is state
        assert state["items"] is inner
        return state

    given, trace = block.record(use)
    assert block.replay(trace, use) == (given, ())


def test_every_serve_decodes_anew(block):
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
    """Catch what is thrown in, and go on, end, or let it through."""
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
    given = [next(stream)]
    error = KeyError("thrown")
    try:
        given.append(stream.throw(error))
        given.append(next(stream))
    except StopIteration as ended:
        given.append(ended.value)
    except LookupError as raised:
        given.append((type(raised), raised is error))
    return given


@pytest.mark.parametrize("answer", ["more", "end", "through", "other"])
def test_what_is_thrown_into_a_stream_is_met_as_it_was(answer, block):
    given, trace = block.record(lambda: throw_in(answer))
    replayed, divergences = block.replay(trace, lambda: throw_in(answer))
    assert replayed == given
    assert divergences == ()


def test_a_stream_is_stored_as_open_until_all_items_are(block, monkeypatch):
    put = []
    whole = MemorySink.put

    def told(sink, envelope):
        put.append(envelope.outcome)
        whole(sink, envelope)

    monkeypatch.setattr(MemorySink, "put", told)
    block.record(lambda: list(numbers(3)))
    # Prepared long after it ended: a crash between the items must not leave a stream that looks whole.
    assert [type(outcome.end).__name__ for outcome in put] == ["Abandoned", "Returned"]
