"""Find out what each rule matches, from source alone: in the project's files, and in the libraries that packs name."""

from __future__ import annotations

import importlib.util
import warnings
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
"""How often each site of a trace was crossed, by pairs of the recorded site and the name of the crossings."""


def survey(rules: Rules, folder: str, crossed: Crossed | None = None) -> list[Surveyed]:
    """Match all rules against the project's files and the installed libraries that packs cover.

    Args:
        rules: the rules in force.
        folder: the project, if the rules name none.
        crossed: the crossings of a trace, to count those of each match.

    Returns:
        For each rule what it matches, or the reason why that is nothing.
    """
    project = Project(rules.project or (os.path.abspath(folder),), rules.root)
    names = tuple(pack_index()) if rules.auto else tuple(pack.name for pack in rules.packs)
    packs = tuple(load_pack(name, rules.disable) for name in names)
    all_rules = (*rules.boundaries, *(rule for pack in packs for rule in pack.boundaries))
    fits: dict[tuple[str, str], list[Fit]] = {}
    matcher = matcher_for(rules, project)
    for path in python_files(rules.project or (os.path.abspath(folder),)):
        if project.owns(path) and (code := compiled(path)) is not None:
            names = project.names_of(path)
            matches = matcher.find(names[0], code, read_source(path), is_project=True, aliases=names[1:])
            file = project.name(path)
            for match in matches.matches:
                times = _times(match.rule, f"{file}:{match.qualname}", crossed, all_rules)
                place = f"{file}:{match.firstlineno}"
                fits.setdefault(_key(match.rule), []).append(Fit(place, match.qualname, *times))
            for site in matches.calls:
                label = label_of(site.qualname, site.rule)
                times = _times(site.rule, f"{file}:{label}", crossed, all_rules)
                fits.setdefault(_key(site.rule), []).append(Fit(f"{file}:{site.line}", label, *times))
    return [_surveyed(rule, fits.get(_key(rule), []), crossed, all_rules) for rule in all_rules]


def _key(rule: BoundaryRule) -> tuple[str, str]:
    return (rule.id, str(rule.selector))


def _times(
    rule: BoundaryRule, site: str, crossed: Crossed | None, all_rules: Sequence[BoundaryRule]
) -> tuple[int | None, int | None]:
    """Return how many crossings of a site came by this rule, and how many in all; None for what is not known."""
    if crossed is None:
        return None, None
    at_place = sum(times for (recorded, _), times in crossed.items() if recorded == site)
    same_selector = [other for other in all_rules if other.selector == rule.selector and other.id != rule.id]
    if not (at_place and same_selector):
        return at_place, at_place
    if "{" in rule.name or any(other.name == rule.name or "{" in other.name for other in same_selector):
        return None, at_place
    return crossed.get((site, rule.name), 0), at_place


def _surveyed(
    rule: BoundaryRule, fits: list[Fit], crossed: Crossed | None, all_rules: Sequence[BoundaryRule]
) -> Surveyed:
    """Return a rule with its matches. A target in a library is looked up in the source of the library."""
    selector = rule.selector
    if isinstance(selector, Http):
        return Surveyed(rule, (), "requests of httpx and httpx2, wherever they are made")
    if fits or not isinstance(selector, Target):
        return Surveyed(rule, tuple(fits), None if fits else "fits nothing")
    path = _library_file(selector.module)
    if path is None:
        remark = f"{selector.module.partition('.')[0]} is not installed"
        return Surveyed(rule, (), remark, is_installed=False)
    names = _defined(selector.module, path)
    times = _times(rule, str(selector), crossed, all_rules)
    if selector.qualname not in names:
        return Surveyed(rule, (), f"{selector.module} has no {selector.qualname}")
    return Surveyed(rule, (Fit(selector.module, selector.qualname, *times),), None)


class _CodeReader(SourceFileLoader):
    """Loads a library's bytecode from Python's cache, and writes no cache. To compile all that packs name takes 3 s."""

    def set_data(self, path: str, data: object, *, _mode: int = 0o666) -> None:
        """Write nothing."""


@cache
def _defined(module: str, path: str) -> frozenset[str]:
    """Return the qualified names of the definitions in a library's module; none if it can't be loaded."""
    try:
        code = _CodeReader(module, path).get_code(module)
    except (OSError, SyntaxError, ValueError, EOFError):
        return frozenset()
    return frozenset() if code is None else frozenset(name for name, _ in definitions(code))


def _library_file(module: str) -> str | None:
    """Return the path of a library's module, without importing the library; None if there is none in Python."""
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
    """Compile a file; None if it can't be read or doesn't parse."""
    source = read_source(path)
    if source is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python gives them where the program imports it
            return compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
