"""Coroutines and asynchronous generators, and code that drives them."""

import asyncio
import contextlib
import gc
import inspect
import itertools
import sys
import traceback
import types
import warnings

COROUTINES = []
STREAMS = []


def coroutine(function):
    COROUTINES.append(function)
    return function


def stream(function):
    STREAMS.append(function)
    return function


@types.coroutine
def pause(value):
    return (yield value)


class Pause:
    """A hand-written awaitable."""

    def __init__(self, value):
        self.value = value

    def __await__(self):
        return (yield self.value)


class Manager:
    log = []

    async def __aenter__(self):
        self.log.append("enter")
        return await pause("enter")

    async def __aexit__(self, kind, error, trace):
        self.log.append(kind and kind.__name__)
        await pause("exit")
        return kind is ValueError


class Items:
    def __init__(self, n):
        self.n = n

    def __aiter__(self):
        return self

    async def __anext__(self):
        if not self.n:
            raise StopAsyncIteration
        self.n -= 1
        await pause("anext")
        return self.n


@coroutine
async def immediate():
    return "immediate"


@coroutine
async def awaits():
    first = await pause("first")
    second = await Pause("second")
    return first, second


@coroutine
async def awaits_others():
    return [await immediate(), (await awaits(), await pause("third"))]


@coroutine
async def in_try():
    try:
        await pause("try")
    except ValueError as error:
        await pause(repr(error))
        raise KeyError("from except")
    except StopIteration:
        return "stopped"
    else:
        await pause("else")
    finally:
        await pause("finally")
    return "end"


@coroutine
async def uses_with():
    async with Manager() as got, Manager():
        await pause(got)
        raise ValueError("suppressed")
    return "after"


@coroutine
async def uses_for():
    out = []
    async for item in Items(2):
        out.append(item)
    else:
        out.append("else")
    return out, [item async for item in Items(1)], {item: await pause(item) for item in range(1)}


@coroutine
async def raises():
    await pause("before")
    raise LookupError("after")


@coroutine
async def raises_stop():
    raise StopIteration("inside")


@coroutine
async def ignores_close():
    try:
        await pause(1)
    except GeneratorExit:
        await pause("never mind")


@coroutine
async def consumes_a_stream():
    return [item async for item in counts()]


class Service:
    def __init__(self):
        self.calls = 0

    async def method(self, a, *rest, b=1, **more):
        self.calls += 1
        await asyncio.sleep(0)
        return a, rest, b, more, self.calls

    @classmethod
    async def make(cls):
        return await cls().method("made")

    @staticmethod
    async def static(a):
        return a

    async def pages(self, n):
        for page in range(n):
            await asyncio.sleep(0)
            yield page

    async def nested(self):
        async def inner(x):
            return await self.method(x)

        return await asyncio.gather(*(inner(x) for x in range(3)))


@stream
async def nothing():
    return
    yield


@stream
async def counts():
    got = yield 1
    got = yield got, await pause("between")
    await pause(got)


@stream
async def loops():
    for item in range(2):
        sent = yield item
        if sent == 1:
            continue
        await pause(sent)


@stream
async def tries():
    try:
        yield "try"
        await pause("awaiting")
        yield "try again"
    except ValueError as error:
        yield repr(error)
        raise KeyError("from except")
    except StopAsyncIteration:
        return
    else:
        yield "else"
    finally:
        await pause("finally")


@stream
async def closes():
    try:
        yield 1
    finally:
        await pause("closing")


@stream
async def ignores_the_close():
    try:
        yield 1
    except GeneratorExit:
        yield "never mind"


@stream
async def raises_stop_async():
    yield 1
    raise StopAsyncIteration("inside")


@stream
async def deep_in_an_expression():
    print(
        (yield 1),
        [await pause(2), {(yield 3): (yield 4)}],
        file=None if (yield 5) else contextlib.nullcontext(),
    ) if (yield 0) else None


@stream
async def with_and_for():
    async with Manager() as got:
        async for item in Items(2):
            yield got, item


def observe(step):
    """Run one step, and return all of its observable effects."""
    try:
        out = ("gave", repr(step()))
    except BaseException as error:
        trace = traceback.extract_tb(error.__traceback__)
        links = repr(error.__cause__), repr(error.__context__), error.__suppress_context__
        # `pause` is left out because unwoven code on 3.11 loses it too (probe_thrown_into_a_cleanup).
        lines = [
            (each.name, each.lineno, each.colno, each.end_colno)
            for each in trace
            if each.filename == __file__ and each.name != "pause"
        ]
        out = (repr(error), repr(getattr(error, "value", None)), links, lines)
    return out


STEPS = {
    "next": lambda it: it.send(None),
    "send": lambda it: it.send(1),
    "throw": lambda it: it.throw(ValueError("thrown")),
    "stop": lambda it: it.throw(StopIteration("thrown")),
    "exit": lambda it: it.throw(GeneratorExit),
    "close": lambda it: it.close(),
}


def run_script(function, script):
    it = function()
    out = []
    for step in script:
        out.append(observe(lambda: STEPS[step](it)))
        frame = it.cr_frame
        out.append((inspect.getcoroutinestate(it), frame and frame.f_lineno, it.cr_running, it.cr_suspended))
        out.append((type(it.cr_await).__name__, frame and sorted(frame.f_locals)))
    for _ in range(2):
        try:
            it.close()
        except RuntimeError as error:
            out.append(repr(error))
    return out


ASYNC_STEPS = {
    "next": lambda it: it.__anext__(),
    "send": lambda it: it.asend(1),
    "throw": lambda it: it.athrow(ValueError("thrown")),
    "exit": lambda it: it.athrow(GeneratorExit),
    "stop": lambda it: it.athrow(StopAsyncIteration("thrown")),
    "close": lambda it: it.aclose(),
}


def driven(awaitable):
    """Drive an awaitable to its end; return the values that it yielded and its result."""
    paused = []
    while True:
        try:
            paused.append(awaitable.send(None))
        except StopIteration as stop:
            return paused, stop.value


def run_async_script(function, script):
    it = function()
    out = []
    for step in script:
        out.append(observe(lambda: driven(ASYNC_STEPS[step](it))))
        frame = it.ag_frame
        out.append(
            (
                it.ag_running,
                frame and frame.f_lineno,
                type(it.ag_await).__name__,
                frame and sorted(frame.f_locals),
            )
        )
    for _ in range(2):
        out.append(observe(lambda: driven(it.aclose())))
    return out


def scripts(steps, lengths=(1, 2, 3)):
    return itertools.chain.from_iterable(itertools.product(steps, repeat=length) for length in lengths)


# --- probes -----------------------------------------------------------------------------------------------------------


def probe_every_script():
    return [
        (each.__name__, script, run_script(each, script)) for script in scripts(STEPS) for each in COROUTINES
    ]


def probe_every_asynchronous_script():
    return [
        (each.__name__, script, run_async_script(each, script))
        for script in scripts(ASYNC_STEPS)
        for each in STREAMS
    ]


def probe_formatted_tracebacks():
    out = []
    for function, script in (
        (in_try, "next throw next next"), (raises, "next next"), (raises_stop, "next"), (awaits_others, "next throw"),
        (uses_with, "next next throw next"), (ignores_close, "next close"), (awaits, "throw"),
    ):  # fmt: skip
        it = function()
        try:
            for step in script.split():
                STEPS[step](it)
        except BaseException:
            out.append(traceback.format_exc())
        with contextlib.suppress(RuntimeError):
            it.close()
    for function in (tries, raises_stop_async, ignores_the_close):
        it = function()
        try:
            for step in ("next", "throw", "next", "close"):
                driven(ASYNC_STEPS[step](it))
        except BaseException:
            out.append(traceback.format_exc())
    return out


def probe_thrown_while_awaiting():
    out = []
    for step in ("throw", "next"):  # Python itself never finishes a coroutine that is closed while it awaits
        it = tries()
        driven(it.__anext__())
        asked = it.__anext__()
        out.append(asked.send(None))
        out.append((it.ag_running, type(it.ag_await).__name__, it.ag_frame.f_lineno))
        out.append(observe(lambda: STEPS[step](asked)))
        out.append(observe(lambda: STEPS["next"](asked)))
        for _ in range(3):
            out.append(observe(lambda: driven(it.aclose())))
    return out


def probe_thrown_into_a_cleanup():
    it = in_try()
    it.send(None)
    it.throw(GeneratorExit)
    try:
        it.throw(ValueError("thrown"))
    except ValueError as error:
        return [each.name for each in traceback.extract_tb(error.__traceback__)]


def probe_never_awaited():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        awaits()
        Service().method(1)
        gc.collect()
    return [(str(each.message), each.category.__name__, each.lineno) for each in told]


def probe_asend_never_awaited():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        it = counts()
        it.asend(None)
        it.aclose()
        it.athrow(ValueError)
        del it
        gc.collect()
    return [(str(each.message), each.category.__name__) for each in told]


def probe_dropped_outside_a_loop():
    seen = []
    old = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(
        lambda it: seen.append(("first", it.__name__)), lambda it: seen.append(("last", it.__name__))
    )
    try:
        it = closes()
        driven(it.__anext__())
        seen.append("open")
        del it
        seen.append("dropped")
        it = counts()
        del it
    finally:
        sys.set_asyncgen_hooks(*old)
    return seen


def probe_facts():
    it, agen = awaits(), counts()
    try:
        return [
            it.cr_code is awaits.__code__, it.__name__, it.__qualname__, it.cr_origin, it.cr_await, type(it).__name__,
            agen.ag_code is counts.__code__, agen.__name__, agen.__qualname__, type(agen).__name__, inspect.isawaitable(it),
            inspect.isawaitable(pause(1)), type(pause(1)).__name__, dict(inspect.getcoroutinelocals(it)),
            inspect.isasyncgen(agen),
        ]  # fmt: skip
    finally:
        it.close()


def probe_origin():
    sys.set_coroutine_origin_tracking_depth(2)
    try:
        it = awaits()
        it.close()
        return [entry[1:] for entry in it.cr_origin]
    finally:
        sys.set_coroutine_origin_tracking_depth(0)


def probe_under_asyncio():
    async def main():
        service = Service()
        out = [await service.method(1, 2, b=3, c=4), await Service.make(), await Service.static(5)]
        out.append([page async for page in service.pages(3)])
        out.append(await service.nested())
        task = asyncio.create_task(service.method("task"))
        out.append((task.get_coro().__qualname__, await task))
        return out

    return asyncio.run(main())


def probe_cancelled():
    log = []

    async def sleeper():
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError as error:
            log.append(("cancelled", error.args))
            raise
        finally:
            await asyncio.sleep(0)
            log.append("finally")

    async def reader():
        try:
            async for page in Service().pages(1000):
                if page == 2:
                    await asyncio.sleep(100)
        finally:
            log.append("reader")

    async def main():
        for function in (sleeper, reader):
            task = asyncio.create_task(function())
            for _ in range(10):
                await asyncio.sleep(0)
            task.cancel("stop")
            try:
                await task
            except asyncio.CancelledError as error:
                log.append(error.args)
        try:
            async with asyncio.timeout(0):
                await sleeper()
        except TimeoutError:
            log.append("timeout")
        with contextlib.suppress(ExceptionGroup):
            async with asyncio.TaskGroup() as group:
                group.create_task(sleeper())
                group.create_task(failing())
        return log

    async def failing():
        await asyncio.sleep(0)
        raise ValueError

    return asyncio.run(main())


def probe_finalised_by_the_loop():
    log = []

    async def source():
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(0)
            log.append("closed")

    async def main():
        async for item in source():
            log.append(item)
            break
        it = source()
        log.append(await anext(it))
        log.append("end of main")
        return it

    it = asyncio.run(main())
    log.append(it.ag_frame is None)
    return log


def probe_stack_of_a_task():
    async def outer():
        return await inner()

    async def inner():
        await asyncio.sleep(0)
        return [
            (frame.f_code.co_name, frame.f_lineno)
            for frame in asyncio.current_task().get_stack()
            if frame.f_code.co_filename == __file__
        ]

    return asyncio.run(outer())


def probe_exit_stack():
    log = []

    @contextlib.asynccontextmanager
    async def managed(name):
        log.append(name)
        try:
            yield name
        except KeyError:
            log.append(f"caught {name}")
        finally:
            log.append(f"/{name}")

    async def main():
        async with contextlib.AsyncExitStack() as stack:
            for name in "ab":
                await stack.enter_async_context(managed(name))
            raise KeyError
        return log

    return asyncio.run(main())
