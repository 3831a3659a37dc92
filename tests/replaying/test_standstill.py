"""A replay that waits for what a served body would have done ends and says why. One that merely waits goes on."""

import re
import sys
import time

import pytest

from tests.cli.processes import autochron, finish, start

RULES = """version = 1
packs = []

[[boundary]]
name = "{__name__}"
kind = "tool"
define = "tools:*"
"""

ASYNC_TOOLS = """async def produce(to):
    for n in range(3):
        await to.put(n)

async def send(to):
    await to.send(1)

async def set_it(to):
    to.set()

async def complete(to):
    to.set_result(1)

async def consume(of):
    return [await of.get() for _ in range(3)]

async def write(to):
    to.send(b"1")

class Worker:
    def __init__(self, to):
        self.to = to

async def by_object(worker):
    await worker.to.put(1)

async def act():
    return 7
"""
THREAD_TOOLS = """def produce(to):
    to.put(1)

def set_it(to):
    to.set()

def complete(to):
    to.set_result(1)

def consume(of):
    return of.get()

def append(to, condition):
    with condition:
        to.append(1)
        condition.notify_all()

def act(to=None):
    return 7
"""


def in_loop(body, *, by="asyncio.run(main())"):
    """Return a program whose coroutine `main` has a body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"import asyncio\nimport tools\nasync def main():\n{lines}{by}\n"


IN_LOOPS = {
    "a queue": (
        in_loop(
            "q = asyncio.Queue()\nt = asyncio.create_task(tools.produce(q))\nprint(await q.get())\nawait t"
        ),
        "produce",
    ),
    "an event": (
        in_loop(
            "e = asyncio.Event()\nt = asyncio.create_task(tools.set_it(e))\nawait e.wait()\nprint(await t)"
        ),
        "set_it",
    ),
    "a future": (
        in_loop(
            "f = asyncio.get_running_loop().create_future()\nt = asyncio.create_task(tools.complete(f))\n"
            "print(await f, await t)"
        ),
        "complete",
    ),
    "a stream of anyio": (
        "import anyio\n"
        + in_loop(
            "to, of = anyio.create_memory_object_stream(1)\n"
            "async with anyio.create_task_group() as group:\n    group.start_soon(tools.send, to)\n"
            "    print(await of.receive())",
            by="anyio.run(main)",
        ),
        "send",
    ),
    "a queue of an object": (
        in_loop(
            "worker = tools.Worker(asyncio.Queue())\nt = asyncio.create_task(tools.by_object(worker))\n"
            "print(await worker.to.get(), await t)"
        ),
        "by_object",
    ),
    "a channel of trio": (
        (
            "import trio, tools\nasync def main():\n    to, of = trio.open_memory_channel(1)\n"
            "    async with trio.open_nursery() as nursery:\n        nursery.start_soon(tools.send, to)\n"
            "        print(await of.receive())\ntrio.run(main)\n"
        ),
        "send",
    ),
    "a pair of sockets": (
        "import socket\n"
        + in_loop(
            "to, of = socket.socketpair()\nof.setblocking(False)\n"
            "t = asyncio.create_task(tools.write(to))\n"
            "print(await asyncio.get_running_loop().sock_recv(of, 1), await t)"
        ),
        "write",
    ),
}
IN_THREADS = {
    "a queue": ("import queue\nq = queue.Queue()\ntools.produce(q)\nprint(q.get())\n", "produce"),
    "a queue read by another thread": (
        (
            "import queue, threading\nq = queue.Queue()\n"
            "reader = threading.Thread(target=lambda: print(q.get()))\nreader.start()\ntools.produce(q)\nreader.join()\n"
        ),
        "produce",
    ),
    "an event": ("import threading\ne = threading.Event()\ntools.set_it(e)\nprint(e.wait())\n", "set_it"),
    "a future": (
        "from concurrent.futures import Future\nf = Future()\ntools.complete(f)\nprint(f.result())\n",
        "complete",
    ),
    "a condition": (
        (
            "import collections, threading\nitems, condition = collections.deque(), threading.Condition()\n"
            "def read():\n    with condition:\n        while not items:\n            condition.wait()\n"
            "reader = threading.Thread(target=read)\nreader.start()\ntools.append(items, condition)\nreader.join()\n"
        ),
        "append",
    ),
}


REASONS = {
    "a channel of trio": "served bodies do nothing, and that of send[1] was the last",
    "a stream of anyio": "served bodies do nothing, and that of send[1] was the last",  # its state did not change
    "a queue of an object": "did to worker of by_object[1]",
    "a condition": "did to condition of append[1]",
}
WAITING = {
    "a sleep": "import time\nprint(tools.act())\ntime.sleep(S)\nprint('over')\n",
    "a time limit": (
        "import threading\nprint(tools.act(threading.Event()))\nprint(threading.Event().wait(S))\n"
    ),
    "a thread that sleeps": (
        "import threading, time\ne = threading.Event()\n"
        "def later():\n    time.sleep(S)\n    e.set()\n"
        "threading.Thread(target=later, daemon=True).start()\nprint(tools.act(e), e.wait())\n"
    ),
    "a timer of a loop": (
        "import asyncio\nasync def main():\n    e = asyncio.Event()\n    print(tools.act(e))\n"
        "    asyncio.get_running_loop().call_later(S, e.set)\n    print(await e.wait())\nasyncio.run(main())\n"
    ),
    "a worker of a pool": (
        "import asyncio, time\nasync def main():\n    print(tools.act())\n"
        "    print(await asyncio.to_thread(time.sleep, S))\nasyncio.run(main())\n"
    ),
    "an alarm": (
        "import signal, threading\ne = threading.Event()\n"
        "signal.signal(signal.SIGALRM, lambda *_: e.set())\nprint(tools.act(e))\n"
        "signal.setitimer(signal.ITIMER_REAL, S)\nprint(e.wait())\n"
    ),
    "a producer and a consumer, both served": (
        "import queue\nq = queue.Queue()\ntools.produce(q)\nprint(tools.consume(q))\n"
    ),
    "a queue that nobody touches": (
        "import queue\nq = queue.Queue()\nprint(tools.act(q))\nq.put(1)\nprint(q.get())\n"
    ),
    "a fork": (
        "import os, time, warnings\nwarnings.simplefilter('error')\nprint(tools.act(), flush=True)\n"
        "time.sleep(2)\npid = os.fork()\nif not pid:\n    os._exit(3)\nprint(os.waitpid(pid, 0)[1])\n"
    ),
}


def lay_out(folder, tools, program):
    """Write a program, its tools and its rules into a new folder."""
    folder.mkdir()
    (folder / "autochron.toml").write_text(RULES)
    (folder / "tools.py").write_text(tools)
    (folder / "agent.py").write_text(program)


def replays(folder, programs):
    """Record programs, each with its tools, then replay all of them at the same time.

    The variable `SECONDS` is small in the recording. In the replay it is longer than a standstill takes to be noticed.

    Args:
        folder: for each program, a folder of its shape's name is made there.
        programs: tools and program by shape.

    Returns:
        The finished replays by shape.
    """
    started = {}
    for shape, (tools, program) in programs.items():
        lay_out(folder / shape, tools, program)
        words = [sys.executable, "-m", "autochron", "run", "agent.py"]
        started[shape] = start(words, folder / shape, env={"SECONDS": "0.5"})
    for shape, process in started.items():
        recorded = finish(process)
        assert recorded.status == 0, (shape, recorded.said)
        words = [sys.executable, "-m", "autochron", "replay", "last"]
        started[shape] = start(words, folder / shape, env={"SECONDS": "9"})
    return {shape: finish(process) for shape, process in started.items()}


def expect_refused(shape, name, replayed):
    assert replayed.status == 1, (shape, replayed.said)
    message = re.search(r"first: (.*)", replayed.said)[1]
    assert message.startswith("the program stands still: each of its threads waits"), shape
    assert message.endswith("(standstill)"), shape
    assert f"; make it live (--live {name}), or" in message, (shape, message)
    assert REASONS.get(shape, f"did to to of {name}[1]") in message, (shape, message)


@pytest.mark.slow
def test_programs_that_wait_for_ever_end_and_the_remedy_that_is_named_works(tmp_path):
    loops = {f"{shape} in a loop": (ASYNC_TOOLS, program) for shape, (program, _) in IN_LOOPS.items()}
    threads = {
        shape: (THREAD_TOOLS, f"import tools\n{program}") for shape, (program, _) in IN_THREADS.items()
    }
    results = replays(tmp_path, loops | threads)
    for shape, (_, name) in IN_LOOPS.items():
        expect_refused(shape, name, results[f"{shape} in a loop"])
    for shape, (_, name) in IN_THREADS.items():
        expect_refused(shape, name, results[shape])
    replayed = autochron(tmp_path / "a queue", "replay", "last", "--live", IN_THREADS["a queue"][1])
    assert (replayed.status, replayed.text) == (0, "1\n"), replayed.said


WAITS_FOR_A_SIGNAL = """import signal, threading, tools
e = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: e.set())
tools.act()
print('ready', flush=True)
print(e.wait())
"""
WAITS_FOR_A_CLIENT = """import asyncio, tools
async def main():
    done = asyncio.Event()
    async def talk(reader, writer):
        writer.close()
        done.set()
    server = await asyncio.start_server(talk, '127.0.0.1', 0)
    tools.act()
    print(server.sockets[0].getsockname()[1], file=open('port', 'w'))
    print('ready', flush=True)
    await done.wait()
asyncio.run(main())
"""


def start_until_ready(folder, *words):
    process = start([sys.executable, "-m", "autochron", *words], folder)
    assert process.stdout.readline() == b"ready\n"
    return process


def end(process):
    process.terminate()
    return finish(process)


@pytest.mark.slow
def test_a_program_that_waits_for_something_that_comes_goes_on(tmp_path):
    outside = {"a signal": WAITS_FOR_A_SIGNAL, "a client": WAITS_FOR_A_CLIENT}
    for shape, program in outside.items():
        lay_out(tmp_path / shape, THREAD_TOOLS, program)
    recording = {shape: start_until_ready(tmp_path / shape, "run", "agent.py") for shape in outside}
    time.sleep(0.5)  # a handler that sets an event whose `wait` is just taking its lock would block for ever
    recorded = {shape: end(process) for shape, process in recording.items()}["a signal"]
    assert recorded.status == 0, recorded.said
    waiting = {shape: start_until_ready(tmp_path / shape, "replay", "last") for shape in outside}
    before = "import os, tools\nS = float(os.environ['SECONDS'])\n"
    programs = {shape: (THREAD_TOOLS, before + program) for shape, program in WAITING.items()}
    for shape, replayed in replays(tmp_path, programs).items():  # for 9 seconds
        assert replayed.status == 0, (shape, replayed.said)
    assert [process.poll() for process in waiting.values()] == [None, None]
    replayed = {shape: end(process) for shape, process in waiting.items()}["a signal"]
    assert replayed.status == 0, replayed.said
