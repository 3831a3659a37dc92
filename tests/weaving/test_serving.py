"""A serving replaces a body, which does not run: its outcome and items are returned, raised or yielded instead."""

import asyncio
import inspect
import traceback

import pytest

from tests.weaving import ways


class Served:
    """A serving of one outcome and, for a stream, of the items before it."""

    def __init__(self, value=None, error=None, items=()):
        self.value = value
        self.error = error
        self.left = list(items)
        self.log = []

    def __bool__(self):
        return False

    def enter(self, point, arguments):
        return self

    def outcome(self):
        return self.error, self.value

    async def outcome_async(self):
        await asyncio.sleep(0)
        return self.error, self.value

    def items(self):
        for item in self.left:
            try:
                self.log.append((yield item))
            except KeyError as error:
                self.log.append(repr(error))
                yield "caught"
            except GeneratorExit:
                self.log.append("closed")
                raise
        return self.error, self.value

    async def step_async(self, sent):
        await asyncio.sleep(0)
        if sent is not None:
            self.log.append(sent)
        if self.left:
            return False, None, self.left.pop(0)
        return True, self.error, None

    def thrown(self, error):
        self.log.append(type(error).__name__)
        return not isinstance(error, ZeroDivisionError)


PROGRAM = """
ran = []

def plain(a, b=2, *rest, **more):
    ran.append("plain")

def cells(a):
    ran.append("cells")
    return lambda: a

async def waits(a):
    ran.append("waits")

def streams(a):
    ran.append("streams")
    yield a

def delegates(a):
    ran.append("delegates")
    yield from [a]

async def pages(a):
    ran.append("pages")
    yield a
"""


@pytest.fixture
def program():
    names = ways.woven(PROGRAM)
    yield names
    assert names.ran == []


def frames_and_error(action):
    try:
        action()
    except BaseException as error:
        return [frame.name for frame in traceback.extract_tb(error.__traceback__)], error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("name", ["plain", "cells"])
def test_a_served_value_is_returned(program, name):
    value = object()
    with ways.handled_by(Served(value)):
        assert getattr(program, name)(1) is value


def test_a_served_error_is_raised_without_the_woven_frame(program):
    error = LookupError("served")
    with ways.handled_by(Served(error=error)):
        names, raised = frames_and_error(lambda: program.plain(1))

    assert raised is error
    assert names == ["frames_and_error", "<lambda>"]
    assert raised.__context__ is None


def test_a_served_error_that_is_raised_while_another_is_handled_gets_no_context(program):
    error = LookupError("served")
    with ways.handled_by(Served(error=error)):
        try:
            raise KeyError("outer")
        except KeyError:
            _, raised = frames_and_error(lambda: program.plain(1))

    assert raised.__context__ is None


def test_a_served_coroutine_returns_and_raises(program):
    with ways.handled_by(Served("value")):
        coroutine = program.waits(1)
        assert inspect.iscoroutine(coroutine)
        assert asyncio.run(coroutine) == "value"
    error = LookupError("served")
    with ways.handled_by(Served(error=error)):
        names, raised = frames_and_error(lambda: asyncio.run(program.waits(1)))
    assert raised is error
    assert "waits" not in names


def test_a_served_coroutine_can_be_cancelled(program):
    class Waiting(Served):
        async def outcome_async(self):
            try:
                await asyncio.sleep(100)
            finally:
                self.log.append("cancelled")

    async def main():
        task = asyncio.create_task(program.waits(1))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with ways.handled_by(Waiting()) as serving:
        asyncio.run(main())
    assert serving.log == ["cancelled"]


def test_a_served_coroutine_may_swallow_a_cancellation(program):
    class Stubborn(Served):
        async def outcome_async(self):
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                return None, "anyway"

    async def main():
        task = asyncio.create_task(program.waits(1))
        await asyncio.sleep(0)
        task.cancel()
        return await task

    with ways.handled_by(Stubborn()):
        assert asyncio.run(main()) == "anyway"


def test_a_served_coroutine_can_be_closed(program):
    with ways.handled_by(Served("value")) as serving:
        coroutine = program.waits(1)
        coroutine.send(None)
        coroutine.close()
    assert inspect.getcoroutinestate(coroutine) == "CORO_CLOSED"


@pytest.mark.parametrize("name", ["streams", "delegates"])
def test_a_served_generator_yields_and_returns(program, name):
    with ways.handled_by(Served("end", items=[1, 2])) as serving:
        generator = getattr(program, name)(0)
        assert inspect.isgenerator(generator)
        assert [next(generator), generator.send("sent")] == [1, 2]
        with pytest.raises(StopIteration) as stop:
            generator.send("last")
    assert (stop.value.value, serving.log) == ("end", ["sent", "last"])
    assert inspect.getgeneratorstate(generator) == "GEN_CLOSED"


def test_a_served_generator_can_be_thrown_into_and_closed(program):
    with ways.handled_by(Served(items=[1, 2, 3])) as serving:
        generator = program.streams(0)
        assert [next(generator), generator.throw(KeyError("in")), next(generator)] == [1, "caught", 2]
        generator.close()
    assert serving.log == ["KeyError('in')", "closed"]
    with ways.handled_by(Served(items=[1])):
        generator = program.streams(0)
        next(generator)
        with pytest.raises(ValueError, match="in"):
            generator.throw(ValueError("in"))


def test_a_served_generator_that_ends_after_a_throw_returns_its_value(program):
    class Ending(Served):
        def items(self):
            try:
                yield 1
            except KeyError:
                return None, "ended"

    with ways.handled_by(Ending()):
        generator = program.streams(0)
        next(generator)
        with pytest.raises(StopIteration) as stop:
            generator.throw(KeyError())
    assert stop.value.value == "ended"


def test_a_served_generator_raises_at_its_end(program):
    error = LookupError("served")
    with ways.handled_by(Served(error=error, items=[1])):
        generator = program.streams(0)
        assert next(generator) == 1
        names, raised = frames_and_error(lambda: next(generator))
    assert raised is error
    assert "streams" not in names


def test_a_served_asynchronous_generator_yields_and_ends(program):
    async def main():
        stream = program.pages(0)
        assert inspect.isasyncgen(stream)
        items = [item async for item in stream]
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        return items

    with ways.handled_by(Served(items=[1, 2])):
        assert asyncio.run(main()) == [1, 2]


def test_a_served_asynchronous_generator_raises_at_its_end(program):
    error = LookupError("served")

    async def main():
        stream = program.pages(0)
        assert await stream.asend(None) == 1
        assert await stream.asend("sent") == 2
        await anext(stream)

    with ways.handled_by(served := Served(error=error, items=[1, 2])):
        names, raised = frames_and_error(lambda: asyncio.run(main()))
    assert raised is error
    assert "pages" not in names
    assert served.log == ["sent"]


def test_a_served_asynchronous_generator_continues_after_an_error_that_it_caught(program):
    async def main():
        stream = program.pages(0)
        items = [await anext(stream), await stream.athrow(ZeroDivisionError()), await anext(stream)]
        with pytest.raises(StopAsyncIteration):
            await stream.athrow(ZeroDivisionError())
        return items

    with ways.handled_by(served := Served(items=[1, 2, 3])):
        assert asyncio.run(main()) == [1, 2, 3]
    assert served.log == ["ZeroDivisionError", "ZeroDivisionError"]


@pytest.mark.parametrize("end", ["throw", "close", "drop"])
def test_a_served_asynchronous_generator_can_be_thrown_into_closed_and_dropped(program, end):
    async def main():
        stream = program.pages(0)
        await anext(stream)
        if end == "throw":
            with pytest.raises(KeyError):
                await stream.athrow(KeyError())
        if end != "drop":
            await stream.aclose()
            assert stream.ag_frame is None

    with ways.handled_by(served := Served(items=[1, 2])):
        asyncio.run(main())
    # A dropped stream is closed when the event loop shuts down, or cancelled if that happens first.
    ends = {"throw": {"KeyError"}, "close": {"GeneratorExit"}, "drop": {"GeneratorExit", "CancelledError"}}
    assert len(served.log) == 1
    assert served.log[0] in ends[end]


def test_other_tasks_run_between_the_items_of_a_served_asynchronous_generator(program):
    async def main():
        seen = []

        async def other():
            for number in range(3):
                seen.append(number)
                await asyncio.sleep(0)

        task = asyncio.create_task(other())
        async for item in program.pages(0):
            seen.append(item)
        await task
        return seen

    with ways.handled_by(Served(items=["a", "b"])):
        seen = asyncio.run(main())
    assert sorted(map(str, seen)) == ["0", "1", "2", "a", "b"]
    assert seen.index("a") > seen.index(0)


def test_an_exception_of_the_serving_itself_reaches_the_caller(program):
    class Broken(Served):
        def outcome(self):
            raise RuntimeError("broken")

        async def outcome_async(self):
            raise RuntimeError("broken")

        def items(self):
            raise RuntimeError("broken")

        async def step_async(self, sent):
            raise RuntimeError("broken")

    async def first_page():
        await anext(program.pages(0))

    with ways.handled_by(Broken()):
        for action in (
            lambda: program.plain(1),
            lambda: asyncio.run(program.waits(1)),
            lambda: next(program.streams(1)),
            lambda: asyncio.run(first_page()),
        ):
            with pytest.raises(RuntimeError, match="broken") as raised:
                action()
            assert traceback.format_exception(raised.value)


def test_arguments_are_released_once_a_call_is_served(program):
    import weakref

    class Thing:
        pass

    with ways.handled_by(Served("value")):
        thing = Thing()
        reference = weakref.ref(thing)
        program.plain(thing, more=thing)
        del thing
    assert reference() is None
