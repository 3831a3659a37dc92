"""Know the functions with a tool's name that did not run when the model asked for the tool: another one may be the tool."""

from __future__ import annotations

from types import CodeType

from autochron.finding.called_tools import CalledTools, OpenCall


class IdleCandidates:
    """The functions that have the name of a tool, in one session.

    Attributes:
        tools: the tools of which a call got a result while none of these functions ran.
    """

    def __init__(self) -> None:
        self._codes: dict[str, dict[tuple[str, int], CodeType]] = {}
        self.tools: set[str] = set()

    def add(self, tool: str, code: CodeType) -> None:
        """Add a function that has the name of a tool."""
        self._codes.setdefault(tool, {})[code.co_filename, code.co_firstlineno] = code

    def codes_of(self, tool: str) -> list[CodeType]:
        """Return the codes of the functions that have the name of a tool."""
        return list(self._codes.get(tool, {}).values())

    def open_calls(self, called: CalledTools) -> list[OpenCall]:
        """Return the calls of these tools that no function has answered."""
        return [call for tool in self._codes for call in called.calls_of(tool) if not call.is_taken]

    def note(self, waiting: list[OpenCall], called: CalledTools) -> None:
        """Note which of some calls got a result by now."""
        self.tools |= {call.call.name for call in waiting if call not in called.calls_of(call.call.name)}
