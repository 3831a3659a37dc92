"""A serving stands for a body that is not run: what it gives is returned, raised or yielded in its place."""

import asyncio
import inspect
import traceback

import pytest

from tests.weaving import ways


class Served:
    """A serving of one outcome and, for a stream, the items before it."""

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


def caught(action):
    try:
        action()
    except BaseException as error:
        return [each.name for each in traceback.extract_tb(error.__traceback__)], error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("name", ["plain", "cells"])
def test_a_value_is_returned(program, name):
    value = object()
    with ways.handled_by(Served(value)):
        assert getattr(program, name)(1) is value


def test_an_error_is_raised_and_the_woven_frame_does_not_show(program):
    error = LookupError("served")
    with ways.handled_by(Served(error=error)):
        names, told = caught(lambda: program.plain(1))

    assert told is error
    assert names == ["caught", "<lambda>"]
    assert told.__context__ is None


def test_an_error_raised_while_another_is_handled_keeps_its_own_context(program):
    error = LookupError("served")
    with ways.handled_by(Served(error=error)):
        try:
            raise KeyError("outer")
        except KeyError:
            _, told = caught(lambda: program.plain(1))

    assert told.__context__ is None


def test_a_coroutine_returns_and_raises(program):
    with ways.handled_by(Served("value")):
        it = program.waits(1)
        assert inspect.iscoroutine(it)
        assert asyncio.run(it) == "value"
    error = LookupError("served")
    with ways.handled_by(Served(error=error)):
        names, told = caught(lambda: asyncio.run(program.waits(1)))
    assert told is error
    assert "waits" not in names


def test_a_coroutine_that_is_served_can_be_cancelled(program):
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


def test_a_coroutine_that_is_served_may_swallow_what_is_thrown_in(program):
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


def test_a_coroutine_that_is_served_can_be_closed(program):
    with ways.handled_by(Served("value")) as serving:
        it = program.waits(1)
        it.send(None)
        it.close()
    assert inspect.getcoroutinestate(it) == "CORO_CLOSED"


@pytest.mark.parametrize("name", ["streams", "delegates"])
def test_a_generator_yields_and_returns(program, name):
    with ways.handled_by(Served("end", items=[1, 2])) as serving:
        it = getattr(program, name)(0)
        assert inspect.isgenerator(it)
        assert [next(it), it.send("sent")] == [1, 2]
        with pytest.raises(StopIteration) as stop:
            it.send("last")
    assert (stop.value.value, serving.log) == ("end", ["sent", "last"])
    assert inspect.getgeneratorstate(it) == "GEN_CLOSED"


def test_a_generator_that_is_served_is_thrown_into_and_closed(program):
    with ways.handled_by(Served(items=[1, 2, 3])) as serving:
        it = program.streams(0)
        assert [next(it), it.throw(KeyError("in")), next(it)] == [1, "caught", 2]
        it.close()
    assert serving.log == ["KeyError('in')", "closed"]
    with ways.handled_by(Served(items=[1])):
        it = program.streams(0)
        next(it)
        with pytest.raises(ValueError, match="in"):
            it.throw(ValueError("in"))


def test_a_generator_that_ends_while_thrown_into_gives_its_value(program):
    class Ending(Served):
        def items(self):
            try:
                yield 1
            except KeyError:
                return None, "ended"

    with ways.handled_by(Ending()):
        it = program.streams(0)
        next(it)
        with pytest.raises(StopIteration) as stop:
            it.throw(KeyError())
    assert stop.value.value == "ended"


def test_a_generator_raises_at_its_end(program):
    error = LookupError("served")
    with ways.handled_by(Served(error=error, items=[1])):
        it = program.streams(0)
        assert next(it) == 1
        names, told = caught(lambda: next(it))
    assert told is error
    assert "streams" not in names


def test_an_asynchronous_generator_yields_and_ends(program):
    async def main():
        it = program.pages(0)
        assert inspect.isasyncgen(it)
        out = [item async for item in it]
        with pytest.raises(StopAsyncIteration):
            await anext(it)
        return out

    with ways.handled_by(Served(items=[1, 2])):
        assert asyncio.run(main()) == [1, 2]


def test_an_asynchronous_generator_raises_at_its_end(program):
    error = LookupError("served")

    async def main():
        it = program.pages(0)
        assert await it.asend(None) == 1
        assert await it.asend("sent") == 2
        await anext(it)

    with ways.handled_by(served := Served(error=error, items=[1, 2])):
        names, told = caught(lambda: asyncio.run(main()))
    assert told is error
    assert "pages" not in names
    assert served.log == ["sent"]


def test_an_asynchronous_generator_goes_on_after_what_it_caught(program):
    async def main():
        it = program.pages(0)
        found = [await anext(it), await it.athrow(ZeroDivisionError()), await anext(it)]
        with pytest.raises(StopAsyncIteration):
            await it.athrow(ZeroDivisionError())
        return found

    with ways.handled_by(served := Served(items=[1, 2, 3])):
        assert asyncio.run(main()) == [1, 2, 3]
    assert served.log == ["ZeroDivisionError", "ZeroDivisionError"]


@pytest.mark.parametrize("end", ["throw", "close", "drop"])
def test_an_asynchronous_generator_is_thrown_into_closed_and_dropped(program, end):
    async def main():
        it = program.pages(0)
        await anext(it)
        if end == "throw":
            with pytest.raises(KeyError):
                await it.athrow(KeyError())
        if end != "drop":
            await it.aclose()
            assert it.ag_frame is None

    with ways.handled_by(served := Served(items=[1, 2])):
        asyncio.run(main())
    # What is dropped is closed by the event loop's last act, which cancels it where that comes first.
    ends = {"throw": {"KeyError"}, "close": {"GeneratorExit"}, "drop": {"GeneratorExit", "CancelledError"}}
    assert len(served.log) == 1
    assert served.log[0] in ends[end]


def test_a_served_asynchronous_generator_is_awaited_between_its_items(program):
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


def test_what_a_serving_raises_by_itself_comes_out(program):
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
            with pytest.raises(RuntimeError, match="broken") as told:
                action()
            assert traceback.format_exception(told.value)


def test_arguments_are_let_go_once_a_call_is_served(program):
    import weakref

    class Thing:
        pass

    with ways.handled_by(Served("value")):
        thing = Thing()
        reference = weakref.ref(thing)
        program.plain(thing, more=thing)
        del thing
    assert reference() is None
