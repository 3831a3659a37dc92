"""Read facts about a trace that is being recorded from its store: child processes, and numbers of crossings."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from autochron.model import Child, ChildEnd, Footer, Header
    from autochron.ports import Store


class StoredTrace:
    """A trace as it is in the store.

    No method raises if the store can't be read, so that the report does not fail. The writer reports what is wrong.
    """

    def __init__(self, store: Store, header: Header) -> None:
        self._store = store
        self._header = header

    def children(self) -> list[Child]:
        """Return the recorded child processes; none if the store can't be read."""
        try:
            return self._store.children(self._header.id)
        except Exception:  # the writer reports it
            return []

    def ended_children(self) -> list[ChildEnd]:
        """Return the end report of each child process that sent one."""
        return [child.end for child in self.children() if child.end is not None]

    def count(self) -> int:
        """Return the number of crossings; -1 if it can't be read."""
        try:
            return self._store.count(self._header.id)
        except Exception:  # the writer reports it
            return -1

    def counts(self, footer: Footer) -> tuple[dict[str, int], Footer]:
        """Return the number of crossings by name, and the stored footer, or else `footer`."""
        try:
            counts = self._store.counts(self._header.id)
            return counts, self._store.outline(self._header.id)[1] or footer
        except Exception:  # the writer reports it
            return {}, footer

    def count_traces(self, names: Collection[str]) -> int | None:
        """Return the number of traces of these names that began no earlier than this one; None if it can't be read."""
        try:
            headers = [summary.header for summary in self._store.summaries()]
        except Exception:  # the writer reports it
            return None
        return sum(header.name in names and header.created >= self._header.created for header in headers)
