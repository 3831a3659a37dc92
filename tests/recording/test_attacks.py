"""Programs that once broke a recording: their output and exit status are the same as without one."""

import pytest

from tests.cli import processes
from tests.recording import woven

KEYS_LIB = "def take(*args, **kwargs): return len(args)\n"

KEYS = """
import lib

class Loud:
    def __str__(self):
        print("str"); return "loud"
    __repr__ = __str__
    def __hash__(self): return 1
    def __eq__(self, other): return self is other

class Text(str):
    def __str__(self):
        print("str of text"); return "text"
    __repr__ = __str__

class Number(int):
    def __str__(self):
        print("str of number"); return "number"
    __repr__ = __str__

class Ends:
    def __str__(self): raise KeyboardInterrupt
    __repr__ = __str__

for key in (Loud(), Text("a"), Number(3), Ends(), (1, "a"), None, 1.5, b"b"):
    print(lib.take({key: 1}, [{key: [key]}], {"nested": {key: {key: 1}}}))
print(lib.take(**{Text("a"): 1, "b": {Text("c"): 2}}))
"""

WRAPPED_LIB = "def take(value): return value\n"

WRAPPED = """
import base64, lib, random
random.seed(3)
for size in (33, 48, 60, 96, 480, 2_000):
    for width in (16, 48, 60, 64, 76):
        raw = random.randbytes(size)
        for text in (base64.b64encode(raw).decode(), base64.b64encode(b"some readable words " * size).decode()):
            lines = [text[at : at + width] for at in range(0, len(text), width)]
            for joined in ("\\n".join(lines), "\\r\\n".join(lines) + "\\r\\n", "/".join(lines)):
                assert lib.take({"attachment": joined})["attachment"] == joined
print("done")
"""

STORM_LIB = "def take(number): return [number, {'a': number}]\n"

STORM = """
import lib, signal

class Stop(Exception): pass

def handler(number, frame): raise Stop

signal.signal(signal.SIGALRM, handler)
stopped = wrong = 0
while stopped < 60:
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0003 + (stopped % 7) * 0.00001)
        for number in range(100_000):
            wrong += lib.take(number)[0] != number
    except Stop:
        stopped += 1
signal.setitimer(signal.ITIMER_REAL, 0)
print(stopped, wrong, lib.take(3))
"""

LOOP_LIB = """
def busy():
    while True:
        pass

def goes_on():
    while True:
        continue
"""

LOOP = """
import lib, signal

class Stop(Exception): pass

def handler(number, frame): raise Stop(frame.f_code.co_name)

# By the time that the processor works for the program: however busy the machine is, the loop has begun by then.
signal.signal(signal.SIGVTALRM, handler)
for loop in (lib.busy, lib.goes_on):
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.2)
    try:
        loop()
    except Stop as error:
        print(error)
"""

KEPT_LIB = """
kept = []

async def work(number):
    return number

def keep(number):
    made = work(number)
    kept.append(made)
    return made

def give(number):
    return work(number)
"""

KEPT = """
import asyncio, lib

held = lib.keep(1)
print(held is lib.kept[-1], held.cr_code.co_name)
held.close()
print(lib.kept[-1].cr_frame)
print(asyncio.run(lib.keep(2)), asyncio.run(lib.give(3)))
"""


GIVEN_LIB = "def give(value): return value\n"

GIVEN = """
import lib
from unittest import mock

class Nothing:
    def __iter__(self): return self
    def __next__(self): raise StopIteration

class Asked:
    def __get__(self, value, owner):
        print("asked")
        raise AttributeError

class Asks:
    __await__ = _asyncio_future_blocking = Asked()

print(list(lib.give(Nothing())))
for made in (mock.MagicMock, mock.AsyncMock, mock.Mock):
    held = made()
    lib.give(held)
    print(sorted(held._mock_children))
lib.give(Asks)
"""

WAITING_LIB = "def take(text): return len(text)\n"

# Replaces `acquire` of the lock type by a function that refuses to wait in an event loop, as blockbuster does.
WAITING = """
import asyncio, ctypes, gc, lib, threading, _thread

kept = _thread.LockType.acquire

def acquire(lock, blocking=True, timeout=-1):
    if blocking and timeout != 0 and lock.locked() and asyncio._get_running_loop() is not None:
        raise RuntimeError("Blocking call to lock.acquire")
    return kept(lock, blocking, timeout)

(methods,) = gc.get_referents(_thread.LockType.__dict__)
methods["acquire"] = acquire
ctypes.pythonapi.PyType_Modified(ctypes.py_object(_thread.LockType))

async def main():
    return [lib.take("three word text " * 1_000_000) for _ in range(3)]

print(asyncio.run(main()))

async def several(name):
    found = []
    for number in range(20):
        found.append(lib.take(name * number))
        await asyncio.sleep(0.001 * (number % 3))
    return found

def run(name):
    results[name] = asyncio.run(several(name))

results = {}
threads = [threading.Thread(target=run, args=(name,)) for name in "abcd"]
for each in threads: each.start()
for each in threads: each.join()
print(sorted(results.items()))
methods["acquire"] = kept
ctypes.pythonapi.PyType_Modified(ctypes.py_object(_thread.LockType))
"""

FRAMES_LIB = (
    "def take(value): return [value]\ndef fail(): raise ValueError('no')\ndef items():\n    yield 1\n"
)

FRAMES = """
import lib, sys

kept = sys._getframe
del sys._getframe
try:
    print(lib.take(1), list(lib.items()))
    try:
        lib.fail()
    except ValueError as error:
        print(repr(error))
finally:
    sys._getframe = kept
"""

DONE_LIB = """
import asyncio

def settled(items):
    items.append("ours")
    future = asyncio.get_running_loop().create_future()
    future.set_result(len(items))
    return future
"""

DONE = """
import asyncio, lib

async def main():
    for wait in (True, False):
        items = []
        future = lib.settled(items)
        items.append("theirs")
        print(await future if wait else future.result(), items)

asyncio.run(main())
"""

PROGRAMS = {
    "futures that are done": (DONE_LIB, DONE),
    "texts of keys": (KEYS_LIB, KEYS),
    "wrapped base64": (WRAPPED_LIB, WRAPPED),
    "signals": (STORM_LIB, STORM),
    "empty loops that a signal ends": (LOOP_LIB, LOOP),
    "a coroutine that is kept": (KEPT_LIB, KEPT),
    "classes that answer": (GIVEN_LIB, GIVEN),
    "locks that refuse to wait": (WAITING_LIB, WAITING),
    "no sys._getframe": (FRAMES_LIB, FRAMES),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_recording_and_replaying_change_no_output_of_the_program(name, tmp_path):
    lib, agent = PROGRAMS[name]
    (tmp_path / "lib.py").write_text(lib)
    (tmp_path / "agent.py").write_text(agent)
    (tmp_path / "autochron.toml").write_text(woven.RULES)
    plain = processes.python(tmp_path, "agent.py")
    recorded = processes.autochron(tmp_path, "run", "agent.py")
    assert (recorded.status, recorded.text) == (plain.status, plain.text), recorded.said
    assert "Traceback" not in recorded.said
    if agent != STORM:  # a crossing is lost, and reported, if a signal handler raises while it is written
        assert "(lost)" not in recorded.said
    if agent not in (STORM, KEPT, GIVEN):  # a replay of these is refused with a reason
        replayed = processes.autochron(tmp_path, "replay", "last")
        assert replayed.status == 0, replayed.said
        assert replayed.text == plain.text


def test_an_iterator_object_without_attributes_is_served(tmp_path):
    (tmp_path / "lib.py").write_text(GIVEN_LIB)
    (tmp_path / "autochron.toml").write_text(woven.RULES)
    (tmp_path / "agent.py").write_text(
        "import lib\nclass Nothing:\n    def __iter__(self): return self\n    def __next__(self): raise StopIteration\n"
        "print(list(lib.give(Nothing())))\n"
    )
    processes.autochron(tmp_path, "run", "--quiet", "agent.py")
    replayed = processes.autochron(tmp_path, "replay", "last")
    assert (replayed.status, replayed.text) == (0, "[]\n"), replayed.said
