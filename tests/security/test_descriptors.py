"""A program that closes or reuses any descriptor damages none of its own files and loses no crossing."""

import os
import time

import pytest

from tests.security.storing import WAYS, closing, is_sound, numbers, record

ALONE = """
for n in range(10): step(n)
for turn in range(5):
    files = take(f"turn{turn}-")
    for n in range(10):
        step(10 + turn * 10 + n)
        fill(files, "own")
        time.sleep(0.003)
    time.sleep(0.05)
    check(files, "own", 10)
step(60)
print("whole")
"""
FORKED = """
step(0)
child = os.fork()
if not child:
    files = take("child")
    for n in range(1, 30):
        step(n)
        fill(files, "own")
    check(files, "own", 29)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
files = take("parent")
for n in range(30, 60):
    step(n)
    fill(files, "own")
check(files, "own", 30)
step(60)
print("whole")
"""
DAEMON = """
ready, done = os.pipe()
step(0)
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    os.dup2(done, 2000)
    os.closerange(3, 2000)
    time.sleep(0.2)
    files = [os.open(f"daemon{n}.txt", os.O_RDWR | os.O_CREAT, 0o600) for n in range(40)]
    for n in range(1, 61):
        step(n)
        fill(files, "own")
    check(files, "own", 60)
    os.write(2000, b"whole")
    os._exit(0)
os.close(done)
if os.environ.get("STAYS"):
    print(os.read(ready, 5).decode())
"""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", ["alone", "forked"])
def test_nothing_is_written_into_files_of_a_program_that_closes_all_descriptors(way, program, tmp_path):
    result = record(tmp_path, closing(way, {"alone": ALONE, "forked": FORKED}[program]))
    assert (result.status, result.out, result.err) == (0, b"whole\n", b"")
    assert numbers(tmp_path) == list(range(61))
    assert is_sound(tmp_path / "t.db")


@pytest.mark.parametrize("stays", ["1", ""], ids=["the program stays", "the program goes"])
def test_nothing_is_written_into_files_of_a_daemon_that_was_forked_twice(stays, tmp_path):
    result = record(tmp_path, closing("closerange", DAEMON), env={"STAYS": stays})
    assert (result.status, result.out) == (0, b"whole\n" if stays else b"")
    give_up = time.monotonic() + 30
    while len(numbers(tmp_path)) < 61 and time.monotonic() < give_up:
        time.sleep(0.05)
    assert numbers(tmp_path) == list(range(61))
    for n in range(40):
        assert (tmp_path / f"daemon{n}.txt").read_bytes() == f"own {n};".encode() * 60


def test_the_program_has_no_descriptor_of_the_store_open(tmp_path):
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("lists descriptors as Linux does")
    code = """
for n in range(50):
    step(n)
    time.sleep(0.002)
    for each in os.listdir("/proc/self/fd"):
        try:
            assert "t.db" not in os.readlink(f"/proc/self/fd/{each}")
        except FileNotFoundError:
            pass
"""
    result = record(tmp_path, code)
    assert (result.status, result.err) == (0, b"")
    assert numbers(tmp_path) == list(range(50))
