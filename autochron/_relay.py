"""A stand-in for an iterator that tells a token of each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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

    def _step(self, step: Callable[..., Any], *arguments: Any) -> Any:
        self._token.resumed()
        item = step(*arguments)
        self._token.yielded(item)
        return item

    def __next__(self) -> Any:
        return self._step(next, self._iterator)

    def send(self, value: Any) -> Any:
        """Send a value to the iterator."""
        return self._step(self._iterator.send, value)

    def throw(self, *error: Any) -> Any:
        """Throw into the iterator, or raise here where it can't be thrown into."""
        throw = getattr(self._iterator, "throw", None)
        if throw is None:
            self._token.resumed()
            raise error[0]
        return self._step(throw, *error)

    def close(self) -> None:
        """Close the iterator, and enter: the token's owner is about to be closed as well."""
        close = getattr(self._iterator, "close", None)
        if close is not None:
            close()
        self._token.resumed()
