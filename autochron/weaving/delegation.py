"""A stand-in for an iterator that tells a token of each step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import CoroutineType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autochron.ports import Token


class Relay:
    """Hand on what an iterator yields, and what its consumer sends, throws or closes.

    The token is entered for each step and left with the item, so that what the consumer does in between is not inside.
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
        """What throws into the iterator.

        AttributeError where it can't be thrown into: then Python raises in the generator that delegates, which is not
        the same as raising here (a StopIteration would be taken for the end).
        """
        throw = getattr(self._iterator, "throw", None)
        if throw is None:
            self._token.resumed()
            raise AttributeError("throw")
        return partial(self._throw, throw)

    def _throw(self, throw: Callable[..., Any], *arguments: Any) -> Any:
        error = next((each for each in reversed(arguments) if isinstance(each, BaseException)), None)
        self._token.resumed(None, error)
        item = throw(*arguments)
        self._token.yielded(item)
        return item

    def close(self) -> None:
        """Close the iterator, and enter: the token's owner is about to be closed as well."""
        close = getattr(self._iterator, "close", None)
        try:
            if close is not None:
                close()
        finally:
            self._token.resumed()


class BegunRelay:
    """A relay of an iterator that waits at a `yield` already: its first step gives nothing, and the next goes on there."""

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
        """What throws into the iterator; see `Relay.throw`."""
        return self._relay.throw

    def close(self) -> None:
        """Close the iterator."""
        self._relay.close()


def _send(iterator: Any, value: Any) -> Any:
    return iterator.send(value)
