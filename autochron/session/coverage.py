"""Whether what was recorded is still woven: a tool that no rule weaves any more would be run for real by a replay."""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Iterable, Sequence
from types import CodeType

from msgspec.json import decode

from autochron.envelope.doors import DOORS
from autochron.errors import UnwovenToolError
from autochron.matching import Matcher
from autochron.matching.sites import CallSite, label_of
from autochron.model import Define, Envelope, Http, Rules, Target, Trace
from autochron.rules import with_imported
from autochron.rules.globs import dotted_glob
from autochron.session.activation import Activation
from autochron.session.project import Project, module_names, read_source
from autochron.session.survey import compiled
from autochron.weaving.ledger import Ledger


def refuse_uncovered(trace: Trace, rules: Rules, activation: Activation | None = None) -> None:
    """Refuse a replay of which some recorded crossing would not be crossed.

    Raises:
        UnwovenToolError: names the first such boundary and where it was.
    """
    # What is marked by hand in the program's source needs no rule.
    sites = dict.fromkeys(
        site for envelope in trace.envelopes if not (site := _ruled(envelope)).startswith("@")
    )
    if activation is not None:
        project = activation.project
        for point in activation.ledger.points:
            file = project.name(point.file) if project.owns(point.file) else point.module
            sites.pop(f"{file}:{point.qualname}", None)
    missing = uncovered(sites, rules)
    if not missing:
        return
    named = [
        f"{each.name} ({each.site})"
        for each in {each.site: each for each in trace.envelopes if _ruled(each) in missing}.values()
    ]
    other = "" if trace.header.rules == rules.digest else "; the trace was recorded with other rules"
    where = rules.file or f"no rule file was found from {rules.root} upward"
    raise UnwovenToolError(
        f"trace {trace.header.id}: {', '.join(named)} crossed a boundary when it was recorded, and by today's rules does "
        f"not, so a replay would run it for real ({where}{other}); name the rules with --rules, or say --allow-unwoven"
    )


def _ruled(envelope: Envelope) -> str:
    """Give the site that a rule is for: what was passed as an argument is woven where it was passed to."""
    if b'"passed":' not in envelope.meta:
        return envelope.site
    site: str = decode(envelope.meta).get("passed", envelope.site)
    return site


def uncovered(sites: Iterable[str], rules: Rules) -> set[str]:
    """Give the sites that the rules don't weave, judged by the source as it is now."""
    project = Project(rules.project or (rules.root,), rules.root)
    found: dict[str, set[str] | None] = {}
    missing = set()
    for site in sites:
        place, _, qualname = site.partition(":") if " → " in site else site.rpartition(":")
        if not place.endswith(".py"):
            if not _is_targeted(place, qualname, rules):
                missing.add(site)
            continue
        if place not in found:
            found[place] = _woven_names(project.root, place, rules)
        names = found[place]
        if names is not None and qualname not in names:
            missing.add(site)
    return missing


def _is_targeted(module: str, qualname: str, rules: Rules) -> bool:
    """Tell whether a rule names a library's definition."""
    rules = with_imported(rules, module)
    every = (*rules.boundaries, *(rule for pack in rules.packs for rule in pack.boundaries))
    wanted = Target(module, qualname)
    doors = DOORS[module].names if module in DOORS else frozenset()
    return any(
        rule.selector == wanted
        or (isinstance(rule.selector, Http) and qualname in doors)
        or (isinstance(rule.selector, Define) and _defines(rule.selector, module, qualname))
        for rule in every
    )


def _defines(pattern: Define, module: str, qualname: str) -> bool:
    if any(dotted_glob(glob).fits(qualname) for glob in pattern.exclude):
        return False
    return dotted_glob(pattern.modules).fits(module) and dotted_glob(pattern.qualnames, careful=True).fits(
        qualname
    )


def _woven_names(root: str, place: str, rules: Rules) -> set[str] | None:
    """Give the qualified names in a file that rules fit; None where marks by hand make that unknowable."""
    path = os.path.join(root, place)
    source = read_source(path)
    if source is not None and b"autochron" in source:
        return None
    code = compiled(path) if source is not None else _bytecode(path)
    if code is None:
        return set() if source is None else None  # a syntax error is Python's to tell
    name, *aliases = (*module_names(path), *_dotted(place), *_named_nowhere(root, rules))
    found = Matcher(rules).find(name, code, source, is_project=True, aliases=(*aliases, "__main__"))
    return {match.qualname for match in found.matches} | _bound_labels(code, found.calls)


def _bound_labels(code: CodeType, sites: Sequence[CallSite]) -> set[str]:
    """Name the call sites that can be bound in code as it is compiled here and now."""
    if not sites:
        return set()
    from autochron.weaving.binding import bind_calls, bindings_of  # lazy: few programs have such rules

    bindings = bindings_of(sites, "", "")
    bind_calls(code, bindings, Ledger())
    bound = {binding.line for binding in bindings if binding.bound}
    return {label_of(site.qualname, site.rule) for site in sites if site.line in bound}


def _bytecode(path: str) -> CodeType | None:
    """Load the bytecode that lies where a source has been."""
    data = read_source(f"{path}c")
    try:
        code = None if data is None else marshal.loads(data[16:])  # noqa: S302 - Python would run it
    except (ValueError, EOFError, TypeError):
        return None
    return code if isinstance(code, CodeType) else None


def _dotted(place: str) -> list[str]:
    """Give the names that a file may be imported by where its folders are namespace packages or lie in an archive."""
    parts = place.removesuffix(".py").removesuffix("/__init__").split("/")
    return [".".join(parts[index:]) for index in range(len(parts) - 1)]


def _named_nowhere(root: str, rules: Rules) -> list[str]:
    """Give the modules in rules that no file has the name of: a program may give a module any name when it loads it."""
    modules = {
        rule.selector.module if isinstance(rule.selector, Target) else rule.selector.modules
        for rule in rules.boundaries
        if isinstance(rule.selector, Target | Define)
    }
    tops = [root, *rules.project]
    return sorted(
        module
        for module in modules
        if "*" not in module
        and not any(
            os.path.exists(os.path.join(top, *module.split(".")) + ending)
            for top in tops
            for ending in ("", ".py")
        )
        and sys.modules.get(module) is None
    )
