"""Objects and classes that a program creates and drops are freed under a recording as they are without one."""

import pytest

from tests.cli import processes
from tests.recording import woven

LIB = """
def give(value): return value
def make(function): return function()
def fail(error): raise error
def items(value): yield value
def mapped(value): return map(str, [value])
def generated(value): return (each for each in [value])
def later(value): return give_later(value)
async def handed(value): return generated(value)
class Pages:
    def __init__(self, value): self.value = value
    def __iter__(self): return self
    def __next__(self): return 1
def pages(value): return Pages(1)
async def give_later(value): return value
class Desk:
    def take(self, value, *more, **others): return None
"""

RULES = f"""{woven.RULES}
[[boundary]]
name = "bound"
kind = "tool"
call = "CALLED[$name](...)"
"""

AGENT = """
import asyncio, collections, dataclasses, enum, gc, sys, time, types, warnings, weakref
import attrs, msgspec, pydantic
import lib

warnings.simplefilter("ignore")
CALLED = {}

def plain():
    class Local:
        def __init__(self):
            self.at = 1
    return Local()

def generic():
    T = __import__("typing").TypeVar("T")
    class Box(pydantic.BaseModel, __import__("typing").Generic[T]):
        held: T
    return Box[int](held=1)

MAKERS = {
    "object": plain,
    "slots": lambda: type("Slots", (), {"__slots__": ("at", "__weakref__")})(),
    "dataclass": lambda: dataclasses.make_dataclass("Data", [("at", int)])(1),
    "slotted dataclass": lambda: dataclasses.make_dataclass("Data", [("at", int)], slots=True, weakref_slot=True)(1),
    "attrs": lambda: attrs.make_class("Attrs", {"at": attrs.field(default=1)})(),
    "pydantic": lambda: pydantic.create_model("Model", at=(int, 1))(),
    "generic pydantic": generic,
    "struct": lambda: msgspec.defstruct("Struct", [("at", int)], weakref=True)(1),
    "namedtuple": lambda: collections.namedtuple("Pair", "one two")(1, 2),
    "enum": lambda: enum.Enum("Colour", "RED GREEN").RED,
    "exception": lambda: type("Failed", (Exception,), {})("no"),
    "dict": lambda: type("Dict", (dict,), {})(at=1),
    "list": lambda: type("List", (list,), {})([1]),
    "text": lambda: type("Text", (str,), {})("at"),
    "stream": lambda: type("Stream", (), {"__iter__": lambda self: self, "__next__": lambda self: 1})(),
    "awaitable": lambda: type("Later", (), {"__await__": lambda self: iter(())})(),
    "function": lambda: (lambda: None),
    "closure": lambda: (lambda held: lambda: held)(plain()),
    "method": lambda: plain().__init__,
    "meta": lambda: type("Meta", (type,), {})("Made", (), {})(),
}

def called(value):
    CALLED["now"] = lambda *_: value
    CALLED["now"](1)
    CALLED.clear()

def raised(value):
    try:
        lib.fail(value if isinstance(value, BaseException) else LookupError(value))
    except BaseException:
        pass

async def later(value):
    await asyncio.create_task(lib.give_later(value))

USES = {
    "argument": lambda value: lib.Desk().take(value),
    "class": lambda value: lib.Desk().take(type(value)),
    "more": lambda value: lib.Desk().take(1, value, other=value),
    "nested": lambda value: lib.Desk().take([{"a": (value, [value])}]),
    "receiver": lambda value: lib.Desk.take(value, 1),
    "result": lambda value: lib.make(lambda: value) and None,
    "results": lambda value: lib.make(lambda: [value, {"b": value}]) and None,
    "passed": lambda value: lib.give(value) and None,
    "raised": raised,
    "item": lambda value: [None for _ in lib.items(value)],
    "mapped": lambda value: [*lib.mapped(value)] and None,
    "mapped and left": lambda value: lib.mapped(value) and None,
    "mapped and left midway": lambda value: next(lib.mapped(value)) and None,
    "generated": lambda value: [*lib.generated(value)] and None,
    "generated and left": lambda value: lib.generated(value) and None,
    "generated and left midway": lambda value: next(lib.generated(value)) and None,
    "never awaited": lambda value: lib.later(value) and None,
    "handed": lambda value: asyncio.run(lib.handed(value)) and None,
    "an object of pages": lambda value: next(lib.pages(value)) and None,
    "left": lambda value: next(lib.items(value)) and None,
    "task": lambda value: asyncio.run(later(value)),
    "called": called,
}

def once(make, use, seen):
    value = make()
    if type(value).__flags__ & (1 << 9):
        seen.append(weakref.ref(type(value)))
    try:
        seen.append(weakref.ref(value))
    except TypeError:
        pass
    try:
        use(value)
    except TypeError:
        pass

alive = {}
for made, make in MAKERS.items():
    for used, use in USES.items():
        seen = alive[made, used] = []
        for _ in range(12):
            once(make, use, seen)
time.sleep(0.3)  # what waits to be written
gc.collect()
for case, seen in alive.items():
    count = sum(each() is not None for each in seen)
    if count:
        print(*case, count, "of", len(seen))
"""


@pytest.fixture
def program(tmp_path):
    """Return the folder of a program."""
    (tmp_path / "lib.py").write_text(LIB)
    (tmp_path / "autochron.toml").write_text(RULES)
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path


@pytest.mark.slow
def test_a_recording_keeps_no_object_of_the_program_alive(program):
    plain = processes.python(program, "agent.py")
    recorded = processes.autochron(program, "run", "agent.py")
    assert (recorded.status, recorded.text) == (0, plain.text), recorded.said
    assert plain.text == ""


HOLDING = """
import asyncio, contextvars, gc, lib

KEPT = []

def hold(text):
    KEPT.append(contextvars.copy_context())
    return text[::-1]

async def start(text):
    KEPT.append(asyncio.get_running_loop().create_task(asyncio.sleep(3600)))
    return text[::-1]

def count():
    return sum(type(each).__name__ == "Draft" and each.size > 3_000 for each in gc.get_objects())

async def main():
    for number in range(50):
        lib.make(lambda: hold(f"{number}" * 4_000)) and await lib.give_later(await start("x" * 4_000))
    for _ in range(100):  # until it is written
        await asyncio.sleep(0.1)
        gc.collect()
        if not count():
            break
    print(count())
    for task in KEPT[1::2]:
        task.cancel()

asyncio.run(main())
"""


def test_a_copied_context_keeps_no_draft_of_its_crossing_alive(program):
    (program / "agent.py").write_text(HOLDING)
    recorded = processes.autochron(program, "run", "--quiet", "agent.py")
    assert (recorded.status, recorded.text) == (0, "0\n"), recorded.said


FRAMES = """
import asyncio, gc, sys, time, weakref
import lib

class Held: pass

async def fails():
    time.time()  # the watch asks where this stands: in a task's step
    raise ValueError

async def main():
    task = asyncio.create_task(fails())
    seen = weakref.ref(task)
    await asyncio.wait([task])
    error = task.exception()
    del task
    print("task that raised", "lives" if seen() else "died")
    del error

asyncio.run(main())

def moves_on():
    held = Held()
    seen.append(weakref.ref(held))
    yield
    del held
    yield

seen = []
moving = moves_on()
next(moving)
lib.give([moving])  # the generator is looked at, as a part of an argument
next(moving)
print("what a generator let go of", "lives" if seen[0]() else "died")

print(list(lib.local_names()), list(lib.frame_names()))
"""

FRAMES_LIB = """
import sys

def local_names():
    held = locals()
    count = 0
    return (name for name in held)

def frame_names():
    frame = sys._getframe()
    names = [frame.f_locals]
    return (name for each in names for name in each)
"""


def test_inspecting_frames_keeps_nothing_alive_and_changes_no_locals_of_the_program(program):
    (program / "agent.py").write_text(FRAMES)
    (program / "lib.py").write_text(LIB + FRAMES_LIB)
    plain = processes.python(program, "agent.py")
    recorded = processes.autochron(program, "run", "--quiet", "agent.py")
    assert recorded.said == plain.said == ""
    assert recorded.text == plain.text
    assert plain.text.startswith("task that raised died\nwhat a generator let go of died\n")


GARBAGE = """
import asyncio, gc, threading, time
import lib

def calls():
    lib.give({1: [2]})
    lib.Desk().take([1])
    try:
        lib.make(lambda: {}[1])
    except KeyError:
        pass
    list(lib.items([1]))
    begun = lib.items([1])
    next(begun)
    begun.close()
    list(lib.mapped([1]))
    thread = threading.Thread(target=lib.give, args=([1],))
    thread.start()
    thread.join()

async def main():
    async def turn():
        calls()
        await lib.later([1])
        await asyncio.create_task(lib.give_later([1]))
    await turn()
    time.sleep(0.3)
    gc.collect()
    gc.disable()
    for _ in range(5):
        await turn()
    time.sleep(0.5)  # until it is written
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    gc.set_debug(0)
    print(sorted({type(each).__qualname__ for each in gc.garbage}))

asyncio.run(main())
"""


def test_a_crossing_and_a_lane_leave_no_cyclic_garbage(program):
    (program / "agent.py").write_text(GARBAGE)
    plain = processes.python(program, "agent.py")
    recorded = processes.autochron(program, "run", "--quiet", "agent.py")
    assert (recorded.status, recorded.said) == (0, "")
    assert recorded.text == plain.text == "[]\n"


SUSPENDED_LIB = """
import itertools
class Held:
    "Something that keeps what it reads from; `kept` is part of a cycle with it."
    kept = None
    def items(self):
        yield self
        yield self
    async def later(self, future):
        await future
    async def stream(self):
        yield self
        yield self
    def from_generator(self): return (each for each in [self, self])
    def from_map(self): return map(lambda each: each, [self, self])
    def from_chain(self): return itertools.chain([self], [self])
    def from_coroutine(self, future): return self._later(future)
    async def _later(self, future): await future
    def future(self, loop): return loop.create_future()
    def pages(self): return Pages(self)
    def unrelated(self): return (each for each in [1, 2])
class Pages:
    def __init__(self, held): self.held = held
    def __iter__(self): return self
    def __next__(self): return 1
"""

SUSPENDED = """
import asyncio, gc, sys, warnings, weakref
import lib

warnings.simplefilter("ignore")
sys.unraisablehook = lambda _: None
LOOP = asyncio.new_event_loop()

def step(awaitable):
    try:
        awaitable.send(None)
    except StopIteration:
        pass

def stream(held):
    held.kept = held.stream()
    step(held.kept.__anext__())

def waiting(held, make):
    held.kept = make(LOOP.create_future())
    held.kept.send(None)

def keep(make, steps):
    def use(held):
        held.kept = make(held)
        for _ in range(steps):
            next(held.kept)
    return use

WAYS = {
    "a stream": stream,
    "a coroutine": lambda held: waiting(held, held.later),
    "a returned coroutine": lambda held: waiting(held, held.from_coroutine),
    "a future": lambda held: setattr(held, "kept", held.future(LOOP)),
    "a receiver that only the crossing knew": lambda held: keep(lib.Held.unrelated, 1)(held),
} | {
    f"{name}, {steps} read": keep(getattr(lib.Held, name), steps)
    for name in ("items", "from_generator", "from_map", "from_chain", "pages")
    for steps in (0, 1)
}

for way, use in WAYS.items():
    held = lib.Held()
    seen = weakref.ref(held)
    use(held)
    del held
    gc.collect()  # at once: what is written later holds nothing of it either
    if seen() is not None:
        print(way)
LOOP.close()
"""


def test_suspended_code_in_a_dropped_cycle_is_collected(program):
    (program / "lib.py").write_text(SUSPENDED_LIB)
    (program / "agent.py").write_text(SUSPENDED)
    plain = processes.python(program, "agent.py")
    recorded = processes.autochron(program, "run", "agent.py")
    assert (recorded.status, recorded.text) == (plain.status, plain.text) == (0, ""), recorded.said


CACHED = """
import gc
import lib
from functools import cached_property

class Reader:
    @cached_property
    def items(self): return lib.from_nothing(self)
    def __del__(self): print("closed", flush=True)

gc.disable()
for steps in (0, 1, 2):
    reader = Reader()
    for _ in range(steps):
        next(reader.items)
    reader.items
    del reader
    print("after", steps, flush=True)
"""


@pytest.mark.parametrize(
    "result_expression", ["(each for each in [1, 2])", "map(abs, [1, 2])", "iter(Pages())", "Pages()"]
)
def test_an_argument_is_freed_with_its_owner_while_the_result_is_still_read(program, result_expression):
    (program / "lib.py").write_text(
        "class Pages:\n    def __iter__(self): return self\n    def __next__(self): return 1\n"
        f"def from_nothing(reader): return {result_expression}\n"
    )
    (program / "agent.py").write_text(CACHED)
    plain = processes.python(program, "agent.py")
    recorded = processes.autochron(program, "run", "agent.py")
    assert (recorded.status, recorded.text) == (plain.status, plain.text), recorded.said
    assert plain.text.startswith("closed\nafter 0\n")


UNREAD_LIB = """
async def answers(question): yield question
def items(question): return (each for each in [question])
def lazy(question): return map(str, [question])
def stream(question): return answers(question)
async def handed(question): return answers(question)
async def mapped(question): return map(str, [question])
def yields(question): yield question
"""

UNREAD = """
import asyncio, inspect, lib
KEPT = []
async def main():
    for name in ("items", "lazy", "stream", "handed", "mapped", "yields"):
        for keep in (True, False):
            given = getattr(lib, name)(f"{name} {keep}")
            if inspect.iscoroutine(given):
                given = await given
            if name == "yields":
                next(given)
            if keep:
                KEPT.append(given)
            del given
    print("done")
asyncio.run(main())
"""


def test_the_input_of_a_call_is_recorded_even_if_its_result_is_never_read(program):
    (program / "lib.py").write_text(UNREAD_LIB)
    (program / "agent.py").write_text(UNREAD)
    (program / "autochron.toml").write_text(
        'version = 1\n[[boundary]]\nname = "{__name__}"\nkind = "model"\ncodec = "http"\ndefine = "lib:*"\n'
    )
    recorded = processes.autochron(program, "run", "agent.py")
    assert (recorded.status, recorded.text) == (0, "done\n"), recorded.said
    shown = processes.autochron(program, "traces", "show", "last", "--full").text
    names = ("items", "lazy", "stream", "handed", "mapped", "yields")
    for name in names:
        for keep in (True, False):
            assert f'in   {{"question":"{name} {keep}"}}' in shown, shown
