"""Make rules of found tools, and add those of a trace to the rules of its replay."""

from __future__ import annotations

from collections.abc import Iterable
from types import CodeType
from typing import Literal

from msgspec import structs
from msgspec.json import decode

from autochron._runtime.unpatched import os
from autochron.finding.contexts import Selection
from autochron.instrument.activation import Activation
from autochron.model import FOUND, BoundaryRule, Footer, FoundTool, Place, Rules, Target
from autochron.project import Project


def found_rule(
    tool: str,
    code: CodeType,
    module: str,
    activation: Activation,
    how: Literal["by name", "by value"],
    selection: Selection,
) -> BoundaryRule:
    """Return the rule of a found tool.

    Args:
        tool: the name by which the model asks for it.
        code: of its function.
        module: of its function.
        activation: names its file and its module.
        how: how it was found.
        selection: what of its arguments is input, and what it may change.
    """
    return rule_of(
        FoundTool(
            tool,
            (*activation.planner.aliases.get(module, ()), module)[
                0
            ],  # not `__main__`: a test imports it by name
            code.co_qualname,
            _file_of(code, module, activation),
            code.co_firstlineno,
            how,
            is_confirmed=False,
            capture=selection.capture,
            changes=selection.changes,
        )
    )


def _file_of(code: CodeType, module: str, activation: Activation) -> str:
    """Return the file of a function as a trace names it: relative to the project, or to where libraries are installed."""
    if activation.project.owns(code.co_filename):
        return activation.project.name(code.co_filename)
    name = os.path.basename(code.co_filename)
    folder = module.replace(".", "/")
    return f"{folder}/{name}" if name == "__init__.py" else f"{os.path.dirname(folder)}/{name}"


def rule_of(tool: FoundTool) -> BoundaryRule:
    """Return the rule of a found tool, as a trace keeps it."""
    return BoundaryRule(
        id=f"{FOUND}{tool.how} {tool.file}:{tool.qualname} {tool.tool}",
        name=tool.tool.replace("{", "{{").replace("}", "}}"),
        kind="tool",
        selector=Target(tool.module, tool.qualname),
        capture=tool.capture,
        changes=tool.changes,
        place=Place(tool.file, tool.line),
    )


def with_found(rules: Rules, footer: Footer | None) -> Rules:
    """Return rules that weave the tools that were found in a recorded run.

    Args:
        rules: the rules of a replay.
        footer: of the trace.
    """
    return rules if footer is None else with_tools(rules, footer.found_tools)


def with_tools(rules: Rules, tools: Iterable[FoundTool]) -> Rules:
    """Return rules that weave these tools as well."""
    found = tuple(
        rule_of(structs.replace(tool, module=name)) for tool in tools for name in _names_of(tool, rules)
    )
    if not found:
        return rules
    return structs.replace(
        rules,
        boundaries=(*rules.boundaries, *found),
        digest="+".join((rules.digest, *(rule.id for rule in found))),
    )


def read_tools(path: str) -> tuple[FoundTool, ...]:
    """Return the found tools of the replay that this process takes part in, from the file at `path`."""
    if not os.path.exists(path):
        return ()
    with open(path, "rb") as file:
        return decode(file.read(), type=tuple[FoundTool, ...])


def _names_of(tool: FoundTool, rules: Rules) -> tuple[str, ...]:
    """Return the names that the module of a tool may have: a test imports `__main__` by another one."""
    path = os.path.join(rules.root, tool.file)
    return tuple(
        dict.fromkeys((tool.module, *Project(rules.project or (rules.root,), rules.root).names_of(path)))
    )
