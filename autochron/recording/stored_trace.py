"""What the store says of a trace that is being recorded: its child processes, and how many crossings it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from autochron.model import Child, ChildEnd, Footer, Header
    from autochron.ports import Store


class StoredTrace:
    """A trace as it is in the store. Whatever keeps it from being read, the report does not fail: the writer tells of it."""

    def __init__(self, store: Store, header: Header) -> None:
        self._store = store
        self._header = header

    def children(self) -> list[Child]:
        """Return the child processes that were recorded; none where the store can't be read."""
        try:
            return self._store.children(self._header.id)
        except Exception:  # see above
            return []

    def ended_children(self) -> list[ChildEnd]:
        """Return the last word of each child process that said one."""
        return [child.end for child in self.children() if child.end is not None]

    def count(self) -> int:
        """Return the number of its crossings; -1 where that can't be read."""
        try:
            return self._store.count(self._header.id)
        except Exception:  # see above
            return -1

    def counts(self, footer: Footer) -> tuple[dict[str, int], Footer]:
        """Return the number of its crossings by name, and its footer; `footer` is returned where there is no other."""
        try:
            counts = self._store.counts(self._header.id)
            return counts, self._store.outline(self._header.id)[1] or footer
        except Exception:  # see above
            return {}, footer

    def count_traces(self, names: Collection[str]) -> int | None:
        """Return the number of later traces of these names; None where that can't be read."""
        try:
            headers = [summary.header for summary in self._store.summaries()]
        except Exception:  # see above
            return None
        return sum(each.name in names and each.created >= self._header.created for each in headers)
