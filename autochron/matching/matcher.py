"""Find which rules fit which definitions and calls of a module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import compress
from operator import not_
from types import CodeType
from typing import TYPE_CHECKING

from msgspec import Struct

from autochron._runtime.lazy import late_modules
from autochron.matching.precedence import ranked, refuse_twins
from autochron.matching.source_lookups import (
    SourceText,
    decorated_functions,
    deriving_classes,
    fitting_calls,
    is_package_code,
    read_text,
)
from autochron.model import (
    BoundaryRule,
    CallSelector,
    Decorated,
    Define,
    Http,
    Rules,
    SwapRule,
    Target,
    TraceRule,
    Unwoven,
)
from autochron.rules.nearest import nearest

if TYPE_CHECKING:
    from autochron.matching import definitions, sites
    from autochron.matching.definitions import Shape
    from autochron.matching.sites import CallRule, CallSite
    from autochron.rules import globs
    from autochron.rules.globs import DottedGlob
else:
    late_modules(
        globals(), "autochron.matching.definitions", "autochron.matching.sites", "autochron.rules.globs"
    )


class Match(Struct, frozen=True):
    """A rule that fits a definition. Of several such rules the first whose `when` fits a call applies to that call."""

    rule: BoundaryRule
    qualname: str
    firstlineno: int
    """`co_firstlineno` of its code object, which this and the qualified name identify."""
    shape: Shape
    code_name: str = ""
    """`co_qualname` of a lambda's code object, because `qualname` is the name that it is assigned to; else empty."""


class TraceMatch(Struct, frozen=True):
    """A `[[trace]]` table, or a swap, that fits a definition."""

    rule: TraceRule | SwapRule
    qualname: str
    firstlineno: int
    shape: Shape


class Absent(Struct, frozen=True):
    """A target for which its module's code has no function. It may still be a C callable or an instance."""

    rule: BoundaryRule | TraceRule | SwapRule
    nearest: str | None
    """The most similar qualified name; None if none is similar."""


class ModuleMatches(Struct, frozen=True):
    """All that rules fit in a module."""

    matches: tuple[Match, ...] = ()
    traces: tuple[TraceMatch, ...] = ()
    calls: tuple[CallSite, ...] = ()
    """The call sites that rules fit. Of several rules at one call the first whose `when` fits it applies."""
    absent: tuple[Absent, ...] = ()
    ledger: tuple[Unwoven, ...] = ()
    """The rules for which the module could not be searched, and why."""
    decorators: frozenset[str] = frozenset()
    """Dotted names of the decorators in the module; collected only if it may use one that a rule names."""


NO_MATCHES = ModuleMatches()
_NONE: frozenset[str] = frozenset()


class _Pattern(Struct, frozen=True):
    """A parsed `define` selector."""

    rule: BoundaryRule
    modules: DottedGlob
    qualnames: DottedGlob
    exclude: tuple[DottedGlob, ...]
    base: str = ""
    """The dotted name of a class whose derived classes match as well; empty if there is none."""
    methods: DottedGlob | None = None
    """The methods of the derived classes that match."""

    def fits(self, qualname: str) -> bool:
        return self.qualnames.fits(qualname) and not any(glob.fits(qualname) for glob in self.exclude)


class _ModuleRules(Struct, frozen=True):
    """The rules that may fit one module."""

    targets: tuple[BoundaryRule, ...]
    traces: tuple[TraceRule | SwapRule, ...]
    patterns: tuple[_Pattern, ...]
    decorated: tuple[BoundaryRule, ...]
    calls: tuple[CallRule, ...]
    deriving: tuple[_Pattern, ...] = ()


_NO_RULES = _ModuleRules((), (), (), (), ())


class Matcher:
    """The rules, indexed so that a module in which none can match costs a few look-ups.

    Attributes:
        derived: by the dotted name of each class that a rule names with a `+`: the known classes that derive from it, itself
            included.
    """

    def __init__(self, rules: Rules) -> None:
        """Index the rules.

        Raises:
            RuleError: two rules of the project name one definition by `target`, with the same `when`.
        """
        self._targets: dict[str, list[BoundaryRule]] = {}
        self._traces: dict[str, list[TraceRule | SwapRule]] = {}
        self._heads: dict[str, list[_Pattern]] = {}
        self._anywhere: list[_Pattern] = []
        self._decorated: list[BoundaryRule] = []
        self._calls: list[CallRule] = []
        self._deriving: list[_Pattern] = []
        self.derived: dict[str, set[str]] = {}
        for rule in (*rules.boundaries, *(rule for pack in rules.packs for rule in pack.boundaries)):
            self._add(rule)
        marking: list[TraceRule | SwapRule] = [*rules.traces, *rules.swaps]
        for trace in marking:
            self._traces.setdefault(trace.target.module, []).append(trace)
        self._pack_decorated = any(rule.pack for rule in self._decorated)

    def _add(self, rule: BoundaryRule) -> None:
        match rule.selector:
            case Target(module=module):
                twins = [known for known in self._targets.get(module, ()) if known.selector == rule.selector]
                if twins and rule.pack is None and not rule.is_found:
                    refuse_twins(rule, twins, str(rule.selector))
                self._targets.setdefault(module, []).append(rule)
            case Define(modules=modules, qualnames=qualnames, exclude=exclude):
                parts = globs.split_derived(qualnames)
                pattern = _Pattern(
                    rule,
                    globs.dotted_glob(modules),
                    globs.dotted_glob(qualnames.replace(globs.DERIVED, ".", 1), careful=True),
                    tuple(globs.dotted_glob(glob) for glob in exclude),
                    "" if parts is None else f"{modules}.{parts[0]}",
                    None if parts is None else globs.dotted_glob(parts[1], careful=True),
                )
                if parts is not None:
                    self._deriving.append(pattern)
                    self.derived[pattern.base] = {pattern.base}
                head = modules.partition(".")[0]
                where = self._anywhere if "*" in head else self._heads.setdefault(head, [])
                where.append(pattern)
            case Decorated():
                self._decorated.append(rule)
            case CallSelector():
                self._calls.append(sites.call_rule(rule))
            case Http():
                pass  # not for a definition of the user's: the functions of each HTTP client are woven for these

    def may_match(self, module: str, *, is_project: bool) -> bool:
        """Return whether a rule may match in a module of this name. Takes about 0.3 µs."""
        if module in self._targets or module in self._traces or self._pack_decorated:
            return True
        if is_project and (self._decorated or self._anywhere or self._calls or self._deriving):
            return True
        return bool(self._anywhere) or module.partition(".")[0] in self._heads

    def find(
        self,
        module: str,
        code: CodeType,
        source: SourceText = None,
        *,
        is_project: bool,
        aliases: Iterable[str] = (),
    ) -> ModuleMatches:
        """Return all that rules fit in a module.

        Args:
            module: the module's name.
            code: the module's code.
            source: its source, or a function that reads it; called only if a rule needs the source.
            is_project: whether the module is the user's own code.
            aliases: other names of the module, such as `agent` of an `agent.py` that runs as `__main__`.

        Raises:
            RuleError: two rules of the project fit one definition or call, and none takes precedence.
        """
        modules = tuple(dict.fromkeys((module, *aliases)))
        if not any(self.may_match(name, is_project=is_project) for name in modules):
            return NO_MATCHES
        rules = self._rules_for(modules, is_project=is_project)
        if rules == _NO_RULES:
            return NO_MATCHES
        all_definitions = _known_definitions(code)
        # Without `__main__`: the names of the module's own definitions never begin with it.
        own_names = tuple(name for name in modules if name != "__main__") or (module,)
        decorated, undecided = decorated_functions(rules.decorated, own_names, code, source)
        lambdas, twins = _named_lambdas(rules, code)
        found_lambdas = list(_found_lambdas(rules, code, module))
        calls, unread = fitting_calls(rules.calls, own_names, code, source)
        deriving = self._deriving_patterns(rules, own_names, code, source)
        return ModuleMatches(
            matches=(
                *_definition_matches(rules, all_definitions, decorated, deriving, module),
                *_lambda_matches(rules, lambdas, module),
                *found_lambdas,
            ),
            traces=tuple(
                TraceMatch(rule, name, line, shape)
                for name, line, shape in all_definitions
                for rule in rules.traces
                if rule.target.qualname == name
            ),
            absent=_absent(
                rules,
                {
                    *(name for name, *_ in all_definitions),
                    *(name for name, _ in lambdas),
                    *(match.qualname for match in found_lambdas),
                },
            ),
            calls=calls,
            ledger=(*undecided, *(_two_lambdas(name, inner, module) for name, inner in twins), *unread),
            decorators=frozenset().union(*decorated.values()),
        )

    def _rules_for(self, modules: tuple[str, ...], *, is_project: bool) -> _ModuleRules:
        patterns = [
            *(pattern for name in modules for pattern in self._heads.get(name.partition(".")[0], ())),
            *self._anywhere,
        ]
        return _ModuleRules(
            targets=tuple(rule for name in modules for rule in self._targets.get(name, ())),
            traces=tuple(rule for name in modules for rule in self._traces.get(name, ())),
            patterns=tuple(
                pattern
                for pattern in dict.fromkeys(patterns)
                if (is_project or pattern.rule.pack) and any(pattern.modules.fits(name) for name in modules)
            ),
            decorated=tuple(rule for rule in self._decorated if is_project or rule.pack),
            calls=tuple(rule for rule in self._calls if is_project and any(map(rule.concerns, modules))),
            deriving=tuple(self._deriving) if is_project else (),
        )

    def learn(self, module: str, text: str, *, is_package: bool) -> bool:
        """Add a module's classes to `derived`, and return whether any is new.

        Args:
            module: the module's name.
            text: its source.
            is_package: whether the module is a package.
        """
        is_new = False
        for known in self.derived.values():
            classes = {dotted for _, dotted in deriving_classes(module, text, known, is_package=is_package)}
            is_new = is_new or not classes <= known
            known.update(classes)
        return is_new

    def _deriving_patterns(
        self, rules: _ModuleRules, modules: tuple[str, ...], code: CodeType, source: SourceText
    ) -> dict[str, list[_Pattern]]:
        """Return the module's classes that derive from a class named with `+`, each with the patterns that name it."""
        text = read_text(source) if rules.deriving else None
        patterns: dict[str, list[_Pattern]] = {}
        for pattern in rules.deriving if text is not None else ():
            known = self.derived[pattern.base]
            qualnames = {
                qualname
                for module in modules
                for qualname, _ in deriving_classes(
                    module, text or "", known, is_package=is_package_code(code)
                )
            }
            for qualname in qualnames:
                patterns.setdefault(qualname, []).append(pattern)
        return patterns


_last_matcher: tuple[Rules, Matcher] | None = None


def match_definitions(
    rules: Rules,
    module_name: str,
    is_project: bool,  # noqa: FBT001  # this is the short form of `Matcher.find`, where it is a keyword
    code: CodeType,
    source: SourceText = None,
) -> list[Match]:
    """Return the matches of definitions in one module; see `Matcher.find`, which also finds calls and traces."""
    global _last_matcher  # noqa: PLW0603  # not an lru_cache: to hash rules takes longer than to compare identities
    if _last_matcher is None or _last_matcher[0] is not rules:
        _last_matcher = (rules, Matcher(rules))
    return list(_last_matcher[1].find(module_name, code, source, is_project=is_project).matches)


def _known_definitions(code: CodeType) -> list[tuple[str, int, Shape]]:
    """Return (qualified name, first line, shape) of each definition of a module."""
    return list(
        dict.fromkeys(
            (name, inner.co_firstlineno, definitions.shape_of(inner))
            for name, inner in definitions.definitions(code)
        )
    )


def _definition_matches(
    rules: _ModuleRules,
    all_definitions: Iterable[tuple[str, int, Shape]],
    decorated: Mapping[tuple[str, int], frozenset[str]],
    deriving: Mapping[str, list[_Pattern]],
    module: str,
) -> Iterator[Match]:
    """Yield the matches of each definition, in the order in which its rules are tried."""
    for name, line, shape in all_definitions:
        decorators = decorated.get((_last(name), line), _NONE)
        fitting = [*_candidates(rules, name, decorators), *_of_derived(deriving, name)]
        for rule in ranked(fitting, f"{module}:{name}"):
            yield Match(rule, name, line, shape)


def _lambda_matches(
    rules: _ModuleRules, named: Iterable[tuple[str, CodeType]], module: str
) -> Iterator[Match]:
    """Yield the matches of each lambda that rules name, in the order in which its rules are tried."""
    for name, code in named:
        fitting = [
            rule for rule in _candidates(rules, name, _NONE) if _last_named(rule.selector) == _last(name)
        ]
        for rule in ranked(fitting, f"{module}:{name}"):
            yield Match(rule, name, code.co_firstlineno, definitions.shape_of(code), code.co_qualname)


def _candidates(rules: _ModuleRules, qualname: str, decorators: frozenset[str]) -> list[BoundaryRule]:
    return [
        *(
            rule
            for rule in rules.targets
            if isinstance(rule.selector, Target) and rule.selector.qualname == qualname
        ),
        *(
            rule
            for rule in rules.decorated
            if isinstance(rule.selector, Decorated) and rule.selector.decorator in decorators
        ),
        *(pattern.rule for pattern in rules.patterns if pattern.fits(qualname)),
    ]


def _of_derived(deriving: Mapping[str, list[_Pattern]], qualname: str) -> Iterator[BoundaryRule]:
    """Yield the rules that fit a method because its class derives from one that they name."""
    owner, _, name = qualname.rpartition(".")
    for pattern in deriving.get(owner, ()):
        excluded = any(glob.fits(qualname) for glob in pattern.exclude)
        if pattern.methods is not None and pattern.methods.fits(name) and not excluded:
            yield pattern.rule


def _absent(rules: _ModuleRules, names: set[str]) -> tuple[Absent, ...]:
    wanted: list[tuple[BoundaryRule | TraceRule | SwapRule, str]] = [
        (rule, rule.target.qualname) for rule in rules.traces
    ]
    wanted += [(rule, rule.selector.qualname) for rule in rules.targets if isinstance(rule.selector, Target)]
    return tuple(Absent(rule, nearest(names, name)) for rule, name in wanted if name not in names)


def _named_lambdas(
    rules: _ModuleRules, code: CodeType
) -> tuple[list[tuple[str, CodeType]], list[tuple[str, CodeType]]]:
    """Return the lambdas that rules name: those that can be told apart, and those that share a line with another one.

    Their names must be spelled out: `shop.tools:*` names no lambda.
    """
    named_rules = (*rules.targets, *(pattern.rule for pattern in rules.patterns))
    names = {_last_named(rule.selector) for rule in named_rules} - {""}
    if not names:
        return [], []
    named = list(definitions.lambdas(code, names))
    counts = (
        Counter((inner.co_qualname, inner.co_firstlineno) for inner in _all_lambdas(code)) if named else {}
    )
    is_alone = [counts[inner.co_qualname, inner.co_firstlineno] == 1 for _, inner in named]
    return list(compress(named, is_alone)), list(compress(named, map(not_, is_alone)))


def _found_lambdas(rules: _ModuleRules, code: CodeType, module: str) -> Iterator[Match]:
    """Yield the matches of lambdas that were found to be tools: they are known by their line, and have no name."""
    found = [rule for rule in rules.targets if rule.is_found and _last_named(rule.selector) == "<lambda>"]
    if not found:
        return
    lambdas = list(_all_lambdas(code))
    counts = Counter((inner.co_qualname, inner.co_firstlineno) for inner in lambdas)
    for inner in lambdas:
        place = (inner.co_qualname, inner.co_firstlineno)
        fitting = [
            rule
            for rule in found
            if isinstance(rule.selector, Target) and (rule.selector.qualname, rule.place.line) == place
        ]
        if counts[place] == 1:  # two of one line can't be told apart
            for rule in ranked(fitting, f"{module}:{inner.co_qualname}"):
                yield Match(rule, inner.co_qualname, inner.co_firstlineno, definitions.shape_of(inner))


def _all_lambdas(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_name == "<lambda>":
                yield constant
            yield from _all_lambdas(constant)


def _two_lambdas(name: str, code: CodeType, module: str) -> Unwoven:
    reason = (
        f"line {code.co_firstlineno} has another lambda as well; put each in a line of its own, or use `def`"
    )
    return Unwoven(f"{module}:{name}", reason, "not-woven")


def _last_named(selector: object) -> str:
    """Return the last name that a selector spells out; empty if it ends in a glob, or names no definition."""
    if isinstance(selector, Target):
        return _last(selector.qualname)
    last = _last(selector.qualnames) if isinstance(selector, Define) else ""
    return "" if "*" in last else last


def _last(qualname: str) -> str:
    return qualname.rpartition(".")[2]
