"""Calls of a function that a replacement answers during a replay."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextvars import ContextVar
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Protocol

from autochron._runtime.own_frames import drop_frame, unchanged
from autochron.crossing.crossing import Crossing
from autochron.crossing.tokens import SuspendableToken
from autochron.errors import PlanError
from autochron.instrument.swap_arguments import call_arguments
from autochron.weaving.delegation import Relay

if TYPE_CHECKING:
    from autochron.weaving.gate import Point

INSIDE: ContextVar[frozenset[str]] = ContextVar("autochron_swapped", default=frozenset())
"""The old functions whose replacement is running. If it calls the old function, that one runs."""


class Replacement(Protocol):
    """What a call needs of its swap; `instrument.swap.Swap` documents the attributes."""

    old: str
    new: Any
    fault: str
    calls: int
    reached: list[int]
    before_call: Callable[[], None] | None

    def function(self) -> Callable[..., Any]:
        """Return the function to call."""


class Swapped:
    """A call of the old function that the replacement answers. It is false, so woven code does not run the body."""

    __slots__ = ("_arguments", "_is_closed", "_point", "_stream", "_swap", "_thrown", "_token")

    def __init__(
        self,
        swap: Replacement,
        token: Crossing[Any] | SuspendableToken | None,
        point: Point,
        arguments: tuple[Any, ...],
    ) -> None:
        self._swap = swap
        self._token = token
        self._stream: Any = None
        self._is_closed = False
        self._thrown: BaseException | None = None
        self._point, self._arguments = point, arguments

    def __bool__(self) -> bool:
        return False

    def _call(self) -> Any:
        """Call the replacement. Whatever is wrong with it is raised here, so that the crossing ends with that error."""
        swap = self._swap
        if swap.before_call is not None:
            swap.before_call()
        function = swap.function()
        try:
            positional, keywords = call_arguments(function, self._point, self._arguments)
        except TypeError as error:
            swap.fault = f"swap {swap.old}={swap.new}: it can't be called as the old one was: {error}"
            raise PlanError(swap.fault) from None
        swap.calls += 1
        swap.reached.append(0)
        try:
            return function(*positional, **keywords)
        except BaseException as error:
            drop_frame(error)
            if isinstance(error, PlanError):  # the replacement doesn't exist in this process
                self._swap.fault = str(error)
            raise

    def outcome(self) -> tuple[BaseException | None, Any]:
        """Return (error, value) for a plain function."""
        mark = INSIDE.set(INSIDE.get() | {self._swap.old})
        try:
            value = self._call()
        except BaseException as error:
            drop_frame(error)
            return self._failed(error), None
        finally:
            INSIDE.reset(mark)
        return None, value if self._token is None else self._token.returned(value)

    async def outcome_async(self) -> tuple[BaseException | None, Any]:
        """Return (error, value) for a coroutine function."""
        mark = INSIDE.set(INSIDE.get() | {self._swap.old})
        try:
            value = self._call()
            if hasattr(type(value), "__await__") or type(value) is GeneratorType:
                value = await value
        except BaseException as error:
            drop_frame(error)
            return self._failed(error), None
        finally:
            INSIDE.reset(mark)
        return None, value if self._token is None else self._token.ended(value)

    def items(self) -> Any:
        """Yield the items for a generator function; its value is (error, value)."""
        try:
            iterator = self._stepped()
            relay: Any = iterator if self._token is None else Relay(self._token, iterator)
            value = yield from relay
        except BaseException as error:
            drop_frame(error)
            if self._is_closed:  # Python would take what is returned now for a close without an error
                self._failed(error)
                raise
            return self._failed(error), None
        return None, value if self._token is None else self._token.ended(value)

    def _stepped(self) -> Generator[Any, Any, Any]:
        """Run the replacement's generator.

        The old function can be called in its steps only: between them other code runs.
        """
        iterator: Any = None
        sent: Any = None
        thrown: BaseException | None = None
        while True:
            mark = INSIDE.set(INSIDE.get() | {self._swap.old})
            try:
                if iterator is None:
                    iterator = iter(self._call())
                if thrown is not None:
                    if not hasattr(iterator, "throw"):
                        raise thrown
                    item = iterator.throw(thrown)
                elif sent is not None and hasattr(iterator, "send"):
                    item = iterator.send(sent)
                else:
                    item = next(iterator)
            except StopIteration as end:
                return end.value
            except BaseException as error:
                drop_frame(error)
                raise
            finally:
                INSIDE.reset(mark)
            sent = thrown = None
            try:
                sent = yield item
            except BaseException as error:
                drop_frame(error)
                thrown = error
            if thrown is not None and issubclass(type(thrown), GeneratorExit):
                self._is_closed = True
                try:
                    if hasattr(iterator, "close"):
                        iterator.close()
                except BaseException as error:
                    drop_frame(error)
                    raise
                with unchanged(thrown):
                    raise thrown

    async def step_async(self, sent: Any) -> tuple[bool, BaseException | None, Any]:
        """Return (done, error, item) for an asynchronous generator function."""
        token, thrown = self._token, self._thrown
        self._thrown = None
        if token is not None:
            token.resumed()
        mark = INSIDE.set(INSIDE.get() | {self._swap.old})
        try:
            if self._stream is None:
                self._stream = self._call().__aiter__()
            stream = self._stream
            if thrown is not None:
                if not hasattr(stream, "athrow"):
                    raise thrown
                item = await stream.athrow(thrown)
            elif sent is not None and hasattr(stream, "asend"):
                item = await stream.asend(sent)
            else:
                item = await stream.__anext__()
        except StopAsyncIteration:
            if token is not None:
                token.ended(None)
            return True, None, None
        except BaseException as error:
            drop_frame(error)
            return True, self._failed(error), None
        finally:
            INSIDE.reset(mark)
        if token is not None:
            token.yielded(item)
        return False, None, item

    def thrown(self, error: BaseException) -> bool:
        """Keep an exception that is thrown into an asynchronous generator, for the next step."""
        drop_frame(error)  # that of the woven code
        self._thrown = error
        return False

    def _failed(self, error: BaseException) -> BaseException:
        """Note the error in the crossing, and return it."""
        if self._token is not None:
            self._token.raised(error)
        return error
