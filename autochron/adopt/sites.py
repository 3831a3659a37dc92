"""Find the definitions that rules name, because a fixture has the name of a boundary and not its place."""

from __future__ import annotations

from autochron._runtime.unpatched import os
from autochron.adopt.import_names import suffixes
from autochron.model import Define, Rules
from autochron.project import Project, python_files

UNKNOWN = "?"
"""The site of a crossing of which no rule says the definition."""


def rule_sites(rules: Rules) -> dict[str, str]:
    """Return the site of each boundary that exactly one rule of the project defines, by its name.

    A rule counts that spells out its definition, as those of `autochron adopt` do.
    """
    selectors: dict[str, set[tuple[str, str]]] = {}
    for rule in rules.boundaries:
        selector = rule.selector
        if isinstance(selector, Define) and "*" not in str(selector) and "{" not in rule.name:
            selectors.setdefault(rule.name, set()).add((selector.modules, selector.qualnames))
    wanted = {name: found.pop() for name, found in selectors.items() if len(found) == 1}
    if not wanted:
        return {}
    project = Project(rules.project or (rules.root,), rules.root)
    files: dict[str, str] = {}
    for path in python_files(project.paths):
        for module in (*project.names_of(path), *suffixes(os.path.abspath(path), project.root)):
            files.setdefault(module, project.name(path))
    return {
        name: f"{files[module]}:{qualname}" for name, (module, qualname) in wanted.items() if module in files
    }
