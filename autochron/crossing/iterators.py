"""Python's own lazy iterators, such as `map`: how each is followed in a stand-in of the same type.

Left out are iterators such as `iter(list)`, whose items are those of a container, and iterators with attributes, such
as `csv.reader`, since a stand-in would not have the attributes. What is left out is no value, and is refused as such.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from autochron._runtime.own_frames import drop_frame

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
"""From a type to a function that makes an iterator of this type over given items, without reading any in advance."""

BY_NAME = {f"{kind.__module__}.{kind.__qualname__}": make for kind, make in LAZY.items()}


class Steps:
    """The items of an iterator, each reported to its crossing when it is read.

    After an error, or once the crossing has ended, it reads on as the original iterator does.
    """

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
        is_over = token.crossing.done
        if not is_over:
            token.resumed()
        try:
            item = next(self._iterator)
        except BaseException as error:
            drop_frame(error)
            if not is_over:
                if issubclass(type(error), StopIteration):
                    token.ended(None)
                else:
                    token.raised(error)
            raise
        if not is_over:
            token.yielded(item)
        return item
