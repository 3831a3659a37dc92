"""Which rule fits what, from source alone: the project's files, and the definitions that packs name."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.machinery import SourceFileLoader
from types import CodeType

from autochron._runtime.unpatched import os
from autochron.matching.definitions import definitions
from autochron.matching.derived_classes import matcher_for
from autochron.matching.sites import label_of
from autochron.model import BoundaryRule, Fit, Http, Rules, Surveyed, Target
from autochron.project import Project, python_files, read_source
from autochron.rules.packs import load_pack, pack_index

Crossed = Mapping[tuple[str, str], int]
"""How often each site of a trace was crossed, by its name there and the crossings' name."""


def survey(rules: Rules, folder: str, crossed: Crossed | None = None) -> list[Surveyed]:
    """Look through the project's files and the installed libraries that packs cover."""
    project = Project(rules.project or (os.path.abspath(folder),), rules.root)
    names = tuple(pack_index()) if rules.auto else tuple(pack.name for pack in rules.packs)
    packs = tuple(load_pack(name, rules.disable) for name in names)
    every = (*rules.boundaries, *(rule for pack in packs for rule in pack.boundaries))
    fits: dict[tuple[str, str], list[Fit]] = {}
    matcher = matcher_for(rules, project)
    for path in python_files(rules.project or (os.path.abspath(folder),)):
        if project.owns(path) and (code := compiled(path)) is not None:
            names = project.names_of(path)
            found = matcher.find(names[0], code, read_source(path), is_project=True, aliases=names[1:])
            file = project.name(path)
            for match in found.matches:
                times = _times(match.rule, f"{file}:{match.qualname}", crossed, every)
                place = f"{file}:{match.firstlineno}"
                fits.setdefault(_key(match.rule), []).append(Fit(place, match.qualname, times))
            for site in found.calls:
                label = label_of(site.qualname, site.rule)
                times = _times(site.rule, f"{file}:{label}", crossed, every)
                fits.setdefault(_key(site.rule), []).append(Fit(f"{file}:{site.line}", label, times))
    return [_surveyed(rule, fits.get(_key(rule), []), crossed, every) for rule in every]


def _key(rule: BoundaryRule) -> tuple[str, str]:
    return (rule.id, str(rule.selector))


def _times(
    rule: BoundaryRule, site: str, crossed: Crossed | None, every: Sequence[BoundaryRule]
) -> int | None:
    """Count the crossings of a site that are this rule's; None where that isn't known."""
    if crossed is None:
        return None
    alike = [each for each in every if each.selector == rule.selector and each.id != rule.id]
    if not alike:
        return sum(times for (where, _), times in crossed.items() if where == site)
    if "{" in rule.name or any(each.name == rule.name or "{" in each.name for each in alike):
        return None
    return crossed.get((site, rule.name), 0)


def _surveyed(
    rule: BoundaryRule, fits: list[Fit], crossed: Crossed | None, every: Sequence[BoundaryRule]
) -> Surveyed:
    selector = rule.selector
    if isinstance(selector, Http):
        return Surveyed(rule, (), "requests of httpx and httpx2, wherever they are made")
    if fits or not isinstance(selector, Target):
        return Surveyed(rule, tuple(fits), None if fits else "fits nothing")
    path = _library_file(selector.module)
    if path is None:
        return Surveyed(rule, (), f"{selector.module.partition('.')[0]} is not installed")
    names = _defined(selector.module, path)
    times = _times(rule, str(selector), crossed, every)
    found = (Fit(selector.module, selector.qualname, times),) if selector.qualname in names else ()
    return Surveyed(rule, found, None if found else f"{selector.module} has no {selector.qualname}")


class _CodeReader(SourceFileLoader):
    """Loads a library's code as Python keeps it, and keeps none itself: to compile all that packs name takes 3 s."""

    def set_data(self, path: str, data: object, *, _mode: int = 0o666) -> None:
        """Write nothing."""


@cache
def _defined(module: str, path: str) -> frozenset[str]:
    """Name the definitions of a library's module."""
    try:
        code = _CodeReader(module, path).get_code(module)
    except (OSError, SyntaxError, ValueError, EOFError):
        return frozenset()
    return frozenset() if code is None else frozenset(name for name, _ in definitions(code))


def _library_file(module: str) -> str | None:
    """Find a library's module without importing the library."""
    top, *rest = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if not rest:
        return spec.origin if spec.origin and spec.origin.endswith(".py") else None
    for folder in spec.submodule_search_locations or ():
        base = os.path.join(folder, *rest)
        for path in (f"{base}.py", os.path.join(base, "__init__.py")):
            if os.path.isfile(path):
                return path
    return None


def compiled(path: str) -> CodeType | None:
    """Compile a file; None where it can't be."""
    source = read_source(path)
    if source is None:
        return None
    try:
        return compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
