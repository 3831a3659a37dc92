"""The ring between two processes: what is put in comes out whole, in order and once, or not at all."""

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
    """Put a message in; while there is no room, what the reader takes is returned."""
    came = []
    for piece, flags in writer.pieces(message):
        while not writer.put(piece, flags):
            found = reader.take()
            came += [] if found is None else [found]
    return came


@given(st.lists(st.binary(max_size=3 * SIZE)))
def test_messages_of_any_length_come_out_as_they_went_in(messages):
    _, writer, reader = pair()
    came = []
    for message in messages:
        came += send(writer, message, reader)
    while (found := reader.take()) is not None:
        came.append(found)
    assert came == messages
    assert writer.head == writer.tail == reader.tail


@given(st.binary(max_size=SIZE // 8), st.integers(0, SIZE - 1), st.integers(1, 255))
def test_a_record_that_was_damaged_is_not_taken(message, place, change):
    memory, writer, reader = pair()
    assert all(writer.put(*piece) for piece in writer.pieces(message))
    written = writer.head
    memory[CONTROL + place] ^= change
    padding = range(16 + len(message), SIZE)
    assert reader.take() == (message if place in padding else None)
    assert written == writer.head


@given(st.lists(st.binary(max_size=SIZE // 8), min_size=1), st.integers(1, SIZE))
def test_bytes_that_are_not_written_yet_are_not_taken(messages, ahead):
    """A processor may show the counter before the bytes: what an earlier round left is no record."""
    memory, writer, reader = pair()
    for message in messages:
        send(writer, message, reader)
        while reader.take() is not None:
            pass
    words = memory[:CONTROL].cast("Q")
    words[HEAD] += ahead & ~7
    assert reader.take() is None


def test_a_message_that_was_given_up_halfway_leaves_the_next_one_whole():
    _, writer, reader = pair()
    piece, flags = next(writer.pieces(b"x" * SIZE))
    assert writer.put(piece, flags)
    assert reader.take() is None
    assert all(writer.put(*each) for each in writer.pieces(b"next"))
    assert reader.take() == b"next"


def test_another_process_reads_what_this_one_writes():
    shared = Shared()
    slot = shared.slot(0)
    choose = random.Random(0)
    messages = [choose.randbytes(choose.randrange(100_000)) for _ in range(300)]
    child = os.fork()
    if not child:
        came = []
        while len(came) < len(messages):
            found = slot.ring.take()
            came += [] if found is None else [found]
        os._exit(0 if came == messages else 1)
    for message in messages:
        for piece, flags in slot.ring.pieces(message):
            while not slot.ring.put(piece, flags):
                pass
    assert os.waitpid(child, 0)[1] == 0


def test_each_process_claims_a_slot_of_its_own_as_long_as_there_are_any():
    shared = Shared()
    shared.owners[0] = 1
    assert [shared.claim(100 + number) for number in range(SLOTS)] == [*range(1, SLOTS), None]
    shared.release(7)
    assert shared.claim(200) == 7
    shared.release(7)
    shared.state = ENDED
    assert shared.claim(200) is None
