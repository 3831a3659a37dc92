"""Check that recorded boundaries are still woven: a replay would run a tool for real that no rule weaves any more."""

from __future__ import annotations

import marshal
import sys
from collections.abc import Iterable, Sequence
from importlib._bootstrap_external import MAGIC_NUMBER
from types import CodeType
from typing import TYPE_CHECKING

from autochron._runtime.unpatched import os
from autochron.diagnostics.rule_survey import compiled
from autochron.errors import UnwovenToolError
from autochron.http.clients import DOORS, door_of
from autochron.instrument.activation import Activation
from autochron.matching.derived_classes import matcher_for
from autochron.matching.sites import CallSite, label_of
from autochron.model import Define, Http, Rules, Target
from autochron.project import Project, path_of, read_source
from autochron.replaying.plan import ReplayPlan
from autochron.rules.globs import dotted_glob
from autochron.rules.packs import with_imported
from autochron.weaving.ledger import Ledger

if TYPE_CHECKING:
    from autochron.ports import Record


def refuse_uncovered(
    record: Record,
    rules: Rules,
    activation: Activation | None = None,
    *,
    live: ReplayPlan | None = None,
    remedy: str = ", or say --allow-unwoven",
) -> None:
    """Refuse a replay if some recorded boundary is no longer woven.

    Args:
        record: the recorded trace.
        rules: the rules in force.
        activation: what is woven already. Boundaries that are marked in the program's source need no rule.
        live: the plan. If passed, only the boundaries count that it runs live.
        remedy: a phrase that says what else could be done, for the message.

    Raises:
        UnwovenToolError: names these boundaries and their recorded sites.
    """
    crossed_at = (
        record.sites()
        if live is None
        else dict.fromkeys(boundary.ruled for boundary in record.boundaries() if live.means(boundary))
    )
    # Boundaries that are marked by hand in the program's source need no rule.
    sites = [
        site
        for site in crossed_at
        if not (site.startswith("@") or (activation is not None and activation.points_at(site)))
    ]
    missing = uncovered(sites, rules) if sites else set()
    if not missing:
        return
    crossed = [boundary for boundary in record.boundaries() if live is None or live.means(boundary)]
    named = {
        boundary.site: f"{boundary.name} ({boundary.site})"
        for boundary in crossed
        if boundary.ruled in missing
    }
    other_rules = (
        "" if record.header.rules == rules.file_digest else "; the trace was recorded with other rules"
    )
    where = rules.file or f"no rule file was found from {rules.root} upward"
    consequence = (
        "a replay would run it for real"
        if live is None
        else "a replay can't see the calls that are to run live"
    )
    if live is not None:
        remedy = ", or write the rule"
    raise UnwovenToolError(
        f"trace {record.header.id}: {', '.join(named.values())} crossed a boundary when it was recorded, and by today's "
        f"rules does not, so {consequence} ({where}{other_rules}); name the rules with --rules{remedy}; if it was renamed or "
        f"moved, give the new function's [[boundary]] the recorded name"
    )


def uncovered(sites: Iterable[str], rules: Rules) -> set[str]:
    """Return the sites that the rules do not weave in the present source."""
    project = Project(rules.project or (rules.root,), rules.root)
    woven: dict[str, set[str] | None] = {}
    missing = set()
    for site in sites:
        place, _, qualname = site.partition(":") if " → " in site else site.rpartition(":")
        if not place.endswith(".py"):
            if not _is_targeted(place, qualname, rules):
                missing.add(site)
            continue
        if place not in woven:
            woven[place] = _woven_names(project.root, place, rules)
        names = woven[place]
        if names is not None and qualname not in names:
            missing.add(site)
    return missing


def _is_targeted(module: str, qualname: str, rules: Rules) -> bool:
    """Return whether a rule weaves a library's definition."""
    rules = with_imported(rules, module)
    all_rules = (*rules.boundaries, *(rule for pack in rules.packs for rule in pack.boundaries))
    wanted = Target(module, qualname)
    client_names = door_of(module).names if module in DOORS else frozenset()
    return any(
        rule.selector == wanted
        or (isinstance(rule.selector, Http) and qualname in client_names)
        or (isinstance(rule.selector, Define) and _defines(rule.selector, module, qualname))
        for rule in all_rules
    )


def _defines(pattern: Define, module: str, qualname: str) -> bool:
    """Return whether a `define` matches a qualified name of a module."""
    if any(dotted_glob(glob).fits(qualname) for glob in pattern.exclude):
        return False
    return dotted_glob(pattern.modules).fits(module) and dotted_glob(pattern.qualnames, careful=True).fits(
        qualname
    )


def _woven_names(root: str, place: str, rules: Rules) -> set[str] | None:
    """Return the qualified names in a file that rules weave; None if marks by hand make that unknowable."""
    path = path_of(root, place)
    source = read_source(path)
    if source is not None and b"autochron" in source:
        return None
    code = compiled(path) if source is not None else _bytecode(path)
    if code is None:
        return set() if source is None else None  # Python itself reports the syntax error
    project = Project(rules.project or (root,), root)
    name, *aliases = (
        *project.names_of(path),
        *_import_names(place),
        *_modules_without_file(root, place, rules),
    )
    module_match = matcher_for(rules, project).find(
        name, code, source, is_project=True, aliases=(*aliases, "__main__")
    )
    return {match.qualname for match in module_match.matches} | _bound_labels(code, module_match.calls)


def _bound_labels(code: CodeType, sites: Sequence[CallSite]) -> set[str]:
    """Return the labels of the call sites that can be bound in this code."""
    if not sites:
        return set()
    from autochron.weaving.binding import bind_calls, bindings_of  # lazy: few programs have such rules

    bindings = bindings_of(sites, "", "")
    bind_calls(code, bindings, Ledger())
    bound = {binding.line for binding in bindings if binding.bound}
    return {label_of(site.qualname, site.rule) for site in sites if site.line in bound}


def _bytecode(path: str) -> CodeType | None:
    """Load the bytecode file beside a source that is gone; None if there is none that this Python would run."""
    data = read_source(f"{path}c")
    if data is None or not data.startswith(MAGIC_NUMBER):
        return None
    try:
        code = marshal.loads(data[16:])  # noqa: S302 - Python would run it
    except (ValueError, EOFError, TypeError):
        return None
    return code if isinstance(code, CodeType) else None


def _import_names(place: str) -> list[str]:
    """Return the names by which a file may be imported if its folders are namespace packages or are in an archive."""
    parts = place.removesuffix(".py").removesuffix("/__init__").split("/")
    return [".".join(parts[index:]) for index in range(len(parts) - 1)]


def _modules_without_file(root: str, place: str, rules: Rules) -> list[str]:
    """Return the modules that rules name and no file has the name of.

    A program may give a module any name when it loads the file itself. Looked for is also in the folders above the file
    at `place`: one of them, such as `src`, is where the program imports from.
    """
    modules = {
        rule.selector.module if isinstance(rule.selector, Target) else rule.selector.modules
        for rule in rules.boundaries
        if isinstance(rule.selector, Target | Define)
    }
    parts = place.split("/")[:-1]
    above = (os.path.join(root, *parts[:count]) for count in range(1, len(parts) + 1))
    folders = [root, *rules.project, *above]
    return sorted(
        module
        for module in modules
        if "*" not in module
        and not any(
            os.path.exists(os.path.join(folder, *module.split(".")) + ending)
            for folder in folders
            for ending in ("", ".py")
        )
        and sys.modules.get(module) is None
    )
