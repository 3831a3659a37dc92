"""Streams between tasks, where a rule says that they lead out of the process: served silent, and only then."""

import gc
import warnings

import anyio
import pytest
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from autochron.envelope import codec
from autochron.errors import CodecError, OpaqueError


class Around:
    """A thin class around a stream."""

    __slots__ = ("inner", "last")

    def __init__(self, inner):
        self.inner = inner
        self.last = None


class Thick:
    """A class that holds more than a stream."""

    def __init__(self, inner):
        self.inner = inner


def ends():
    send, receive = anyio.create_memory_object_stream(0)
    return send, receive


@pytest.fixture
def pair():
    send, receive = ends()
    yield send, receive
    send.close()
    receive.close()


async def test_what_is_sent_is_swallowed_and_nothing_arrives(pair):
    send, receive = codec.decode(codec.encode_channels(pair).body)
    assert (type(send), type(receive)) == (MemoryObjectSendStream, MemoryObjectReceiveStream)
    for number in range(3):
        await send.send(number)
    with anyio.move_on_after(0.01) as waiting:
        await receive.receive()
    assert waiting.cancelled_caught
    await send.aclose()
    await receive.aclose()


async def test_streams_may_have_something_thin_around_them(pair):
    around = tuple(map(Around, pair))
    made = codec.decode(codec.encode_channels(around).body)
    assert [type(each) for each in made] == [Around, Around]
    assert (type(made[0].inner), made[0].last) == (MemoryObjectSendStream, None)
    for each in made:
        each.inner.close()


def test_the_other_ends_are_forgotten_without_a_warning(pair):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        send = codec.decode(codec.encode_channels(pair[0]).body)
        send.close()
        del send
        gc.collect()


@pytest.mark.parametrize("wrap", [Thick, lambda stream: [stream], lambda stream: (stream, 1)])
def test_anything_else_is_encoded_as_it_is(wrap, pair):
    value = wrap(pair[0])
    encoded = codec.encode_channels(value)
    assert encoded == codec.encode(value)
    with pytest.raises(OpaqueError):
        codec.decode(encoded.body)


def test_without_the_rule_a_stream_is_opaque(pair):
    with pytest.raises(OpaqueError):
        codec.decode(codec.encode(pair[0]).body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"$channel":"both"}',
        b'{"$channel":{"type":"subprocess:Popen","slot":"args","channel":"send","empty":[]}}',
        b'{"$channel":{"type":"fractions:Fraction","slot":"real","channel":"send","empty":[]}}',
    ],
)
def test_an_edited_trace_makes_nothing_else(body):
    with pytest.raises(CodecError):
        codec.decode(body)
