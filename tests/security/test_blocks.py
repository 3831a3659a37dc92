"""A recording block writes into none of the program's own files."""

import pytest

from tests.cli.processes import python, write
from tests.security.storing import STEP, WAYS, closing, is_sound, numbers

BLOCK = """
with autochron.record("block", store="t.db") as recorded:
    for n in range(10): step(n)
    time.sleep(0.1)
    for turn in range(3):
        files = take(f"turn{turn}-")
        for n in range(10):
            step(10 + turn * 10 + n)
            fill(files, "own")
            time.sleep(0.003)
        time.sleep(0.1)
        check(files, "own", 10)
    if not os.fork():
        step(40)
        os._exit(0)
    os.wait()
print(*recorded.problems)
"""


SLOW = {
    "another process is started": """
import autochron.store.spawning as slow
spawn = slow.spawn
def late(*arguments, **options):
    spawn(*arguments, **options)
    time.sleep(0.3)
slow.spawn = late
""",
    "its memory is made": """
import autochron.store.spawning as slow
open_memory = slow.open_memory
def late():
    descriptor = open_memory()
    time.sleep(0.3)
    return descriptor
slow.open_memory = late
""",
    "the store is opened": """
import autochron.store.database as slow
connect = slow.connect_to_write
def late(*arguments):
    connection = connect(*arguments)
    time.sleep(0.3)
    return connection
slow.connect_to_write = late
""",
}
"""Code that makes a step of our writing thread outlast the program's next round of closing and opening."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("step", SLOW)
def test_the_program_closes_a_descriptor_while_we_use_it(step, way, tmp_path):
    """Each round opens more files than the one before, so that numbers of ours become the program's."""
    more = closing(way, BLOCK).replace("range(40)", "range(next(sizes))")
    write(tmp_path, {"agent.py": STEP + SLOW[step] + "sizes = iter((20, 80, 200))\n" + more})
    assert python(tmp_path, "agent.py") == (0, b"\n", b"")
    assert numbers(tmp_path) == list(range(41))
    assert is_sound(tmp_path / "t.db")


@pytest.mark.parametrize("way", WAYS)
def test_a_recording_block_writes_into_no_file_of_the_program(way, tmp_path):
    """The program's own process holds the store at first, and checks its descriptors before each commit."""
    write(tmp_path, {"agent.py": STEP + closing(way, BLOCK)})
    assert python(tmp_path, "agent.py") == (0, b"\n", b"")
    assert numbers(tmp_path) == list(range(41))
    assert is_sound(tmp_path / "t.db")
