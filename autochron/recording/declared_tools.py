"""Notice the tools that a request to a model declares for the first time. Most requests declare what earlier ones did."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from msgspec import Struct

from autochron.model import MetaPaths, Returned
from autochron.recording.call_facts import CallFacts, DeclaredTool

_MOST_DECLARATIONS = 16
"""Texts of declarations that are remembered."""

_RENAMED = re.compile(r"--|__|[-./:]")
"""What separates the name of a tool from that of its plugin or server in the name that the model gets."""


class NewTools(Struct, frozen=True):
    """The tools of a request that are new.

    Attributes:
        tools: the tools.
        texts: the JSON of the fields that declare them.
    """

    tools: tuple[DeclaredTool, ...]
    texts: tuple[bytes, ...]


class DeclaredTools:
    """The tools that the requests of one session declare. Any thread may use it.

    Attributes:
        known: the tools that something was done about, or nothing needs to be.
    """

    def __init__(self, covered: Callable[[], Collection[str]]) -> None:
        """Make one.

        Args:
            covered: returns the names of the functions that rules of the project cover now.
        """
        self.known: set[DeclaredTool] = set()
        self._covered = covered
        self._texts: tuple[bytes, ...] = ()
        self._fields: dict[MetaPaths, tuple[bytes, ...]] = {}
        self._latest: tuple[bytes, NewTools] | None = None
        """The new tools of the latest request, until something is done about them: two callers ask."""

    def may_be_new(self, paths: MetaPaths, body: bytes) -> bool:
        """Return whether a request declares tools in other words than earlier ones did. It is not decoded for that.

        Args:
            paths: where requests of this kind declare tools.
            body: the request.
        """
        fields = self._fields.get(paths)
        if fields is None:
            names = {path.split(".")[1] for path in paths.declared or ()}
            fields = self._fields[paths] = tuple(f'"{name}"'.encode() for name in names)
        return any(field in body for field in fields) and not any(known in body for known in self._texts)

    def new(self, paths: MetaPaths, body: bytes) -> NewTools | None:
        """Return the tools of a request that no earlier one declared and that no rule covers; None if there are none.

        Args:
            paths: where requests of this kind declare tools.
            body: the request.
        """
        if not self.may_be_new(paths, body):
            return None
        latest = self._latest
        if latest is not None and latest[0] is body:
            return latest[1]
        facts = CallFacts(paths, b"{}", Returned(), None, body)
        tools = [tool for tool in facts.declared() if tool not in self.known]
        covered = self._covered() if tools else ()
        new = NewTools(
            tuple(tool for tool in tools if not any(name in covered for name in names_of(tool.name))),
            tuple(facts.raw_declarations()),
        )
        if new.tools:
            self._latest = body, new
            return new
        self.keep(new)
        return None

    def keep(self, new: NewTools) -> None:
        """Note that something was done about these tools."""
        self._latest = None
        self.known.update(new.tools)
        self._texts = (*self._texts, *new.texts)[-_MOST_DECLARATIONS:]


def names_of(tool: str) -> tuple[str, ...]:
    """Return the names that the function of a tool may have: its own, and what frameworks make of it in `Plugin-function`."""
    parts = _RENAMED.split(tool)
    endings = ["_".join(parts)] if all(parts) else []
    if len(parts) > 1 and parts[-1]:
        endings.append(parts[-1])
    return tuple(dict.fromkeys((tool, *endings)))
