"""Boundaries of every shape, as users write them; `RULES` names them. Their results show which run they come from.

`NOW.number` stands for the world: a body that ran shows the number of its run, a served one that of the recording.
"""

import asyncio
import collections
import concurrent.futures
import contextlib
import csv
import functools
import itertools
import math
import random
import re
import time
from dataclasses import dataclass, field
from types import ModuleType

NOW = ModuleType("now")  # a module, so its changes are not recorded and not repeated on replay
NOW.number, NOW.ran = 0, []

EXCLUDED = (
    *(
        "rules",
        "mark",
        "marked",
        "refuse",
        "delegated_inner",
        "fetch_later",
        "refusing_or_not",
        "count_silently",
        "talk",
        "talk_later",
    ),
    *("Plain.**", "Cursor.**", "Pages.**", "Session.**"),
)

RULES = """version = 1
packs = []
project = ["{folder}"]

[[boundary]]
name = "{{__name__}}"
kind = "model"
target = "{module}:ask"

[[boundary]]
name = "parent"
kind = "router"
target = "{module}:parent"

[[boundary]]
name = "{{__name__}}"
kind = "tool"
define = "{module}:**"
exclude = [{excluded}, "ask", "parent"]
"""

TARGETS = (
    *("Desk.__call__", "Door.__enter__", "Door.__exit__", "LateDoor.__aenter__", "LateDoor.__aexit__"),
    *("RNG.random", "strftime", "factorial", "FIND_ALL"),
)


def rules(folder):
    """Return the rule file for the boundaries here."""
    excluded = ", ".join(f'"{name}"' for name in EXCLUDED)
    text = RULES.format(folder=folder, module=__name__, excluded=excluded)
    for target in TARGETS:
        text += f'\n[[boundary]]\nname = "{target}"\nkind = "tool"\ntarget = "{__name__}:{target}"\n'
    return text


class Refused(Exception):
    """An error of the program's own, with a code beside its text."""

    def __init__(self, text, code):
        super().__init__(text)
        self.code = code


class Stopped(BaseException):
    """An error that `except Exception` doesn't catch."""


@dataclass
class Order:
    sku: str
    number: int
    lines: list = field(default_factory=list)


def mark(body):
    """Note that a body ran, and return the number of this run."""
    if body is None:
        raise Refused("nothing", NOW.number)
    NOW.ran.append(body)
    return NOW.number


def marked(what, number):
    return number, mark(what)


def refuse(body):
    """Raise an error that has everything that an exception can carry."""
    number = mark(body)
    error = Refused(f"{body} of run {number}", number)
    error.add_note(f"noted in run {number}")
    try:
        {}["missing"]
    except KeyError as cause:
        raise error from cause


def ask(question):
    return {"answer": f"{question} {mark('ask')}"}


def parent(name):
    from tests.replaying.shapes import observed

    mark("parent")
    return observed(name)


# --- functions


def give(sku, quantity=1, *rest, unit="kg", **more):
    number = mark("give")
    print(f"giving {sku} in run {number}")
    return Order(sku, number, [quantity, rest, unit, more])


def give_and_refuse(sku):
    print("about to refuse")
    refuse(sku)


def stop(sku):
    raise Stopped(sku, mark("stop"))


def change(order, seen, *, tags):
    number = mark("change")
    order.lines[0]["price"] = number
    seen.append(order.sku)
    tags.add(f"run {number}")
    return order


def change_and_refuse(order):
    order.lines.append(NOW.number)
    refuse("change_and_refuse")


def pick(*orders, **named):
    mark("pick")
    return named.get("chosen") or orders[1]


# --- awaited


async def fetch(sku):
    await asyncio.sleep(0.001)
    number = mark("fetch")
    print(f"fetched {sku} in run {number}")
    return Order(sku, number)


async def fetch_and_refuse(sku):
    await asyncio.sleep(0)
    refuse(sku)


async def fetch_for_ever(sku):
    mark("fetch_for_ever")
    await asyncio.Event().wait()


async def fetch_and_tidy(sku, log):
    mark("fetch_and_tidy")
    try:
        await asyncio.Event().wait()
    finally:
        log.append(f"tidied {sku}")


async def fetch_in_spite(sku):
    number = mark("fetch_in_spite")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        return number
    return None


def coroutine_of(sku):
    return fetch_later(sku)


async def fetch_later(sku):
    await asyncio.sleep(0)
    return Order(sku, mark("fetch_later"))


def refusing_coroutine_of(sku):
    async def refusing():
        await asyncio.sleep(0)
        refuse(sku)

    return refusing()


def waiting_coroutine_of(sku):
    async def waiting():
        mark("waiting")
        await asyncio.Event().wait()

    return waiting()


def task_of(sku):
    return asyncio.get_running_loop().create_task(refusing_or_not(sku))


async def refusing_or_not(sku):
    await asyncio.sleep(0)
    if sku == "refuse":
        raise LookupError(sku)
    return sku, mark("refusing_or_not")


def future_of(sku):
    future = asyncio.get_running_loop().create_future()
    number = mark("future_of")
    if sku == "cancel":
        future.cancel()
    elif sku == "refuse":
        asyncio.get_running_loop().call_later(0.001, future.set_exception, LookupError(sku, number))
    else:
        asyncio.get_running_loop().call_later(0.001, future.set_result, Order(sku, number))
    return future


def pool_future_of(sku):
    future = concurrent.futures.Future()
    number = mark("pool_future_of")
    if sku == "cancel":
        future.cancel()
        future.set_running_or_notify_cancel()
    elif sku == "refuse":
        future.set_exception(LookupError(sku, number))
    else:
        future.set_result(Order(sku, number))
    return future


class Plain:
    """An awaitable that is no coroutine."""

    def __init__(self, sku):
        self.sku = sku

    def __await__(self):
        yield from asyncio.sleep(0).__await__()
        if self.sku == "refuse":
            raise LookupError(self.sku, mark("awaited"))
        return Order(self.sku, mark("awaited"))


def awaitable_of(sku):
    return Plain(sku)


# --- generators


def count(size):
    for number in range(size):
        print(f"item {number}")
        yield number, mark("count")
    return f"run {NOW.number}"


def count_and_refuse(size):
    for number in range(size):
        yield number, mark("count_and_refuse")
    refuse("count_and_refuse")


def count_and_tidy(size, log):
    try:
        for number in range(size):
            yield number, mark("count_and_tidy")
    finally:
        log.append("tidied")


def converse(first):
    heard = []
    message = first
    while message is not None:
        try:
            message = yield mark("converse"), message
            heard.append(message)
        except LookupError as error:
            message = f"caught {error}"
    return heard


def delegated(size):
    inner_result = yield from delegated_inner(size)
    yield inner_result
    return "outer"


def delegated_inner(size):
    for number in range(size):
        yield number, mark("delegated")
    return f"inner {NOW.number}"


def iterator_of(size):
    return (mark("iterator_of") for _ in range(size))


def talk(first):
    heard = []
    try:
        message = yield mark("talk"), first
        while message is not None:
            heard.append(message)
            try:
                message = yield mark("talk"), message
            except LookupError as error:
                message = f"caught {error}"
    finally:
        heard.append("end")
    return heard


def begun(first):
    stream = talk(first)
    next(stream)
    return stream


def begun_map(size):
    stream = map(functools.partial(marked, "begun"), range(size))
    next(stream)
    return stream


KEPT = {}


def kept(name, size):
    if name not in KEPT:
        KEPT[name] = (mark("kept") for _ in range(size))
    return KEPT[name]


def kept_map(name, size):
    if name not in KEPT:
        KEPT[name] = map(functools.partial(marked, "kept"), range(size))
    return KEPT[name]


def closable(size):
    stream = (mark("closable") for _ in range(size))
    KEPT["close"] = lambda: stream.close()
    return stream


def grow(orders):
    for order in orders:
        order.lines.append(mark("grow"))
        yield order.sku


# --- asynchronous generators


async def count_later(size):
    for number in range(size):
        await asyncio.sleep(0)
        print(f"item {number}")
        yield number, mark("count_later")


async def count_later_and_refuse(size):
    for number in range(size):
        await asyncio.sleep(0)
        yield number, mark("count_later_and_refuse")
    refuse("count_later_and_refuse")


async def count_later_and_tidy(size, log):
    try:
        for number in range(size):
            yield number, mark("count_later_and_tidy")
    finally:
        log.append("tidied")


async def converse_later(first):
    message = first
    while message is not None:
        try:
            message = yield mark("converse_later"), message
        except LookupError as error:
            message = f"caught {error}"


async def begun_later(first):
    stream = talk_later(first)
    await anext(stream)
    return stream


async def talk_later(first):
    message = yield mark("talk_later"), first
    while message is not None:
        try:
            message = yield mark("talk_later"), message
        except LookupError as error:
            message = f"caught {error}"


def kept_later(name, size):
    if name not in KEPT:
        KEPT[name] = count_silently(size)
    return KEPT[name]


async def count_for_ever(size):
    for number in range(size):
        yield number, mark("count_for_ever")
    await asyncio.Event().wait()


async def handed_out(kind, size=3):
    await asyncio.sleep(0)
    if kind == "generator":
        return (mark("handed_out") for _ in range(size))
    if kind == "map":
        return map(functools.partial(marked, "handed_out"), range(size))
    if kind == "pages":
        return Pages(size, refuses=False)
    if kind == "coroutine":
        return fetch_later("mug")
    if kind == "task":
        return asyncio.get_running_loop().create_task(refusing_or_not("mug"))
    return count_silently(size)


def late_iterator_of(size):
    return count_silently(size)


async def count_silently(size):
    for number in range(size):
        yield number, mark("count_silently")


# --- context managers


@contextlib.contextmanager
def session(name, log):
    log.append(f"open {name}")
    number = mark("session")
    try:
        yield {"name": name, "number": number}
    except LookupError as error:
        log.append(f"caught {error}")
    finally:
        log.append(f"close {name}")


@contextlib.contextmanager
def strict_session(name, log):
    yield mark("strict_session")
    log.append(f"close {name}")


@contextlib.contextmanager
def replacing_session(name):
    try:
        yield mark("replacing_session")
    except LookupError as error:
        raise Refused(name, NOW.number) from error


@contextlib.asynccontextmanager
async def late_session(name, log):
    await asyncio.sleep(0)
    try:
        yield {"name": name, "number": mark("late_session")}
    except LookupError as error:
        log.append(f"caught {error}")
    finally:
        await asyncio.sleep(0)
        log.append(f"close {name}")


class Door:
    def __init__(self, name, *, forgives=False):
        self.name = name
        self.forgives = forgives
        self.state = []

    def __enter__(self):
        self.state.append(f"entered {mark('enter')}")
        return self

    def __exit__(self, kind, error, traceback):
        self.state.append(f"left {mark('exit')} {kind and kind.__name__}")
        if str(error) == "refuse":
            refuse("exit")
        return self.forgives


class LateDoor:
    def __init__(self, name, *, forgives=False):
        self.name = name
        self.forgives = forgives
        self.state = []

    async def __aenter__(self):
        await asyncio.sleep(0)
        self.state.append(f"entered {mark('aenter')}")
        return self.name, NOW.number

    async def __aexit__(self, kind, error, traceback):
        await asyncio.sleep(0)
        self.state.append(f"left {mark('aexit')} {kind and kind.__name__}")
        return self.forgives


class Session:
    """A context manager that a function hands out."""

    def __init__(self, name):
        self.name = name
        self.closed = False

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.closed = True


def opened(name):
    mark("opened")
    return Session(name)


# --- methods


class Base:
    def inherited(self, sku):
        return type(self).__name__, self.__dict__.get("shop"), sku, mark("inherited")


class Desk(Base):
    shops = []

    def __init__(self, shop):
        self.shop = shop
        self.sold = []

    def sell(self, sku):
        number = mark("sell")
        self.sold.append((sku, number))
        return self

    def sell_or_refuse(self, sku):
        self.sold.append(sku)
        refuse(sku)

    @classmethod
    def open_at(cls, place):
        return cls.__name__, place, mark("open_at")

    @staticmethod
    def price(sku, percent=0):
        return sku, percent, mark("price")

    @property
    def total(self):
        return len(self.sold), mark("total")

    @functools.cached_property
    def history(self):
        return [mark("history")]

    def __call__(self, sku):
        return self.shop, sku, mark("__call__")

    def _discounted(self, percent, sku):
        return self.price(sku, percent)

    half = functools.partialmethod(_discounted, 50)


# --- what has no code of its own

RNG = random.Random(7)
strftime = time.strftime
factorial = math.factorial
FIND_ALL = re.compile(r"(\w+)-(\d+)").findall


# --- stream objects


class Pages:
    """A stream as SDKs return it: an iterator with attributes that is also a context manager."""

    def __init__(self, size, *, refuses=False):
        self.size = size
        self.number = mark("Pages")
        self.read = 0
        self.closed = False
        self._refuses = refuses
        self._source = self._items()

    def _items(self):
        for page in range(self.size):
            yield {"page": page, "number": mark("page")}
        if self._refuses:
            refuse("Pages")

    def __iter__(self):
        return self

    def __next__(self):
        item = next(self._source)
        self.read += 1
        return item

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        self.closed = True
        self._source.close()

    def rest(self):
        return [item["page"] for item in self]


class Cursor:
    """An asynchronous stream of the same kind."""

    def __init__(self, size, *, refuses=False):
        self.number = mark("Cursor")
        self.closed = False
        self._source = self._items(size, refuses)

    async def _items(self, size, refuses):
        for row in range(size):
            await asyncio.sleep(0)
            yield row, mark("row")
        if refuses:
            refuse("Cursor")

    def __aiter__(self):
        return self

    async def __anext__(self):
        return await self._source.__anext__()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        await self.aclose()

    async def aclose(self):
        self.closed = True
        await self._source.aclose()


def pages(size, *, refuses=False):
    return Pages(size, refuses=refuses)


def cursor(size, *, refuses=False):
    return Cursor(size, refuses=refuses)


def mapped(size):
    return map(functools.partial(marked, "mapped"), range(size))


def mapped_and_refusing(size):
    return map(mark, ["mapped"] * (size - 1) + [None])


def sliced(size):
    return itertools.islice((mark("sliced") for _ in itertools.count()), size)


def chained(size):
    return itertools.chain([mark("chained")], range(size))


def listed(size):
    return iter([mark("listed")] * size)


def zipped(size):
    return zip(range(size), [mark("zipped")] * size, strict=False)


def called(size):
    remaining = collections.deque([mark("called")] * size)
    return iter(lambda: remaining.popleft() if remaining else None, None)


def rows(size):
    return csv.reader(f"{number},{mark('rows')}" for number in range(size))
