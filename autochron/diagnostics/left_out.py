"""Find the methods that a recorded run called and that a `define` leaves out, because its glob takes functions only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from autochron.diagnostics.found_tools import unwoven_tools
from autochron.diagnostics.near_rules import left_out
from autochron.diagnostics.tool_definitions import find_definitions
from autochron.model import Define, Footer, Rules
from autochron.project import Project, path_of
from autochron.rules.globs import dotted_glob


class _CalledMethod(NamedTuple):
    """A method that the run called."""

    modules: tuple[str, ...]
    """The names that its module may have."""
    qualname: str
    place: str
    evidence: str
    """Why it is known that it was called."""


def methods_left_out(rules: Rules, project: Project, footer: Footer) -> list[str]:
    """Return a message for each method that was called and that a `define` leaves out, with the pattern that takes it.

    A run doesn't note what it doesn't weave, so that only these methods are known: those with a non-deterministic call
    outside every boundary, and those that a tool without a crossing may be.

    Args:
        rules: the rules in force.
        project: the user's own code.
        footer: the footer of the trace.
    """
    messages: dict[str, None] = {}
    for method in (*_with_findings(project, footer), *_of_tools(project, footer)):
        for rule in rules.boundaries:
            define = rule.selector
            if isinstance(define, Define) and any(map(dotted_glob(define.modules).fits, method.modules)):
                reason = left_out(define, method.qualname)
                if reason is not None:
                    messages[
                        f"{method.qualname} ({method.place}) is no boundary, and {method.evidence}: "
                        f"`{define}` ({rule.place}) fits its module, but {reason} (methods-left-out)"
                    ] = None
    return list(messages)


def _with_findings(project: Project, footer: Footer) -> Iterator[_CalledMethod]:
    for finding in footer.findings:
        site = finding.site
        if finding.covered is None and finding.ran and "." in site.qualname:
            modules = project.names_of(path_of(project.root, site.file))
            yield _CalledMethod(modules, site.qualname, str(site), f"calls {finding.call}")


def _of_tools(project: Project, footer: Footer) -> Iterator[_CalledMethod]:
    tools: dict[str, frozenset[str] | None] = dict.fromkeys(unwoven_tools(footer))
    for name, definitions in find_definitions(project, tools).items():
        for tool in definitions:
            modules = (tool.module, *project.names_of(path_of(project.root, tool.file)))
            place = f"{tool.file}:{tool.line}"
            yield _CalledMethod(modules, tool.qualname, place, f"the model asked for {name}")
