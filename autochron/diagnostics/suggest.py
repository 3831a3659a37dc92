"""Suggest what is missing in the rules: a table for each tool and call without one, by the latest run and the source."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.config import RULE_FILE
from autochron.detect.ambient_rules import is_recordable
from autochron.detect.merge import merged
from autochron.diagnostics.built_names import leads_to_another
from autochron.diagnostics.check import check
from autochron.diagnostics.dispatchers import Dispatcher, find_dispatchers
from autochron.diagnostics.found_tools import candidates, declared_tools, found_tools, unwoven_tools
from autochron.diagnostics.module_names import ModuleNames
from autochron.diagnostics.sources import ImportedSources, UnreadableError
from autochron.diagnostics.tool_definitions import ToolDefinition, find_definitions
from autochron.diagnostics.woven_tools import uncovered
from autochron.model import HARMFUL, NOT_CALLED, Finding, Rules
from autochron.project import Project, path_of, python_files
from autochron.report.impact import with_impact
from autochron.rules.editing import NewTable, replace_rules, table_text, with_tables

if TYPE_CHECKING:
    from autochron.ports import Record

Kind = Literal["boundary", "ignore"]
Group = Literal["blocking", "found", "harmful", "rest"]
"""Why a table is suggested: a replay is refused without it, its tool was found in the run, `impact` calls what it covers
harmful, or none of these."""


class Suggestion(NamedTuple):
    """One table, and what it covers."""

    kind: Kind
    fields: tuple[tuple[str, str], ...]
    """Its keys and values, in order; empty if nothing is known that a table could name."""
    findings: tuple[Finding, ...] = ()
    group: Group = "rest"
    reason: str = ""
    """For a tool: what is known of it, and where."""
    is_certain: bool = True
    """Whether the table is the only one that could be meant. Others are shown as comments, and never written."""


def suggest(
    rules: Rules, folder: str, trace: Record | None = None, impacts: str | None = None
) -> list[Suggestion]:
    """Return a table for each tool without a boundary and for each call that nothing covers, the most urgent first.

    A value that can be recorded gets a `[[boundary]]` of kind `ambient`. Any other call gets an `[[ignore]]` whose
    reason says that nobody has looked at it yet.

    Args:
        rules: the present rules.
        folder: the folder whose source is read, if the rules name no project.
        trace: the latest trace; None if there is none.
        impacts: the folder of `impact.json`; None if `impact` has never run.
    """
    cache = None if rules.file is None else os.path.join(os.path.dirname(rules.file), ".autochron")
    checked = check(rules.project or (folder,), rules, cache=cache)
    ran = () if trace is None or trace.footer is None else trace.footer.findings
    all_findings = merged(ran, checked.findings)
    if impacts is not None:
        all_findings = list(with_impact(all_findings, impacts))
    # Covered in either is covered: only the run sees what a boundary calls, and only the source shows what never ran.
    covered = {_line(finding) for finding in all_findings if finding.covered is not None}
    since = time.strftime("%Y-%m-%d", time.gmtime(unpatched.time_ns() // 1_000_000_000))
    tables: dict[tuple[Kind, tuple[tuple[str, str], ...]], list[Finding]] = {}
    for finding in all_findings:
        if finding.covered is None and _line(finding) not in covered:
            tables.setdefault(_table(finding, since), []).append(finding)
    tools = [] if trace is None else suggest_tools(trace, rules, folder)
    calls = [
        Suggestion(kind, fields, tuple(findings), "harmful" if any(map(is_harmful, findings)) else "rest")
        for (kind, fields), findings in tables.items()
    ]
    return sorted([*tools, *calls], key=lambda suggestion: _GROUPS.index(suggestion.group))


_GROUPS: tuple[Group, ...] = get_args(Group)


def is_harmful(finding: Finding) -> bool:
    """Return whether `impact` has seen that a run changes with other values of a call."""
    return (finding.impact or "").startswith(HARMFUL)


def suggest_tools(trace: Record, rules: Rules, folder: str) -> list[Suggestion]:
    """Return tables for the tools of a trace: those that a replay is refused for, and those that were found in the run.

    Args:
        trace: the trace.
        rules: the present rules.
        folder: the folder whose source is read, if the rules name no project.
    """
    found = found_tools(trace)
    names = unwoven_tools(trace.footer)
    project = Project(rules.project or (os.path.abspath(folder),), rules.root)
    declared = declared_tools(trace) if names else {}
    wanted = {name: declared.get(name) for name in names}
    definitions = find_definitions(project, wanted)
    dispatchers = find_dispatchers(project, wanted)
    suggestions: list[Suggestion] = []
    dispatched: list[Dispatcher] = []
    for name in names:
        sure = {f"{tool.module}:{tool.qualname}" for tool in found if tool.tool == name and tool.is_confirmed}
        at = _known(name, trace, project) or definitions[name]
        at = tuple(definition for definition in at if definition.target not in sure)
        if dispatchers[name] and _is_guessed(at):
            dispatched += dispatchers[name]
        else:
            shown = _shown(name, trace, rules, project, is_found=bool(sure))
            suggestions += _of_tool(name, at, rules, shown)
    suggestions += _of_dispatchers(dispatched)
    for tool in found:
        if tool.is_confirmed:
            is_named = not tool.qualname.endswith("<lambda>")
            remedy = "" if is_named else ", a lambda, which a table can't name: use `def`"
            reason = f"{tool.tool}: found {tool.how} in the latest run: {tool.file}:{tool.line}{remedy}"
            fields = tool_fields(tool.tool, f"{tool.module}:{tool.qualname if is_named else 'FUNCTION'}")
            suggestions.append(
                Suggestion("boundary", fields, group="found", reason=reason, is_certain=is_named)
            )
    return suggestions


def _known(name: str, trace: Record, project: Project) -> tuple[ToolDefinition, ...]:
    """Return the functions of which the run shows that each may be a tool."""
    found = [tool for tool in found_tools(trace) if tool.tool == name and not tool.is_confirmed]
    if found:
        return tuple(ToolDefinition(name, tool.module, tool.qualname, tool.file, tool.line) for tool in found)
    modules_of = ModuleNames(project)
    return tuple(
        ToolDefinition(name, modules_of.aliases(path_of(project.root, file))[0], qualname, file, line)
        for file, line, qualname in candidates(trace.footer, name)
    )


def uncovered_tools(names: Sequence[str], rules: Rules, folder: str) -> list[str]:
    """Return those of some tools of which no definition that the source has is woven by the rules.

    Args:
        names: the tools.
        rules: the present rules.
        folder: the folder whose source is read, if the rules name no project.
    """
    project = Project(rules.project or (os.path.abspath(folder),), rules.root)
    definitions = find_definitions(project, dict.fromkeys(names))
    sites = {name: [f"{known.file}:{known.qualname}" for known in definitions[name]] for name in names}
    unwoven = uncovered([site for places in sites.values() for site in places], rules)
    return [name for name, places in sites.items() if all(site in unwoven for site in places)]


class _Shown(NamedTuple):
    """What a run shows of a tool that the model asked for and that no crossing answers."""

    is_found: bool
    """Whether a function was found that answers other calls of it."""
    is_recorded: bool
    """Whether the run was recorded with the present rules."""
    others: Mapping[tuple[str, int], str]
    """By file and line: why a function that has its name is another one."""
    idle: Collection[tuple[str, int]]
    """The files and lines of functions that have its name and did not run."""
    lambdas: str
    """Why lambdas that may be the tool were not woven; empty if there are none."""


def _shown(name: str, trace: Record, rules: Rules, project: Project, *, is_found: bool) -> _Shown:
    ledger = () if trace.footer is None else trace.footer.ledger
    others, idle = (
        [(file, line) for file, line, _ in candidates(trace.footer, name, slug)]
        for slug in ("other-result", NOT_CALLED)
    )
    why = dict.fromkeys(others, " (it ran, but the model got another result)")
    if idle and _is_built_in(project, name, idle):
        why |= dict.fromkeys(
            idle, " (it did not run, and the project makes the name of another function from the tool's)"
        )
    return _Shown(
        is_found,
        trace.header.rules == rules.file_digest,
        why,
        idle,
        next(
            (
                entry.reason
                for entry in ledger
                if entry.what == name and entry.slug == "ambiguous-tool" and "lambdas" in entry.reason
            ),
            "",
        ),
    )


def _is_built_in(project: Project, name: str, places: Iterable[tuple[str, int]]) -> bool:
    """Return whether the project makes the name of another function from that of a tool, or can't be read."""
    files = {os.path.realpath(path): () for path in python_files(project.paths) if project.owns(path)}
    known = {(os.path.realpath(path_of(project.root, file)), line) for file, line in places}
    try:
        return leads_to_another(ImportedSources(files), name, known)
    except UnreadableError:
        return True


def _of_tool(
    name: str, definitions: Sequence[ToolDefinition], rules: Rules, shown: _Shown
) -> list[Suggestion]:
    """Return the tables for a tool that the model asked for and that no crossing answers, one for each definition.

    Args:
        name: the tool.
        definitions: what it may be.
        rules: the present rules.
        shown: what the run shows of it.
    """
    sites = {definition: f"{definition.file}:{definition.qualname}" for definition in definitions}
    unwoven = uncovered(sites.values(), rules)
    woven = [definition for definition, site in sites.items() if site not in unwoven]
    asked = f"{name}: the model asked for it, and no crossing answers"
    if woven:
        function = f"{woven[0].qualname} at {woven[0].file}:{woven[0].line}"
        if not shown.is_recorded:
            return [_blocking((), f"{name}: a rule fits {function} by now; record again")]
        asked = f"{asked}; {function} has a rule and did not run for it"
        definitions = [definition for definition in definitions if definition not in woven]
    if not definitions:
        unknown = "" if woven else shown.lambdas or "the project's source has no definition of that name"
        reason = "; ".join(
            filter(None, (asked, unknown, "write MODULE and FUNCTION of the one that runs it"))
        )
        return [_blocking(tool_fields(name, "MODULE:FUNCTION"), reason, is_certain=False)]
    many = f" (one of {len(definitions)} definitions that it may be)" if len(definitions) > 1 else ""
    suggestions = []
    for definition in definitions:
        place = definition.file, definition.line
        why_other = shown.others.get(place, "")
        idle = " (a guard may have answered, since it did not run)" if place in shown.idle else ""
        reason = f"{asked}: {definition.file}:{definition.line}{many}{why_other or idle}"
        is_certain = not (many or shown.is_found or why_other or woven)
        suggestions.append(_blocking(tool_fields(name, definition.target), reason, is_certain=is_certain))
    return suggestions


def _is_guessed(definitions: Sequence[ToolDefinition]) -> bool:
    """Return whether the function of a tool is unknown, so that the one that asks for its name is the better answer."""
    return len(definitions) != 1 and all(definition.is_guess for definition in definitions)


def _of_dispatchers(dispatchers: Sequence[Dispatcher]) -> list[Suggestion]:
    """Return a table for each function that runs tools itself."""
    served: dict[tuple[str, str], list[Dispatcher]] = {}
    for dispatcher in dispatchers:
        served.setdefault((dispatcher.field, dispatcher.target), []).append(dispatcher)
    suggestions = []
    for (field, target), entries in served.items():
        tools = ", ".join(entry.tool for entry in entries)
        place = f"{entries[0].file}:{entries[0].line}"
        is_certain = all(
            entry.is_only and sum(other.tool == entry.tool for other in dispatchers) == 1 for entry in entries
        )
        many = "" if is_certain else " (one of several places that ask for that name)"
        reason = (
            f"{tools}: the model asked for it, and no crossing answers: {place} runs it itself, so that a replay serves the "
            f"whole function{many}"
        )
        fields = ("name", field), ("kind", "tool"), ("target", target)
        suggestions.append(_blocking(fields, reason, is_certain=is_certain))
    return suggestions


def _blocking(fields: tuple[tuple[str, str], ...], reason: str, *, is_certain: bool = True) -> Suggestion:
    return Suggestion("boundary", fields, group="blocking", reason=reason, is_certain=is_certain)


def tool_fields(name: str, target: str) -> tuple[tuple[str, str], ...]:
    """Return the keys and values of a tool's `[[boundary]]`."""
    # Braces in a name are fields, and a tool's name comes from a model.
    shown = "{__name__}" if "{" in name or "}" in name or not name.strip() else name
    return ("name", shown), ("kind", "tool"), ("target", target)


def _line(finding: Finding) -> tuple[str, int, str]:
    return finding.site.file, finding.site.line, finding.category


def _table(finding: Finding, since: str) -> tuple[Kind, tuple[tuple[str, str], ...]]:
    """Return the kind and the fields of the table that covers a finding; `since` is the date for the reason."""
    site = (("site", str(finding.site)), ("hash", finding.site.hash))
    if finding.tier == "direct" and is_recordable(finding.call):
        return "boundary", (("kind", "ambient"), ("call", finding.call), *site)
    call = finding.via or finding.call
    is_name = call.replace(".", "").isidentifier() and "__" not in call
    selector = ("call", call) if is_name else ("category", finding.category)
    return "ignore", (selector, *site, ("reason", f"not looked at since {since}"))


def write(suggestions: Iterable[Suggestion], rules: Rules, folder: str) -> str:
    """Append the tables to the rule file, or to a new one. Everything else in the file stays as it is.

    Tables that may not be the right ones are left out.

    Returns:
        The path of the file.

    Raises:
        RuleError: the file can't be written, or would not load with the tables. Then nothing was changed.
    """
    path = rules.file or os.path.join(folder, RULE_FILE)
    _, content = with_tables(path, map(_new_table, filter(is_writable, suggestions)))
    replace_rules(path, content, rules.root or folder)
    return path


def is_writable(suggestion: Suggestion) -> bool:
    """Return whether a suggestion is a table that can be written without a choice of the user."""
    return suggestion.is_certain and bool(suggestion.fields)


def text(suggestion: Suggestion) -> str:
    """Return a table as it will be in the file; as a comment if it may not be the right one."""
    if not suggestion.fields:
        return ""
    table = table_text(_new_table(suggestion))
    return table if suggestion.is_certain else "\n".join(f"# {line}" for line in table.split("\n"))


def _new_table(suggestion: Suggestion) -> NewTable:
    return NewTable(suggestion.kind, suggestion.fields)
