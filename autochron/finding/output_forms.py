"""Decide which unknown tools of a session are forms of an answer, for which no function runs.

A class of data is declared as a tool where a program asks for an answer of that class, but also where a tool has arguments
of that class. It is a form of the answer where each request that declares it makes the model call it: an agent's loop would
never end. It is one, too, where the model fills it in by its own choice and is told nothing of it, and no function of the
project is called with its fields. That takes a watch for such functions, so Python 3.12.
"""

from __future__ import annotations

from collections.abc import Iterable

from autochron.finding.called_tools import CalledTools
from autochron.finding.output_classes import output_tools
from autochron.project import Project
from autochron.recording.call_facts import CallFacts, CallResult, DeclaredTool


class OutputForms:
    """What the requests of a session say of the tools of which no function is known."""

    def __init__(self, called: CalledTools, project: Project) -> None:
        """Make one.

        Args:
            called: the calls that the models have asked for.
            project: whose methods make a class more than data.
        """
        self._called = called
        self._project = project
        self._texts: list[bytes] = []
        self._latest: dict[str, DeclaredTool] = {}
        """The tools of the latest request."""
        self._declared: dict[str, DeclaredTool] = {}
        self._forced: set[str] = set()
        self._free: set[str] = set()
        """The tools that a request let the model call as it liked."""
        self._told: set[str] = set()
        """The tools of which a request carried a result."""
        self._classes: dict[DeclaredTool, bool] = {}
        """Whether a tool is a class of data."""

    def note(self, facts: CallFacts, results: Iterable[CallResult], unknown: Iterable[str]) -> None:
        """Note how a request declares the unknown tools, and whether it carries results of them.

        Args:
            facts: of the request.
            results: in the request.
            unknown: the tools.
        """
        texts = facts.raw_declarations()
        if texts != self._texts:  # most requests declare what the one before did
            self._texts, self._latest = texts, {tool.name: tool for tool in facts.declared()}
        names = self._latest.keys() & set(unknown)
        if names:
            self._declared |= {name: self._latest[name] for name in names}
            forced = facts.forced(frozenset(self._latest)) & names
            self._forced |= forced
            self._free |= names - forced
        calls = [(name, open_call.call) for name in unknown for open_call in self._called.calls_of(name)]
        for result in results if calls else ():
            self._told |= {
                name
                for name, call in calls
                if (call.id == result.id if result.id and call.id else name == result.name)
            }

    def forced(self) -> set[str]:
        """Return the forms that each request so far has made the model fill in."""
        return self._of_data(self._forced - self._free)

    def among(self, unknown: set[str], *, has_watched: bool) -> set[str]:
        """Return the forms among the tools of which no function is known at the end.

        Args:
            unknown: these tools.
            has_watched: whether a function that was called with their fields would have been noticed.
        """
        filled_in_freely = self._free - self._told if has_watched else set()
        return self._of_data(unknown & ((self._forced - self._free) | filled_in_freely))

    def _of_data(self, names: Iterable[str]) -> set[str]:
        """Return those of some tools that are classes of data."""
        tools = [self._declared[name] for name in names]
        new = [tool for tool in tools if tool not in self._classes]
        if new:
            found = output_tools(new, self._project)
            self._classes |= {tool: tool.name in found for tool in new}
        return {tool.name for tool in tools if self._classes[tool]}
