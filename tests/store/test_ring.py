"""The ring between two processes delivers each message whole, in order and once, or not at all."""

import os
import random

from hypothesis import given
from hypothesis import strategies as st

from autochron.store.ring import CONTROL, HEAD, Ring
from autochron.store.shared import ENDED, SLOTS, Shared

SIZE = 256


def pair(size=SIZE):
    memory = memoryview(bytearray(CONTROL + size))
    return memory, Ring(memory), Ring(memory)


def send(writer, message, reader):
    """Send a message, and return the messages that the reader takes to make room for it."""
    messages = []
    for piece, flags in writer.pieces(message):
        while not writer.put(piece, flags):
            record = reader.take()
            messages += [] if record is None else [record]
    return messages


@given(st.lists(st.binary(max_size=3 * SIZE)))
def test_messages_of_any_length_arrive_unchanged(messages):
    _, writer, reader = pair()
    received = []
    for message in messages:
        received += send(writer, message, reader)
    while (record := reader.take()) is not None:
        received.append(record)
    assert received == messages
    assert writer.head == writer.tail == reader.tail


@given(st.binary(max_size=SIZE // 8), st.integers(0, SIZE - 1), st.integers(1, 255))
def test_a_damaged_record_is_not_read(message, place, change):
    memory, writer, reader = pair()
    assert all(writer.put(*piece) for piece in writer.pieces(message))
    written = writer.head
    memory[CONTROL + place] ^= change
    padding = range(16 + len(message), SIZE)
    assert reader.take() == (message if place in padding else None)
    assert written == writer.head


@given(st.lists(st.binary(max_size=SIZE // 8), min_size=1), st.integers(1, SIZE))
def test_bytes_that_are_not_written_yet_are_not_read(messages, ahead):
    """A processor may show the new counter before the new bytes. Bytes from an earlier round must not count as a record."""
    memory, writer, reader = pair()
    for message in messages:
        send(writer, message, reader)
        while reader.take() is not None:
            pass
    words = memory[:CONTROL].cast("Q")
    words[HEAD] += ahead & ~7
    assert reader.take() is None


def test_a_message_after_an_unfinished_one_is_read_whole():
    _, writer, reader = pair()
    piece, flags = next(writer.pieces(b"x" * SIZE))
    assert writer.put(piece, flags)
    assert reader.take() is None
    assert all(writer.put(*part) for part in writer.pieces(b"next"))
    assert reader.take() == b"next"


def test_another_process_reads_the_messages_of_this_one():
    shared = Shared()
    slot = shared.slot(0)
    choose = random.Random(0)
    messages = [choose.randbytes(choose.randrange(100_000)) for _ in range(300)]
    child = os.fork()
    if not child:
        received = []
        while len(received) < len(messages):
            record = slot.ring.take()
            received += [] if record is None else [record]
        os._exit(0 if received == messages else 1)
    for message in messages:
        for piece, flags in slot.ring.pieces(message):
            while not slot.ring.put(piece, flags):
                pass
    assert os.waitpid(child, 0)[1] == 0


def test_each_process_claims_its_own_slot_until_none_is_left():
    shared = Shared()
    shared.owners[0] = 1
    assert [shared.claim(100 + number) for number in range(SLOTS)] == [*range(1, SLOTS), None]
    shared.release(7)
    assert shared.claim(200) == 7
    shared.release(7)
    shared.state = ENDED
    assert shared.claim(200) is None
