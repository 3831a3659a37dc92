"""Values that a call hands out before they are complete: awaitables, iterators, futures.

They are classified by the type of what was *returned*, never by the function: `AsyncCompletions.create` is no coroutine
function and returns a coroutine. Each is followed to its end, in a stand-in of the same type where Python can make one.
"""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import AsyncGenerator, Generator
from functools import cache
from typing import TYPE_CHECKING, Any

from autochron._runtime.bare import bases_of, identity, space_of
from autochron._runtime.own_frames import drop_frame, unchanged
from autochron.crossing import streams
from autochron.crossing.iterators import LAZY, Steps
from autochron.crossing.ownership import is_shared, is_under_way
from autochron.crossing.tokens import SuspendableToken
from autochron.weaving.delegation import BegunRelay, Relay

if TYPE_CHECKING:
    from autochron.ports import OpenCrossing

PLAIN = frozenset(
    {type(None), bool, int, float, complex, str, bytes, bytearray, list, dict, tuple, set, frozenset}
)
"""Types whose values are complete when they are returned. Most values are of these, so they are tested first."""

_GENERATORS = frozenset({types.GeneratorType, types.AsyncGeneratorType})


def adapt(crossing: OpenCrossing, value: Any) -> Any:
    """Return what the caller receives in place of a value that is to be followed; None where nothing is to be followed.

    Args:
        crossing: the crossing whose body returned the value; its `form` and `handed` are set.
        value: the returned value.
    """
    kind = type(value)
    if kind is types.CoroutineType:
        # A coroutine that has begun can't be awaited by a stand-in. If something else holds the coroutine, it would
        # close or await the original and not the stand-in.
        if value.cr_suspended or value.cr_running or is_shared(value):
            return None
        crossing.form = "awaitable"
        crossing.handed = _names_of(value)
        return _guarded(crossing, _named(_awaited(SuspendableToken(crossing), value), value))
    if kind in _GENERATORS or kind in LAZY:
        return None if is_shared(value) else _iterator(crossing, value)
    if (_defines(kind, "__next__") or _defines(kind, "__anext__")) and crossing.handler.follows_object(
        crossing, value
    ):
        crossing.form = "object"
        streams.follow(value, streams.LiveSteps(crossing))
        crossing.handler.looked(crossing, value)
        return value
    # By the type alone: `asyncio.isfuture` and `isinstance` read the object's `__class__`, which evaluates a lazy object.
    if _defines(kind, "_asyncio_future_blocking") or _is_of_a_pool(kind):
        crossing.form = "future"
        is_done = value.done()
        crossing.handed = {"task": _defines(kind, "get_coro"), "pending": not is_done}
        token = SuspendableToken(crossing)
        if is_done:
            # A loop would call back later, and changes that the caller makes until then would count as the call's.
            _future_done(token, value)
        else:
            value.add_done_callback(lambda future: _future_done(token, future))
        return value
    if _defines(kind, "__await__"):
        crossing.form = "awaitable"
        return _guarded(crossing, _followed_type()(value, SuspendableToken(crossing)))
    return None


def _iterator(crossing: OpenCrossing, value: Any) -> Any:
    """Return a stand-in for an iterator that only the caller will hold; None where its items need not be followed."""
    kind = type(value)
    crossing.form = "async_iterator" if kind is types.AsyncGeneratorType else "iterator"
    if kind in LAZY:
        crossing.handed = {"type": f"{kind.__module__}.{kind.__qualname__}"}
        if not crossing.handler.follows(crossing):
            return None
        return LAZY[kind](Steps(SuspendableToken(crossing), value))
    has_begun = is_under_way(value)
    crossing.handed = _names_of(value)
    if has_begun:
        crossing.handed["begun"] = True
    if not crossing.handler.follows(crossing):
        return None
    make = _iterated if kind is types.GeneratorType else _iterated_async
    stream = _named(make(SuspendableToken(crossing), value, has_begun), value)
    return begin(stream) if has_begun else _guarded(crossing, stream)


_unbegun: dict[int, weakref.ref[Any]] = {}
"""Weak references to stand-ins that have not begun to run, by the identity of their crossing.

A generator or coroutine that never began runs none of its code when it is dropped, so it can't report that itself.
"""


def _guarded(crossing: OpenCrossing, stand_in: Any) -> Any:
    """Return a stand-in, and notify the handler if it is dropped before any of its code has run."""
    key = identity(crossing)

    def collected(_stand_in: Any) -> None:
        if _unbegun.pop(key, None) is not None and not crossing.done:
            crossing.handler.dropped(crossing)

    _unbegun[key] = weakref.ref(stand_in, collected)
    return stand_in


def begin(stream: Any) -> Any:
    """Run one of our generators, synchronous or not, to its first `yield`, which yields nothing useful; return it."""
    if type(stream) is types.GeneratorType:
        next(stream)
        return stream
    try:
        stream.__anext__().send(None)
    except StopIteration:  # the step ends at the first `yield`, as it should
        return stream
    raise AssertionError("a stream waits before its first item")


def _names_of(value: Any) -> dict[str, Any]:
    return {"name": value.__name__, "qualname": value.__qualname__}


def _named(stand_in: Any, original: Any) -> Any:
    stand_in.__name__ = original.__name__
    stand_in.__qualname__ = original.__qualname__
    return stand_in


async def _awaited(token: SuspendableToken, awaitable: Any) -> Any:
    _unbegun.pop(identity(token.crossing), None)
    token.resumed()
    try:
        value = await awaitable
    except BaseException as error:
        drop_frame(error)
        token.raised(error)
        raise
    return token.ended(value)


def _iterated(token: SuspendableToken, iterator: Any, begun: bool) -> Generator[Any, Any, Any]:  # noqa: FBT001 - see `begin`
    _unbegun.pop(identity(token.crossing), None)
    # The relay enters and leaves the crossing at each step.
    try:
        value = yield from (BegunRelay if begun else Relay)(token, iterator)
    except BaseException as error:
        drop_frame(error)
        token.raised(error)
        raise
    return token.ended(value)


async def _iterated_async(token: SuspendableToken, iterator: Any, begun: bool) -> AsyncGenerator[Any, Any]:  # noqa: FBT001
    _unbegun.pop(identity(token.crossing), None)
    step: Any = iterator.__anext__
    arguments: tuple[Any, ...] = ()
    item: Any = None
    sent: Any = None
    thrown: BaseException | None = None
    while True:
        if begun:
            begun = False  # the first `yield` is for `begin`
        else:
            token.resumed(sent, thrown)
            sent = thrown = None
            try:
                item = await step(*arguments)
            except StopAsyncIteration:
                token.ended(None)
                return
            except BaseException as error:
                drop_frame(error)
                token.raised(error)
                raise
            token.yielded(item)
        try:
            sent = yield item
        except BaseException as error:
            drop_frame(error)
            thrown = error
        # Not in the `except` block: what is raised in the iterator would get the error as its context.
        if thrown is None:
            step, arguments = iterator.asend, (sent,)
        elif not issubclass(type(thrown), GeneratorExit):
            step, arguments = iterator.athrow, (thrown,)
        else:
            try:
                await iterator.aclose()
            except BaseException as error:
                drop_frame(error)
                token.raised(error)
                raise
            token.raised(thrown)
            with unchanged(thrown):
                raise thrown


def _defines(kind: type, name: str) -> bool:
    """Return whether a class defines a method. `hasattr` would run code of its metaclass or of a descriptor."""
    for base in bases_of(kind):
        space = space_of(base)
        if name in space:
            return space[name] is not None
    return False


def _is_of_a_pool(kind: type) -> bool:
    futures = sys.modules.get("concurrent.futures")
    return futures is not None and issubclass(kind, futures.Future)


def _future_done(token: SuspendableToken, future: Any) -> None:
    crossing = token.crossing
    if crossing.done:
        return
    crossing.done = True
    token.attach()
    if future.cancelled():
        module = "concurrent.futures" if _is_of_a_pool(type(future)) else "asyncio"
        crossing.handler.raised(crossing, sys.modules[module].CancelledError())
        return
    # `exception()` would mark the error as retrieved, and asyncio would not report one that the program never reads.
    error: BaseException | None = future._exception if hasattr(future, "_exception") else future.exception()  # noqa: SLF001
    if error is not None:
        crossing.handler.raised(crossing, error)
    else:
        crossing.handler.returned(crossing, future.result())


@cache
def _followed_type() -> Any:
    """Return the class of the proxy for an object that can be awaited."""
    import wrapt  # lazy: 55 ms, and hardly any call hands out such an object

    class Followed(wrapt.ObjectProxy[Any]):
        def __init__(self, value: Any, token: SuspendableToken) -> None:
            super().__init__(value)
            self._self_token = token

        def __await__(self) -> Any:
            return _awaited(self._self_token, self.__wrapped__).__await__()

    return Followed
