"""Explain why a call or a definition is woven or not: each rule at a line of source, with the first reason against it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from autochron._runtime.unpatched import os
from autochron.diagnostics.near_rules import left_out
from autochron.diagnostics.rule_survey import Crossed, compiled
from autochron.errors import UsageError
from autochron.matching.calls import Miss, fit_call
from autochron.matching.decorators import names_of
from autochron.matching.scopes import Function, Names, NameScope
from autochron.matching.sites import CallRule, CallSite, call_rule, label_of
from autochron.model import (
    BoundaryRule,
    CallSelector,
    Considered,
    Decorated,
    Define,
    Explained,
    Http,
    Rules,
    Target,
)
from autochron.project import Project, read_source
from autochron.rules.globs import dotted_glob
from autochron.weaving.binding import bind_calls, bindings_of, refuse_unbound
from autochron.weaving.ledger import Ledger


def explain(rules: Rules, file: str, line: int, crossed: Crossed | None = None) -> list[Explained]:
    """Explain what every rule makes of each call and definition on a line.

    Args:
        rules: the rules in force.
        file: the path of the source.
        line: the line number.
        crossed: the crossings of a trace, to count those of each call and definition.

    Raises:
        UsageError: there is no such file, it doesn't parse, or the line has no call and no definition.
    """
    project = Project(rules.project or (rules.root or os.getcwd(),), rules.root)
    source = read_source(file)
    if source is None:
        raise UsageError(f"there is no file {file}; give FILE:LINE")
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{file} doesn't parse ({error}), so nothing in it is woven") from error
    modules = project.names_of(file)
    names = Names(tree, modules[0], is_package=os.path.basename(file) == "__init__.py")
    explained = list(_Line(rules, project, file, line, modules, names, crossed).explained())
    if not explained:
        lines = sorted({node.lineno for node, _ in (*names.calls, *names.functions)})
        nearest = ", ".join(
            str(number) for number in sorted(lines, key=lambda number: abs(number - line))[:3]
        )
        raise UsageError(
            f"{file}:{line} has no call and no definition"
            + (f"; the nearest are on lines {nearest}" if nearest else "")
        )
    return explained


class _Line:
    """One line of a file."""

    def __init__(
        self,
        rules: Rules,
        project: Project,
        file: str,
        line: int,
        modules: tuple[str, ...],
        names: Names,
        crossed: Crossed | None,
    ) -> None:
        self._rules = rules
        self._file = file
        self._line = line
        self._place = f"{project.name(file)}:{line}"
        self._shown = project.name(file)
        self._modules = modules
        self._names = names
        self._crossed = crossed
        self._is_project = project.owns(os.path.abspath(file))

    def explained(self) -> Iterator[Explained]:
        """Yield the definitions that begin on the line, then the calls whose callee ends on it."""
        for function, scope in self._names.functions:
            first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
            if first <= self._line <= function.lineno:
                yield self._definition(function, scope)
        for call, scope in self._names.calls:
            if self._line in {call.func.end_lineno, call.lineno}:
                yield self._call(call, scope)

    # --- calls --------------------------------------------------------------------------------------------------------

    def _call(self, call: ast.Call, scope: NameScope) -> Explained:
        """Return what every rule for calls makes of a call."""
        considered, sites = [], []
        for rule in self._rules.boundaries:
            if isinstance(rule.selector, CallSelector):
                fit = self._fit(call_rule(rule), call, scope)
                if isinstance(fit, CallSite):
                    sites.append(fit)
                considered.append(_considered(rule, fit))
        refusal = self._refusal(sites)
        if refusal is not None:
            considered = [
                Considered(result.rule, False, refusal) if result.fits else result for result in considered
            ]
        labels = {f"{self._shown}:{label_of(site.qualname, site.rule)}" for site in sites}
        subject = f"call of {ast.unparse(call.func)}"
        return Explained(self._place, subject, tuple(considered), self._times(labels))

    def _fit(self, rule: CallRule, call: ast.Call, scope: NameScope) -> CallSite | Miss:
        """Return how a rule matches a call, or the reason why it does not."""
        if not self._is_project:
            return Miss(
                "the file is not in the project, and calls are woven there only (see `project` in the rules)"
            )
        if not any(map(rule.concerns, (*self._modules, "__main__"))):
            return Miss(f"module {self._modules[0]} doesn't fit `within` {rule.within}")
        return fit_call(rule, call, scope, self._names)

    def _refusal(self, sites: list[CallSite]) -> str | None:
        """Return why the calls can't be bound; None if they can. The binding is tried out on a copy of the code."""
        code = compiled(self._file) if sites else None
        if code is None:
            return None
        ledger = Ledger()
        bindings = bindings_of(sites, self._modules[0], self._file)
        bind_calls(code, bindings, ledger)
        refuse_unbound(code, bindings, ledger)
        return next((entry.reason for entry in ledger.unwoven), None)

    # --- definitions --------------------------------------------------------------------------------------------------

    def _definition(self, function: Function, scope: NameScope) -> Explained:
        """Return what every rule for definitions makes of a definition."""
        qualname = scope.qualname_of(function.name)
        decorators = frozenset(
            name for decorator in function.decorator_list for name in names_of(decorator, scope)
        )
        considered = []
        for rule in self._rules.boundaries:
            if not isinstance(rule.selector, CallSelector | Http):
                reason = self._reason_against(rule, qualname, decorators)
                considered.append(Considered(rule, reason is None, reason or ""))
        return Explained(
            self._place,
            f"definition of {qualname}",
            tuple(considered),
            self._times({f"{self._shown}:{qualname}"}),
        )

    def _reason_against(self, rule: BoundaryRule, qualname: str, decorators: Iterable[str]) -> str | None:
        """Return why a rule does not match a definition; None if it does."""
        selector, modules = rule.selector, (*self._modules, "__main__")
        match selector:
            case Target(module=module, qualname=name):
                if module not in modules:
                    return f"it names the module {module}, and this is {self._modules[0]}"
                return None if name == qualname else f"it names {name}"
            case Define():
                return self._define_reason(selector, qualname)
            case Decorated(decorator=wanted):
                if not self._is_project:
                    return "the file is not in the project (see `project` in the rules)"
                shown = ", ".join(sorted(decorators)) or "none"
                return None if wanted in decorators else f"its decorators are: {shown}"
            case _:
                return "it selects something else"

    def _define_reason(self, define: Define, qualname: str) -> str | None:
        """Return why a `define` does not match a definition; None if it does."""
        if not self._is_project:
            return "the file is not in the project (see `project` in the rules)"
        if not any(dotted_glob(define.modules).fits(name) for name in (*self._modules, "__main__")):
            return f"module {self._modules[0]} doesn't fit `{define.modules}`"
        if not dotted_glob(define.qualnames, careful=True).fits(qualname):
            fits_loosely = dotted_glob(define.qualnames).fits(qualname)
            skipped = "a glob skips what is private, a dunder or nested" if fits_loosely else None
            reason = skipped or left_out(define, qualname)
            return f"{qualname} doesn't fit `{define.qualnames}`" + (f"; {reason}" if reason else "")
        excluding = next((glob for glob in define.exclude if dotted_glob(glob).fits(qualname)), None)
        return None if excluding is None else f"`exclude` has `{excluding}`"

    def _times(self, labels: set[str]) -> int | None:
        """Return how many crossings of a trace were at these sites; None without a trace."""
        crossed = self._crossed
        return (
            None if crossed is None else sum(times for (site, _), times in crossed.items() if site in labels)
        )


def _considered(rule: BoundaryRule, fit: CallSite | Miss) -> Considered:
    """Return a rule with its result for a call: the reason against it, or the condition under which it matches."""
    if isinstance(fit, Miss):
        return Considered(rule, False, fit.reason)
    condition = (
        f"where the callee turns out to be `{fit.check}`, or a method that overrides it" if fit.check else ""
    )
    return Considered(rule, True, condition)
