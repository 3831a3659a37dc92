"""Iterators that Python itself makes: lazy ones, which are all in what they give, can be followed in one of the same type.

Not `iter` of a container and the like: no object of their types gives anything but what a container holds. And none with
attributes, such as `csv.reader`: those would not be there. What is not followed is no value, and is refused as such.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autochron.crossing.tokens import SuspendableToken


def _same(item: Any) -> Any:
    return item


def _latest(_before: Any, item: Any) -> Any:
    return item


def _always(_item: Any) -> bool:
    return True


def _never(_item: Any) -> bool:
    return False


LAZY: dict[type, Callable[[Iterator[Any]], Any]] = {
    map: partial(map, _same),
    filter: partial(filter, _always),
    itertools.chain: itertools.chain,
    itertools.islice: lambda items: itertools.islice(items, None),
    itertools.takewhile: partial(itertools.takewhile, _always),
    itertools.dropwhile: partial(itertools.dropwhile, _never),
    itertools.filterfalse: partial(itertools.filterfalse, _never),
    itertools.starmap: lambda items: itertools.starmap(_same, zip(items)),  # noqa: RUF058 - the type counts
    itertools.accumulate: lambda items: itertools.accumulate(items, _latest),
    type(iter(int, 1)): lambda items: iter(partial(next, items), object()),
}
"""From a type to what makes one of it that gives just these items, none before it is asked for."""

BY_NAME = {f"{kind.__module__}.{kind.__qualname__}": make for kind, make in LAZY.items()}


class Steps:
    """The items of an iterator, each told to its crossing as it is read. After an error it goes on as the iterator does."""

    __slots__ = ("_iterator", "_token")

    def __init__(self, token: SuspendableToken, iterator: Iterator[Any]) -> None:
        self._token = token
        self._iterator = iterator

    def __iter__(self) -> Steps:
        return self

    def __del__(self) -> None:
        token = getattr(self, "_token", None)  # a copy that failed has none
        if token is not None and not token.crossing.done:
            token.crossing.handler.dropped(token.crossing)

    def __next__(self) -> Any:
        token = self._token
        if token.crossing.done:
            return next(self._iterator)
        token.resumed()
        try:
            item = next(self._iterator)
        except StopIteration:
            token.ended(None)
            raise
        except BaseException as error:
            token.raised(error)
            raise
        token.yielded(item)
        return item
