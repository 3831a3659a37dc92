"""Streams between tasks are served as silent streams if a rule says that they lead out of the process."""

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
    """A class that is no thin wrapper, because it has a `__dict__`."""

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


async def test_a_served_stream_discards_what_is_sent_and_receives_nothing(pair):
    send, receive = codec.decode(codec.encode_channels(pair).body)
    assert (type(send), type(receive)) == (MemoryObjectSendStream, MemoryObjectReceiveStream)
    for number in range(3):
        await send.send(number)
    with anyio.move_on_after(0.01) as waiting:
        await receive.receive()
    assert waiting.cancelled_caught
    await send.aclose()
    await receive.aclose()


async def test_streams_in_thin_wrappers_are_served(pair):
    wrapped = tuple(map(Around, pair))
    served = codec.decode(codec.encode_channels(wrapped).body)
    assert [type(wrapper) for wrapper in served] == [Around, Around]
    assert (type(served[0].inner), served[0].last) == (MemoryObjectSendStream, None)
    for wrapper in served:
        wrapper.inner.close()


def test_the_other_end_of_a_served_stream_is_dropped_without_a_warning(pair):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        send = codec.decode(codec.encode_channels(pair[0]).body)
        send.close()
        del send
        gc.collect()


@pytest.mark.parametrize("wrap", [Thick, lambda stream: [stream], lambda stream: (stream, 1)])
def test_any_other_value_is_encoded_as_usual(wrap, pair):
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
def test_an_edited_trace_cannot_build_any_other_type(body):
    with pytest.raises(CodecError):
        codec.decode(body)
