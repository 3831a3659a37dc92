"""Wrappers of iterators that report each step to a token."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from autochron._runtime.own_frames import drop_frame

if TYPE_CHECKING:
    from autochron.ports import Token


class Relay:
    """Wraps an iterator, and passes on what it yields and what its consumer sends and throws.

    The token is resumed before each step and gets the item after it, so that what the consumer does in between is not inside
    the crossing.
    """

    __slots__ = ("_iterator", "_token")

    def __init__(self, token: Token, iterator: Any) -> None:
        self._token = token
        self._iterator = iterator

    def __iter__(self) -> Relay:
        return self

    def __next__(self) -> Any:
        iterator = self._iterator
        self._token.resumed()
        try:
            # Under `types.coroutine` it may be a coroutine, which has `send` and no `__next__`.
            item = iterator.send(None) if type(iterator) is CoroutineType else next(iterator)
        except BaseException as error:
            drop_frame(error)
            raise
        self._token.yielded(item)
        return item

    def send(self, value: Any) -> Any:
        """Send a value to the iterator."""
        self._token.resumed(value)
        try:
            item = self._iterator.send(value)
        except BaseException as error:
            drop_frame(error)
            raise
        self._token.yielded(item)
        return item

    @property
    def throw(self) -> Callable[..., Any]:
        """The function that throws an exception into the iterator.

        Raises:
            AttributeError: the iterator has no `throw`. Then Python raises the exception in the delegating generator. To
                raise it here is not the same: a StopIteration would be taken for the iterator's end.
        """
        throw = getattr(self._iterator, "throw", None)
        if throw is None:
            self._token.resumed()
            raise AttributeError("throw")
        return partial(self._throw, throw)

    def _throw(self, throw: Callable[..., Any], *arguments: Any) -> Any:
        thrown = next(
            (argument for argument in reversed(arguments) if isinstance(argument, BaseException)), None
        )
        self._token.resumed(None, thrown)
        try:
            item = throw(*arguments)
        except BaseException as error:
            drop_frame(error)
            raise
        self._token.yielded(item)
        return item

    def close(self) -> None:
        """Close the iterator, and resume the token, because the delegating generator is about to be closed as well."""
        close = getattr(self._iterator, "close", None)
        try:
            if close is not None:
                close()
        except BaseException as error:
            drop_frame(error)
            raise
        finally:
            self._token.resumed()


class BegunRelay(Relay):
    """A relay of an iterator that waits at a `yield` already.

    The first step returns None without running the iterator, and later steps continue it from there.
    """

    __slots__ = ("_has_begun",)

    def __init__(self, token: Token, iterator: Any) -> None:
        super().__init__(token, iterator)
        self._has_begun = False

    def __next__(self) -> Any:
        if not self._has_begun:
            self._has_begun = True
            return None
        try:
            return super().__next__()
        except BaseException as error:
            drop_frame(error)
            raise
