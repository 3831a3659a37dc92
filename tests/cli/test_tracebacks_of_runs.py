"""The tracebacks that a program sees have the same frames in a plain run, in a recorded run and in a replay."""

import json

import pytest

from tests.cli.processes import autochron, python, write

pytestmark = pytest.mark.usefixtures("as_users_do")

TOOLS = """
import asyncio, contextlib, functools, itertools

def bad(x=0):
    raise ValueError(f"bad {x}")

def _stream(n=1):
    for i in range(n):
        yield i
    raise ValueError("stream")

def _catching_stream():
    for i in range(3):
        try:
            yield i
        except KeyError as error:
            raise ValueError("caught") from error

async def _async_stream():
    yield 1
    raise ValueError("async stream")

async def _catching_async_stream():
    for i in range(3):
        try:
            yield i
        except KeyError as error:
            raise ValueError("caught") from error

async def _later():
    await asyncio.sleep(0)
    raise ValueError("later")

def _item(x):
    return 1 // (x - 2)

def plain():
    bad()

def chained():
    try:
        bad(1)
    except ValueError:
        bad(2)

def grouped():
    raise ExceptionGroup("group", [ValueError(1), KeyError(2)])

bound = functools.partial(bad, 3)

def outer():
    return plain()

def reads_another():
    return list(generator())

def called_back(function):
    return function()

def expression():
    return (bad(x) for x in (1, 2))

def mapped():
    return map(_item, [1, 2, 3])

def filtered():
    return filter(_item, [1, 2, 3])

def linked():
    return itertools.chain([1], map(_item, [2]))

def polled():
    return iter(lambda: bad(), 3)

def generator():
    return _stream()

def begun():
    stream = _stream(2)
    next(stream)
    return stream

def catching():
    return _catching_stream()

def own_generator():
    yield 1
    yield from _stream()

def own_catching():
    yield from _catching_stream()

def delegating():
    yield from [1, 2]

class Items:
    def __init__(self):
        self.n = 0
    def __iter__(self):
        return self
    def __next__(self):
        self.n += 1
        return 1 // (2 - self.n)

def items():
    return Items()

def async_generator():
    return _async_stream()

def async_catching():
    return _catching_async_stream()

async def own_async_generator():
    yield 1
    bad()

async def own_async_catching():
    for i in range(3):
        try:
            yield i
        except KeyError as error:
            raise ValueError("caught") from error

class AsyncItems:
    def __init__(self):
        self.n = 0
    def __aiter__(self):
        return self
    async def __anext__(self):
        self.n += 1
        return 1 // (2 - self.n)

class PlainAsyncItems(AsyncItems):
    def __anext__(self):
        return super().__anext__()

def async_items():
    return AsyncItems()

def plain_async_items():
    return PlainAsyncItems()

def coroutine():
    return _later()

async def own_coroutine():
    await _later()

class Awaitable:
    def __await__(self):
        yield from _later().__await__()

def awaitable():
    return Awaitable()

def future():
    made = asyncio.get_running_loop().create_future()
    made.set_exception(ValueError("future"))
    return made

def task():
    return asyncio.get_running_loop().create_task(_later())

@contextlib.contextmanager
def context():
    try:
        yield 1
    except KeyError as error:
        raise ValueError("in context") from error

@contextlib.asynccontextmanager
async def async_context():
    try:
        yield 1
    except KeyError as error:
        raise ValueError("in context") from error
"""

LIBRARY = """
import asyncio

def raising(x):
    raise ValueError("library")

def stream():
    yield 1
    raise ValueError("stream of the library")

async def later():
    await asyncio.sleep(0)
    raise ValueError("later, in the library")

def calling(function):
    return function()
"""

START = '''
import asyncio, datetime, io, json, math, operator, os, queue, random, signal, sqlite3, sys, threading, time, traceback
from concurrent.futures import ThreadPoolExecutor
import library, tools

def entry(frame):
    folder, name = os.path.split(frame.filename)
    return f"{os.path.basename(folder)}/{name}:{frame.name}:{frame.lineno}"

def chain(error, seen=()):
    """Return all that a traceback of an error shows."""
    if error is None or error in seen:
        return None
    seen = (*seen, error)
    frames = [entry(frame) for frame in traceback.extract_tb(error.__traceback__)]
    members = [chain(member, seen) for member in getattr(error, "exceptions", ())]
    return [type(error).__name__, str(error), frames, chain(error.__cause__, seen), chain(error.__context__, seen), members]

def case(name, function, *arguments):
    try:
        function(*arguments)
    except BaseException as error:
        ours = [line for line in traceback.format_exc().splitlines() if "/autochron/" in line]
        print(json.dumps([name, chain(error), ours]))
    else:
        raise AssertionError(name)

def fail():
    raise ValueError("of the program")

def consume(make):
    for item in make():
        pass

def in_a_handler(make):
    try:
        1 / 0
    except ZeroDivisionError:
        consume(make)

def throw(make, error):
    stream = make()
    next(stream)
    stream.throw(error)

def throw_caught(make):
    stream = make()
    next(stream)
    try:
        {}["x"]
    except KeyError as error:
        stream.throw(error)

async def consume_async(make):
    async for item in make():
        pass

async def throw_async(make, error):
    stream = make()
    await stream.__anext__()
    await stream.athrow(error)

async def throw_caught_async(make):
    stream = make()
    await stream.__anext__()
    try:
        {}["x"]
    except KeyError as error:
        await stream.athrow(error)

async def wait(make):
    await make()

async def gather(make):
    await asyncio.gather(make(), make())

async def group(make):
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(make())

async def cancel(make):
    task = asyncio.create_task(make())
    await asyncio.sleep(0)
    task.cancel()
    await task

def throw_into_coroutine(make):
    started = make()
    started.send(None)
    started.throw(TypeError("thrown"))

def asynchronously(function, *arguments):
    asyncio.run(function(*arguments))

def within(context, error):
    with context():
        raise error

async def within_async(context, error):
    async with context():
        raise error
'''

CROSSINGS = (
    START
    + """
for name in ("plain", "chained", "grouped", "bound", "outer", "reads_another"):
    case(name, getattr(tools, name))
case("called_back", tools.called_back, fail)
for name in ("expression", "mapped", "filtered", "linked", "polled", "generator", "begun", "own_generator", "items"):
    case(name, consume, getattr(tools, name))
    case(f"{name} in a handler", in_a_handler, getattr(tools, name))
for name in ("expression", "generator", "begun", "catching", "own_generator", "own_catching", "delegating"):
    if name != "expression":
        case(f"{name}, a TypeError thrown", throw, getattr(tools, name), TypeError("thrown"))
        case(f"{name}, a KeyError thrown", throw, getattr(tools, name), KeyError("thrown"))
        case(f"{name}, a caught error thrown", throw_caught, getattr(tools, name))
for name in ("async_generator", "own_async_generator", "async_items", "plain_async_items"):
    case(name, asynchronously, consume_async, getattr(tools, name))
for name in ("async_generator", "async_catching", "own_async_generator", "own_async_catching"):
    case(f"{name}, a TypeError thrown", asynchronously, throw_async, getattr(tools, name), TypeError("thrown"))
    case(f"{name}, a KeyError thrown", asynchronously, throw_async, getattr(tools, name), KeyError("thrown"))
    case(f"{name}, a caught error thrown", asynchronously, throw_caught_async, getattr(tools, name))
for name in ("coroutine", "own_coroutine", "awaitable", "future", "task"):
    case(name, asynchronously, wait, getattr(tools, name))
for name in ("coroutine", "own_coroutine"):
    case(f"{name} gathered", asynchronously, gather, getattr(tools, name))
    case(f"{name} in a group", asynchronously, group, getattr(tools, name))
    case(f"{name} cancelled", asynchronously, cancel, getattr(tools, name))
    case(f"{name}, thrown into", throw_into_coroutine, getattr(tools, name))
case("context", within, tools.context, KeyError("in the block"))
case("context that lets through", within, tools.context, TypeError("in the block"))
case("async_context", asynchronously, within_async, tools.async_context, KeyError("in the block"))
case("site", lambda: library.raising(1))
case("site with wrong arguments", lambda: library.raising())
case("site of a generator", lambda: consume(lambda: library.stream()))
case("site of a coroutine", lambda: asynchronously(library.later))
case("site with a callback", lambda: library.calling(fail))
case("a function of C", lambda: math.sqrt(-1))
case("site of a function of C", lambda: operator.truediv(1, 0))
"""
)

AROUND = (
    START
    + """
def in_a_thread():
    raised = []
    threading.excepthook = lambda arguments: raised.append(arguments.exc_value)
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    raise raised[0]

def start_twice():
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
    thread.start()

def pooled():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(fail).result()

def pool_mapped():
    with ThreadPoolExecutor(1) as pool:
        list(pool.map(lambda _: fail(), [1]))

def closed_pool():
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    pool.submit(fail)

def full():
    waiting = queue.Queue(1)
    waiting.put(1)
    waiting.put_nowait(2)

async def empty():
    asyncio.Queue().get_nowait()

async def no_coroutine():
    asyncio.create_task(3)

async def executed():
    await asyncio.get_running_loop().run_in_executor(None, fail)

async def threaded():
    await asyncio.to_thread(fail)

class Zone(datetime.tzinfo):
    def fromutc(self, moment):
        counts.append(1)
        fail()

counts = []
case("thread", in_a_thread)
case("started twice", start_twice)
case("joins itself", threading.current_thread().join)
case("pool", pooled)
case("pool's map", pool_mapped)
case("closed pool", closed_pool)
case("empty queue", lambda: queue.Queue().get_nowait())
case("full queue", full)
case("empty asyncio queue", asynchronously, empty)
case("no coroutine", asynchronously, no_coroutine)
case("run_in_executor", asynchronously, executed)
case("to_thread", asynchronously, threaded)
case("sqlite", lambda: sqlite3.connect(":memory:").execute("selec"))
case("open", lambda: open("/no/such"))
case("open with an opener", lambda: open("there", opener=lambda *_: fail()))
case("os.open", lambda: os.open("/no/such", os.O_RDONLY))
case("os.listdir", lambda: os.listdir("/no/such"))
case("os.walk", lambda: list(os.walk("/no/such", onerror=lambda _: fail())))
case("os.stat", lambda: os.stat("/no/such"))
case("os.remove", lambda: os.remove("/no/such"))
case("os.rename", lambda: os.rename("/no/such", "/no/other"))
case("os.write", lambda: os.write(99, b""))
case("os.read", lambda: os.read(99, 1))
case("input", lambda: input())
case("stdin", lambda: sys.stdin.read("x"))
case("stdout", lambda: sys.stdout.write(3))
case("stdout's buffer", lambda: sys.stdout.buffer.write(3))
case("randint", lambda: random.randint("a", "b"))
case("choice", lambda: random.choice([]))
case("shuffle", lambda: random.shuffle(3))
case("sleep", lambda: time.sleep("x"))
case("localtime", lambda: time.localtime("x"))
case("now", lambda: datetime.datetime.now(3))
case("now in a zone", lambda: datetime.datetime.now(Zone()))
case("a zone is asked once", lambda: {}[len(counts)])
case("signal", lambda: signal.signal(99, print))
case("getsignal", lambda: signal.getsignal(99))
"""
)

RULES = """
version = 1
packs = []
project = ["."]
{ambient}
[[boundary]]
name = "{__name__}"
kind = "tool"
define = "tools:*"

[[boundary]]
name = "site"
kind = "tool"
call = "library.$function(...)"

[[boundary]]
name = "sqrt"
kind = "tool"
target = "math:sqrt"

[[boundary]]
name = "truediv"
kind = "tool"
call = "operator.truediv(...)"
"""


OTHERWISE_REPLAYED = (
    "a zone is asked once",  # where the value is served, it is not asked
    "coroutine, thrown into",  # outside an event loop, a served coroutine ends at its first step
    "own_coroutine, thrown into",
)


def lines(result):
    """Return what a program printed of each case, by its name."""
    cases = [json.loads(line) for line in result.text.splitlines() if line.startswith("[")]
    assert len(cases) == len({case[0] for case in cases})
    return {name: (error, ours) for name, error, ours in cases}


def record(folder, source, ambient=""):
    """Return what a program printed in a plain run and in a recorded run."""
    rules = RULES.replace("{ambient}", ambient)
    files = {
        "agent.py": source,
        "tools.py": TOOLS,
        "library.py": LIBRARY,
        "autochron.toml": rules,
        "there": "",
    }
    write(folder, files)
    plain = python(folder, "agent.py")
    assert plain.status == 0, plain.said
    recorded = autochron(folder, "run", "--quiet", "agent.py")
    assert recorded.status == 0, recorded.said
    return lines(plain), lines(recorded)


def replay(folder):
    """Return what the recorded program printed in a replay."""
    return lines(autochron(folder, "replay", "--quiet", "last"))


@pytest.mark.parametrize(
    ("source", "ambient"),
    [
        pytest.param(CROSSINGS, "", id="crossings"),
        pytest.param(AROUND, "", id="around"),
        pytest.param(AROUND, 'ambient = ["clock", "random", "uuid"]', id="around, with values"),
    ],
)
def test_a_program_sees_the_same_frames(source, ambient, tmp_path):
    plain, recorded = record(tmp_path, source, ambient)
    assert len(plain) > 30
    assert recorded == plain
    replayed = replay(tmp_path)
    for name in OTHERWISE_REPLAYED:
        plain.pop(name, None)
        replayed.pop(name, None)
    assert replayed == plain


UNSTARTED = (
    START
    + """
def throw_at_once(make):
    make().throw(TypeError("thrown"))

case("generator", throw_at_once, tools.generator)
case("coroutine", throw_at_once, tools.coroutine)
case("own_generator", throw_at_once, tools.own_generator)
case("own_coroutine", throw_at_once, tools.own_coroutine)
"""
)


def test_an_error_that_is_thrown_into_an_unstarted_stand_in_shows_the_stand_in(tmp_path):
    """A known limit of `docs/design.md`: the frame is ours, and no code of it has run that could remove the entry."""
    plain, recorded = record(tmp_path, UNSTARTED)
    assert {name: case for name, case in recorded.items() if "own_" in name} == {
        name: case for name, case in plain.items() if "own_" in name
    }
    for name in ("generator", "coroutine"):
        (*_, frames, _, _, _), ours = recorded[name]
        assert frames[:-1] == plain[name][0][2][:-1]
        assert len(ours) == 1
