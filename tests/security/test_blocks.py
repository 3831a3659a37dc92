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


@pytest.mark.parametrize("way", WAYS)
def test_a_recording_block_writes_into_no_file_of_the_program(way, tmp_path):
    """The program's own process holds the store at first, and checks its descriptors before each commit."""
    write(tmp_path, {"agent.py": STEP + closing(way, BLOCK)})
    assert python(tmp_path, "agent.py") == (0, b"\n", b"")
    assert numbers(tmp_path) == list(range(41))
    assert is_sound(tmp_path / "t.db")
