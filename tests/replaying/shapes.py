"""The corpus: what a caller does with boundaries of every shape, and what it observes.

A case is a function without arguments. Its observations are plain data, so they can be compared between runs and
processes, and can be the outcome of a boundary themselves.
"""

import asyncio
import concurrent.futures
import contextlib
import functools
import inspect
from dataclasses import dataclass

import pytest

from tests.replaying import shaped
from tests.replaying.shaped import Order


@dataclass(frozen=True)
class Case:
    """One use of boundaries by a caller.

    Attributes:
        shape, ending: its row and column in the table.
        run: the case itself; may be a coroutine function.
        names: the boundaries that it crosses.
        marks: pytest's marks; they say why a stubbed case can't be equal.
    """

    shape: str
    ending: str
    run: object
    names: tuple
    marks: tuple = ()


CASES = {}

NO_STREAM = (
    "an object that is only a context manager is not followed; it is refused and named when it is recorded"
)
OF_ITS_OWN_TYPE = (
    "an object of its type can't be made to give other items; it is refused and named when it is recorded"
)
ATTRIBUTES = "its attributes would not be there; it is refused and named when it is recorded"


def case(shape, ending, *names, unequal=None):
    """Return a decorator that adds a case to the corpus. `unequal` says why a stubbed one can't be equal."""
    marks = () if unequal is None else (pytest.mark.xfail(reason=unequal, strict=True),)

    def add(function):
        CASES[function.__name__] = Case(shape, ending, function, names, marks)
        return function

    return add


def observed(name):
    """Run a case and return all that its caller observed."""
    run = CASES[name].run
    return attempt(lambda: asyncio.run(run()) if inspect.iscoroutinefunction(run) else run())


def attempt(call):
    """Return as plain data what a call returned or raised."""
    try:
        return ["gave", look(call())]
    except BaseException as error:
        return ["raised", look(error)]


async def attempt_later(awaitable):
    try:
        return ["gave", look(await awaitable)]
    except BaseException as error:
        return ["raised", look(error)]


def look(value):
    """Return a value as plain data that shows its types at every depth."""
    kind = f"{type(value).__module__}:{type(value).__qualname__}"
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, BaseException):
        causes = [look(value.__cause__), value.__suppress_context__]
        return [kind, str(value), look(value.args), look(vars(value)), *causes]
    if isinstance(value, list | tuple):
        return [kind, *map(look, value)]
    if isinstance(value, set | frozenset):
        return [kind, *sorted(map(repr, value))]
    if isinstance(value, dict):
        return [kind, *([look(key), look(item)] for key, item in value.items())]
    if isinstance(value, Order | shaped.Base):
        return [kind, look(vars(value))]
    return [kind, repr(value)]


def ordered(sku="mug"):
    return Order(sku, 0, [{"price": 1}])


# --- functions


@case("function", "returned", "give")
def a_value():
    return shaped.give("mug"), shaped.give("cup", 2, 3, 4, unit="g", gift=True)


@case("function", "raised", "give_and_refuse")
def an_error():
    return shaped.give_and_refuse("mug")


@case("function", "raised", "stop")
def an_error_that_is_no_exception():
    return shaped.stop("mug")


@case("function", "raised", "give_and_refuse")
def an_error_that_is_handled_and_raised_again():
    try:
        shaped.give_and_refuse("mug")
    except shaped.Refused as error:
        error.add_note("seen by the caller")
        raise LookupError("outer") from error


@case("function", "returned", "change")
def changed_arguments():
    order, seen, tags = ordered(), ["first"], {"old"}
    line, alias = order.lines[0], seen
    result = shaped.change(order, seen, tags=tags)
    return result is order, line is order.lines[0], line, alias, tags, order


@case("function", "raised", "change_and_refuse")
def changed_arguments_of_what_raises():
    order = ordered()
    return attempt(lambda: shaped.change_and_refuse(order)), order


@case("function", "returned", "pick")
def one_of_the_arguments():
    first, second, chosen = ordered("a"), ordered("b"), ordered("c")
    return shaped.pick(first, second) is second, shaped.pick(first, second, chosen=chosen) is chosen


@case("function", "returned", "give")
def the_function_passed_on():
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pooled = pool.submit(shaped.give, "pooled").result()
    return [*map(shaped.give, ["a", "b"])], functools.partial(shaped.give, unit="t")("c"), pooled


# --- awaited


@case("coroutine function", "returned", "fetch")
async def a_coroutine():
    coroutine = shaped.fetch("mug")
    kind = inspect.iscoroutine(coroutine), coroutine.__name__
    return kind, await coroutine, await asyncio.gather(shaped.fetch("a"), shaped.fetch("b"))


@case("coroutine function", "raised", "fetch_and_refuse")
async def a_coroutine_that_raises():
    return await shaped.fetch_and_refuse("mug")


@case("coroutine function", "cancelled", "fetch_for_ever")
async def a_coroutine_that_is_cancelled():
    task = asyncio.create_task(shaped.fetch_for_ever("mug"))
    await asyncio.sleep(0.03)
    task.cancel("enough")
    outcome = await attempt_later(task)
    return outcome, task.cancelled(), task.done()


@case("coroutine function", "cancelled", "fetch_for_ever")
async def a_coroutine_that_takes_too_long():
    return await attempt_later(asyncio.wait_for(shaped.fetch_for_ever("mug"), 0.005))


@case("coroutine function", "cancelled", "fetch_and_tidy")
async def a_coroutine_that_tidies_when_it_is_cancelled():
    log = []
    task = asyncio.create_task(shaped.fetch_and_tidy("mug", log))
    await asyncio.sleep(0.03)
    task.cancel()
    return await attempt_later(task), log


@case("coroutine function", "returned", "fetch_in_spite")
async def a_coroutine_that_swallows_its_cancellation():
    task = asyncio.create_task(shaped.fetch_in_spite("mug"))
    await asyncio.sleep(0.03)
    task.cancel()
    return await attempt_later(task), task.cancelled()


@case("coroutine function", "closed early", "fetch_for_ever")
async def a_coroutine_that_is_closed():
    coroutine = shaped.fetch_for_ever("mug")
    coroutine.send(None)
    coroutine.close()
    return inspect.getcoroutinestate(coroutine)


@case("returns a coroutine", "returned", "coroutine_of")
async def a_coroutine_that_is_returned():
    coroutine = shaped.coroutine_of("mug")
    return inspect.iscoroutine(coroutine), coroutine.__name__, await coroutine


@case("returns a coroutine", "raised", "refusing_coroutine_of")
async def a_returned_coroutine_that_raises():
    return await shaped.refusing_coroutine_of("mug")


@case("returns a coroutine", "cancelled", "waiting_coroutine_of")
async def a_returned_coroutine_that_is_cancelled():
    task = asyncio.create_task(shaped.waiting_coroutine_of("mug"))
    await asyncio.sleep(0.03)
    task.cancel()
    return await attempt_later(task), task.cancelled()


@case("returns a coroutine", "closed early", "waiting_coroutine_of")
async def a_returned_coroutine_that_is_closed():
    coroutine = shaped.waiting_coroutine_of("mug")
    coroutine.send(None)
    coroutine.close()
    return inspect.getcoroutinestate(coroutine)


@case("returns a future", "returned", "future_of")
async def a_future():
    future = shaped.future_of("mug")
    before = future.done(), asyncio.isfuture(future)
    return before, await future, future.done(), future.cancelled()


@case("returns a future", "raised", "future_of")
async def a_future_that_fails():
    future = shaped.future_of("refuse")
    outcome = await attempt_later(future)
    return outcome, look(future.exception()), future.done(), future.cancelled()


@case("returns a future", "cancelled", "future_of")
async def a_future_that_is_cancelled():
    future = shaped.future_of("cancel")
    return await attempt_later(future), future.cancelled()


@case("returns a task", "returned", "task_of")
async def a_task():
    task = shaped.task_of("mug")
    return await task, task.done(), task.cancelled()


@case("returns a task", "raised", "task_of")
async def a_task_that_fails():
    return await shaped.task_of("refuse")


@case("returns a task", "returned", "task_of")
async def the_type_of_a_task():
    task = shaped.task_of("mug")
    await task
    return isinstance(task, asyncio.Task)


@case("returns a pool's future", "returned", "pool_future_of")
def a_pools_future():
    future = shaped.pool_future_of("mug")
    return type(future).__name__, future.result(), future.done(), future.cancelled()


@case("returns a pool's future", "raised", "pool_future_of")
def a_pools_future_that_fails():
    future = shaped.pool_future_of("refuse")
    return attempt(future.result), look(future.exception()), future.done()


@case("returns a pool's future", "cancelled", "pool_future_of")
def a_pools_future_that_is_cancelled():
    future = shaped.pool_future_of("cancel")
    return attempt(future.result), future.cancelled(), len(concurrent.futures.wait([future]).done)


@case("returns an awaitable", "returned", "awaitable_of")
async def an_awaitable():
    awaitable = shaped.awaitable_of("mug")
    return hasattr(awaitable, "__await__"), await awaitable


@case("returns an awaitable", "raised", "awaitable_of")
async def an_awaitable_that_raises():
    return await shaped.awaitable_of("refuse")


# --- generators


@case("generator", "returned", "count")
def a_generator():
    def through():
        return (yield from shaped.count(2))

    stream, items = through(), []
    while True:
        try:
            items.append(next(stream))
            print("got", items[-1])
        except StopIteration as ended:
            return items, ended.value, [*shaped.count(3)], [*zip("ab", shaped.count(2), strict=True)]


@case("generator", "raised", "count_and_refuse")
def a_generator_that_raises():
    stream, items = shaped.count_and_refuse(2), []
    try:
        for item in stream:
            items.append(item)
    except shaped.Refused as error:
        return items, look(error), attempt(lambda: next(stream)), inspect.getgeneratorstate(stream)


@case("generator", "closed early", "count_and_tidy")
def a_generator_that_is_closed():
    log, stream = [], None
    stream = shaped.count_and_tidy(3, log)
    first = next(stream)
    stream.close()
    return first, log, attempt(lambda: next(stream)), inspect.getgeneratorstate(stream)


@case("generator", "closed early", "count_and_tidy")
def a_generator_that_is_left():
    log = []
    for item in shaped.count_and_tidy(3, log):
        break
    return item, log


@case("generator", "closed early")
def a_generator_that_is_never_read():
    stream = shaped.count(3)
    stream.close()
    return inspect.getgeneratorstate(stream)


@case("generator", "returned", "converse")
def a_generator_that_is_sent_to():
    stream = shaped.converse("hello")
    items = [next(stream), stream.send("how"), stream.throw(LookupError("what")), stream.send("well")]
    return items, attempt(lambda: stream.send(None))


@case("generator", "raised", "converse")
def a_generator_that_is_thrown_into():
    stream, error = shaped.converse("hello"), ValueError("not caught")
    next(stream)
    try:
        stream.throw(error)
    except ValueError as raised:
        return raised is error, look(raised), inspect.getgeneratorstate(stream)


@case("generator", "returned", "delegated")
def a_generator_that_delegates():
    def through():
        results.append((yield from shaped.delegated(2)))

    results = []
    return [*through()], results


@case("generator", "returned", "grow")
def a_generator_that_changes_its_arguments():
    orders = [ordered("a"), ordered("b")]
    return [*shaped.grow(orders)], orders


@case("returns a generator", "returned", "iterator_of")
def a_generator_that_is_returned():
    stream = shaped.iterator_of(3)
    return inspect.isgenerator(stream), stream.__name__, [*stream]


@case("returns a generator", "closed early", "iterator_of")
def a_returned_generator_that_is_closed():
    stream = shaped.iterator_of(3)
    first = next(stream)
    stream.close()
    return first, [*stream], inspect.getgeneratorstate(stream)


@case("returns a generator", "returned", "begun")
def a_returned_generator_that_has_begun():
    stream = shaped.begun("hello")
    state = inspect.getgeneratorstate(stream)
    items = [stream.send("how"), next(stream, "end"), stream.throw(LookupError("what")), stream.send("well")]
    return state, items, stream.__name__, attempt(lambda: stream.send(None))


@case("returns a generator", "returned", "begun")
def a_returned_generator_that_has_begun_and_is_thrown_into_first():
    stream = shaped.begun("hello")
    return stream.throw(LookupError("what")) if stream.send("how") else None, [*stream]


@case("returns a generator", "raised", "begun")
def a_returned_generator_that_has_begun_and_ends_by_what_is_thrown_into_it():
    stream, error = shaped.begun("hello"), ValueError("not caught")
    raised = attempt(lambda: stream.throw(error))
    return raised, inspect.getgeneratorstate(stream)


@case("returns a generator", "closed early", "begun")
def a_returned_generator_that_has_begun_and_is_closed():
    stream = shaped.begun("hello")
    stream.close()
    return inspect.getgeneratorstate(stream), [*stream]


@case("returns a generator", "closed early", "begun")
def a_returned_generator_that_has_begun_and_is_never_read():
    stream = shaped.begun("hello")
    return inspect.getgeneratorstate(stream)


@case("returns a map, a slice …", "returned", "begun_map")
def a_map_that_has_begun():
    stream = shaped.begun_map(3)
    return type(stream).__name__, [*stream]


NOT_ALONE = "others hold it, too, so it is handed out itself; it is refused and named when it is recorded"


@case("returns a generator", "returned", "kept", unequal=NOT_ALONE)
def a_generator_that_is_kept():
    shaped.KEPT.clear()
    first, second = shaped.kept("a", 4), shaped.kept("a", 4)
    items = [next(first), next(second)]
    del first
    return items, [*second], second is shaped.KEPT["a"]


@case("returns a map, a slice …", "returned", "kept_map", unequal=NOT_ALONE)
def a_map_that_is_kept():
    shaped.KEPT.clear()
    first, second = shaped.kept_map("a", 3), shaped.kept_map("a", 3)
    return first is second, next(first), [*second]


@case("returns a generator", "closed early", "closable", unequal=NOT_ALONE)
def a_generator_that_a_function_can_close():
    stream = shaped.closable(3)
    item = next(stream)
    shaped.KEPT["close"]()
    return item, [*stream]


# --- asynchronous generators


@case("async generator", "returned", "count_later")
async def an_async_generator():
    stream = shaped.count_later(2)
    return inspect.isasyncgen(stream), [item async for item in stream], await attempt_later(anext(stream))


@case("async generator", "raised", "count_later_and_refuse")
async def an_async_generator_that_raises():
    stream, items = shaped.count_later_and_refuse(2), []
    try:
        async for item in stream:
            items.append(item)
    except shaped.Refused as error:
        return items, look(error), await attempt_later(anext(stream))


@case("async generator", "closed early", "count_later_and_tidy")
async def an_async_generator_that_is_closed():
    log = []
    stream = shaped.count_later_and_tidy(3, log)
    first = await anext(stream)
    await stream.aclose()
    return first, log, await attempt_later(anext(stream))


@case("async generator", "returned", "converse_later")
async def an_async_generator_that_is_sent_to():
    stream = shaped.converse_later("hello")
    items = [await anext(stream), await stream.asend("how"), await stream.athrow(LookupError("what"))]
    return items, await attempt_later(stream.asend(None))


@case("async generator", "raised", "converse_later")
async def an_async_generator_that_is_thrown_into():
    stream, error = shaped.converse_later("hello"), ValueError("not caught")
    await anext(stream)
    try:
        await stream.athrow(error)
    except ValueError as raised:
        return raised is error, look(raised)


@case("returns an async generator", "returned", "begun_later")
async def a_returned_async_generator_that_has_begun():
    stream = await shaped.begun_later("hello")
    items = [await stream.asend("how"), await stream.athrow(LookupError("what")), await stream.asend("well")]
    return items, stream.__name__, await attempt_later(stream.asend(None))


@case("returns an async generator", "closed early", "begun_later")
async def a_returned_async_generator_that_has_begun_and_is_closed():
    stream = await shaped.begun_later("hello")
    await stream.aclose()
    return await attempt_later(anext(stream))


@case("coroutine of a generator …", "returned", "handed_out")
async def what_a_coroutine_hands_out():
    items = [item async for item in await shaped.handed_out("async generator")]
    items += [[*await shaped.handed_out(kind)] for kind in ("generator", "map")]
    items += [item["page"] for item in await shaped.handed_out("pages")]
    return [*items, await (await shaped.handed_out("coroutine")), await (await shaped.handed_out("task"))]


@case("coroutine of a generator …", "closed early", "handed_out")
async def what_a_coroutine_hands_out_and_is_left():
    stream, items = await shaped.handed_out("async generator"), await shaped.handed_out("generator")
    return await anext(stream), await stream.aclose(), next(items), items.close()


@case("returns an async generator", "returned", "kept_later", unequal=NOT_ALONE)
async def an_async_generator_that_is_kept():
    shaped.KEPT.clear()
    first, second = shaped.kept_later("a", 4), shaped.kept_later("a", 4)
    items = [await anext(first), await anext(second)]
    del first
    return items, [item async for item in second], second is shaped.KEPT["a"]


@case("async generator", "cancelled", "count_for_ever")
async def an_async_generator_that_is_cancelled():
    async def read():
        async for item in shaped.count_for_ever(2):
            items.append(item)

    items = []
    task = asyncio.create_task(read())
    await asyncio.sleep(0.03)
    task.cancel()
    return await attempt_later(task), items, task.cancelled()


@case("returns an async generator", "returned", "late_iterator_of")
async def an_async_generator_that_is_returned():
    stream = shaped.late_iterator_of(2)
    return inspect.isasyncgen(stream), [item async for item in stream]


@case("returns an async generator", "closed early", "late_iterator_of")
async def a_returned_async_generator_that_is_closed():
    stream = shaped.late_iterator_of(2)
    first = await anext(stream)
    await stream.aclose()
    return first, await attempt_later(anext(stream))


# --- context managers


@case("@contextmanager", "returned", "session")
def a_context():
    log = []
    with shaped.session("a", log) as opened:
        log.append("inside")
    return opened, log


@case("@contextmanager", "raised", "strict_session")
def a_context_that_lets_an_error_through():
    log, error = [], LookupError("inside")
    try:
        with shaped.strict_session("a", log):
            raise error
    except LookupError as raised:
        return raised is error, look(raised), log


@case("@contextmanager", "returned", "session")
def a_context_that_swallows_an_error():
    log = []
    with shaped.session("a", log):
        raise LookupError("inside")
    return log


@case("@contextmanager", "raised", "replacing_session")
def a_context_that_raises_another_error():
    with shaped.replacing_session("a"):
        raise LookupError("inside")


@case("@contextmanager", "returned", "session", "give")
def contexts_on_a_stack():
    log = []
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(shaped.session(name, log)) for name in "ab"]
        stack.callback(log.append, "called back")
        log.append(shaped.give("inside").number)
    return opened, log


@case("@asynccontextmanager", "returned", "late_session")
async def a_late_context():
    log = []
    async with shaped.late_session("a", log) as opened:
        log.append("inside")
    async with contextlib.AsyncExitStack() as stack:
        on_stack = await stack.enter_async_context(shaped.late_session("b", log))
    return opened, on_stack, log


@case("@asynccontextmanager", "returned", "late_session")
async def a_late_context_that_swallows_an_error():
    log = []
    async with shaped.late_session("a", log):
        raise LookupError("inside")
    return log


@case("__enter__ and __exit__", "returned", "Door.__enter__", "Door.__exit__")
def a_door():
    door = shaped.Door("a", forgives=True)
    with door as entered:
        pass
    with door:
        raise LookupError("forgiven")
    return entered is door, door.state


@case("__enter__ and __exit__", "raised", "Door.__enter__", "Door.__exit__")
def a_door_that_lets_an_error_through():
    door = shaped.Door("a")

    def through():
        with contextlib.ExitStack() as stack:
            stack.enter_context(door)
            raise LookupError("inside")

    return attempt(through), door.state


@case("__aenter__ and __aexit__", "returned", "LateDoor.__aenter__", "LateDoor.__aexit__")
async def a_late_door():
    door = shaped.LateDoor("a", forgives=True)
    async with door as entered:
        raise LookupError("forgiven")
    return entered, door.state


@case("__aenter__ and __aexit__", "raised", "LateDoor.__aenter__", "LateDoor.__aexit__")
async def a_late_door_that_lets_an_error_through():
    door = shaped.LateDoor("a")
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(door)
        raise LookupError(str(door.state))


@case("returns a context manager", "returned", "opened", unequal=NO_STREAM)
def a_context_that_is_handed_out():
    with shaped.opened("a") as session:
        return session.name


# --- methods


@case("method", "returned", "sell", "inherited")
def a_method():
    desk = shaped.Desk("here")
    result = desk.sell("mug")
    passed_on = desk.sell
    return result is desk, passed_on("cup").sold, desk, desk.inherited("pot"), [*map(desk.inherited, "xy")]


@case("method", "raised", "sell_or_refuse")
def a_method_that_raises():
    desk = shaped.Desk("here")
    return attempt(lambda: desk.sell_or_refuse("mug")), desk


@case("class method", "returned", "open_at")
def a_class_method():
    return shaped.Desk.open_at("here"), shaped.Desk("x").open_at("there")


@case("static method", "returned", "price")
def a_static_method():
    return shaped.Desk.price("mug"), shaped.Desk("x").price("cup", percent=3)


@case("property", "returned", "total", "history")
def a_property():
    desk = shaped.Desk("here")
    return desk.total, desk.history, desk.history is desk.history


@case("__call__", "returned", "Desk.__call__")
def an_instance_that_is_called():
    desk = shaped.Desk("here")
    return desk("mug"), [*map(desk, "ab")]


@case("partial", "returned", "price", "sell")
def partials():
    desk = shaped.Desk("here")
    half = desk.half("mug")
    functools.partial(desk.sell, "mug")()
    return half, functools.partial(shaped.Desk.price, percent=1)("cup"), desk


# --- what has no code of its own


@case("C callable", "returned", "RNG.random", "strftime", "factorial", "FIND_ALL")
def c_callables():
    results = (
        shaped.FIND_ALL("mug-1 cup-22"),
        shaped.factorial(20),
        shaped.strftime("%Y", shaped.time.gmtime(0)),
    )
    return results, shaped.RNG.random(), shaped.RNG.random()


@case("C callable", "raised", "factorial")
def a_c_callable_that_raises():
    return shaped.factorial(-1)


# --- stream objects


def read(stream, count):
    return [next(stream) for _ in range(count)]


@case("stream object", "returned", "pages")
def a_stream_object():
    stream = shaped.pages(2)
    facts = (
        type(stream) is shaped.Pages,
        isinstance(stream, shaped.Pages),
        iter(stream) is stream,
        stream.size,
    )
    return (
        facts,
        stream.number,
        next(stream),
        stream.read,
        [*stream],
        stream.read,
        stream.closed,
        next(stream, "end"),
    )


@case("stream object", "returned", "pages")
def a_stream_object_in_a_context():
    with shaped.pages(2) as stream:
        numbers = [item["page"] for item in stream]
    return numbers, stream.closed, shaped.pages(3).rest()


@case("stream object", "raised", "pages")
def a_stream_object_that_raises():
    stream = shaped.pages(1, refuses=True)
    return next(stream), attempt(lambda: next(stream)), stream.read, stream.closed


@case("stream object", "closed early", "pages")
def a_stream_object_that_is_closed():
    with shaped.pages(3) as stream:
        first = next(stream)
    return first, stream.closed, attempt(lambda: next(stream))


@case("stream object", "closed early", "pages")
def a_stream_object_that_is_left():
    stream = shaped.pages(3)
    return read(stream, 2), stream.closed


@case("async stream object", "returned", "cursor")
async def an_async_stream_object():
    stream = shaped.cursor(2)
    facts = type(stream) is shaped.Cursor, stream.number, stream.closed
    return facts, [item async for item in stream], await attempt_later(stream.__anext__())


@case("async stream object", "raised", "cursor")
async def an_async_stream_object_that_raises():
    stream, items = shaped.cursor(1, refuses=True), []
    try:
        async for item in stream:
            items.append(item)
    except shaped.Refused as error:
        return items, look(error), stream.closed


@case("async stream object", "closed early", "cursor")
async def an_async_stream_object_that_is_closed():
    async with shaped.cursor(3) as stream:
        first = await anext(stream)
    return first, stream.closed


@case("lazy builtin iterator", "returned", "mapped", "sliced", "chained", "called")
def builtin_iterators():
    facts = []
    for give in (shaped.mapped, shaped.sliced, shaped.chained, shaped.called):
        stream = give(2)
        kind = f"{type(stream).__module__}.{type(stream).__qualname__}"
        facts.append([kind, iter(stream) is stream, [*stream], next(stream, "end")])
    return facts


@case("lazy builtin iterator", "raised", "mapped_and_refusing")
def a_builtin_iterator_that_raises():
    stream = shaped.mapped_and_refusing(2)
    return next(stream), attempt(lambda: next(stream))


@case("lazy builtin iterator", "closed early", "mapped", "chained")
def a_builtin_iterator_that_is_left():
    return read(shaped.mapped(5), 2), read(shaped.chained(5), 2)


@case("iterator of a container", "returned", "listed", "zipped", unequal=OF_ITS_OWN_TYPE)
def iterators_of_containers():
    return [*shaped.listed(2)], [*shaped.zipped(2)]


@case("iterator with attributes", "returned", "rows", unequal=ATTRIBUTES)
def an_iterator_with_attributes():
    stream = shaped.rows(2)
    return [*stream]
