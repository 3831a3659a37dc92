"""Wrappers of iterators that report each step to a token."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import CoroutineType
from typing import TYPE_CHECKING, Any

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

    def _step(self, step: Callable[..., Any], *arguments: Any, sent: Any = None) -> Any:
        self._token.resumed(sent)
        item = step(*arguments)
        self._token.yielded(item)
        return item

    def __next__(self) -> Any:
        if type(self._iterator) is CoroutineType:  # under `types.coroutine`: it has `send` and no `__next__`
            return self._step(self._iterator.send, None)
        return self._step(next, self._iterator)

    def send(self, value: Any) -> Any:
        """Send a value to the iterator."""
        return self._step(_send, self._iterator, value, sent=value)

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
        error = next(
            (argument for argument in reversed(arguments) if isinstance(argument, BaseException)), None
        )
        self._token.resumed(None, error)
        item = throw(*arguments)
        self._token.yielded(item)
        return item

    def close(self) -> None:
        """Close the iterator, and resume the token, because the delegating generator is about to be closed as well."""
        close = getattr(self._iterator, "close", None)
        try:
            if close is not None:
                close()
        finally:
            self._token.resumed()


class BegunRelay:
    """A relay of an iterator that waits at a `yield` already.

    The first step returns None without running the iterator, and later steps continue it from there.
    """

    __slots__ = ("_has_begun", "_relay")

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self._has_begun = False

    def __iter__(self) -> BegunRelay:
        return self

    def __next__(self) -> Any:
        if self._has_begun:
            return next(self._relay)
        self._has_begun = True
        return None

    def send(self, value: Any) -> Any:
        """Send a value to the iterator."""
        return self._relay.send(value)

    @property
    def throw(self) -> Callable[..., Any]:
        """The function that throws an exception into the iterator; see `Relay.throw`."""
        return self._relay.throw

    def close(self) -> None:
        """Close the iterator."""
        self._relay.close()


def _send(iterator: Any, value: Any) -> Any:
    return iterator.send(value)
