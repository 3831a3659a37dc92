"""Numbers for the parts of a value that lie on a cycle, so that each of them is written once.

A part that contains itself has a path for every order of the parts around it. To write each path takes exponentially
long. So such a part is written where it occurs first, and has a number; wherever it occurs again, only the number is
written. A part that is shared but lies on no cycle is written each time, so that it does not matter who shares it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any


class CycleError(Exception):
    """A value contains itself, so it can't be written without numbers."""


class Cycles:
    """The parts of one value that lie on a cycle, and the numbers of those that are written.

    A number tells how many parts were written before, also of those on no cycle: else nobody could tell which part has
    it. The numbers follow the order of writing, so whoever writes must use an order that equal values share.
    """

    __slots__ = ("_count", "_numbers", "classes", "links", "parts")

    def __init__(self, parts: frozenset[int], links: int, classes: Collection[type] = ()) -> None:
        """Begin without numbers.

        Args:
            parts: the identities of all parts that lie on a cycle.
            links: how many references lead from part to part.
            classes: the classes of these parts.
        """
        self.parts = parts
        self.links = links
        self.classes = classes
        self._numbers: dict[int, int] = {}
        self._count = 0

    def fresh(self) -> Cycles:
        """Return the same parts without numbers, for another text."""
        return Cycles(self.parts, self.links)

    def number_of(self, key: int) -> int | None:
        """Return the number of a part that is written already.

        For a part that is not, return None, and count it. It keeps its number if it lies on a cycle.

        Args:
            key: the identity of the part.
        """
        if key in self.parts:
            number = self._numbers.get(key)
            if number is not None:
                return number
            self._numbers[key] = self._count
        self._count += 1
        return None

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Forget, at the end, the numbers that are given inside.

        The items of a set have no order, so none of them may refer to what is written in another one.
        """
        numbered, count = len(self._numbers), self._count
        try:
            yield
        finally:
            self._count = count
            while len(self._numbers) > numbered:
                self._numbers.popitem()


def reference(number: int) -> dict[str, Any]:
    """Return what stands in an input for a part that is written already."""
    return {"$cycle": number}
