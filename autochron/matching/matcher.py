"""Which rules fit which definitions of a module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import compress
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
    """A rule that fits a definition. Of several the first whose `when` fits a call counts."""

    rule: BoundaryRule
    qualname: str
    firstlineno: int
    """`co_firstlineno`: with `qualname` it tells which code object is meant."""
    shape: Shape
    code_name: str = ""
    """`co_qualname` where that is another: of a lambda, which is called by the name that it is assigned to."""


class TraceMatch(Struct, frozen=True):
    """A `[[trace]]` table, or a swap, that fits a definition."""

    rule: TraceRule | SwapRule
    qualname: str
    firstlineno: int
    shape: Shape


class Absent(Struct, frozen=True):
    """A target that its module defines no function for; it may still be a C callable or an instance."""

    rule: BoundaryRule | TraceRule | SwapRule
    nearest: str | None
    """The qualified name that is most like it."""


class Found(Struct, frozen=True):
    """All that the rules mean to a module."""

    matches: tuple[Match, ...] = ()
    traces: tuple[TraceMatch, ...] = ()
    calls: tuple[CallSite, ...] = ()
    """The call sites that rules fit. Of several at one call the first whose `when` fits it counts."""
    absent: tuple[Absent, ...] = ()
    ledger: tuple[Unwoven, ...] = ()
    """What could not be decided, and why."""
    decorators: frozenset[str] = frozenset()
    """The decorators that the module uses, as they resolve, where a rule asks for one that it may use."""


NOTHING = Found()
_NONE: frozenset[str] = frozenset()


class _Pattern(Struct, frozen=True):
    """A `define`, parsed."""

    rule: BoundaryRule
    modules: DottedGlob
    qualnames: DottedGlob
    exclude: tuple[DottedGlob, ...]
    base: str = ""
    """The dotted name of the class whose derived classes are meant as well."""
    methods: DottedGlob | None = None
    """What is meant of these."""

    def fits(self, qualname: str) -> bool:
        return self.qualnames.fits(qualname) and not any(glob.fits(qualname) for glob in self.exclude)


class _Asked(Struct, frozen=True):
    """The rules that may fit one module."""

    targets: tuple[BoundaryRule, ...]
    traces: tuple[TraceRule | SwapRule, ...]
    patterns: tuple[_Pattern, ...]
    decorated: tuple[BoundaryRule, ...]
    calls: tuple[CallRule, ...]
    deriving: tuple[_Pattern, ...] = ()


_NOBODY = _Asked((), (), (), (), ())


class Matcher:
    """The rules, laid out so that a module which they don't concern costs a few look-ups."""

    def __init__(self, rules: Rules) -> None:
        """Sort the rules by what they need to know of a module; RuleError where two of the project name one definition."""
        self._targets: dict[str, list[BoundaryRule]] = {}
        self._traces: dict[str, list[TraceRule | SwapRule]] = {}
        self._heads: dict[str, list[_Pattern]] = {}
        self._anywhere: list[_Pattern] = []
        self._decorated: list[BoundaryRule] = []
        self._calls: list[CallRule] = []
        self._deriving: list[_Pattern] = []
        self.derived: dict[str, set[str]] = {}
        """The classes that rules name with a `+`, each with those that derive from it, as far as was learnt."""
        for rule in (*rules.boundaries, *(rule for pack in rules.packs for rule in pack.boundaries)):
            self._add(rule)
        marking: list[TraceRule | SwapRule] = [*rules.traces, *rules.swaps]
        for trace in marking:
            self._traces.setdefault(trace.target.module, []).append(trace)
        self._pack_decorated = any(rule.pack for rule in self._decorated)

    def _add(self, rule: BoundaryRule) -> None:
        match rule.selector:
            case Target(module=module):
                alike = [each for each in self._targets.get(module, ()) if each.selector == rule.selector]
                if alike and rule.pack is None:
                    refuse_twins(rule, alike, str(rule.selector))
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
                pass  # an HTTP client's own definitions are woven for these, whatever they are

    def may_match(self, module: str, *, is_project: bool) -> bool:
        """Return whether a module needs a look at all; about 0.3 µs."""
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
    ) -> Found:
        """Find what fits the definitions of a module; RuleError where two project rules claim one definition.

        `aliases` are other names of the module: `agent` for the `agent.py` that runs as `__main__`.
        """
        modules = tuple(dict.fromkeys((module, *aliases)))
        if not any(self.may_match(name, is_project=is_project) for name in modules):
            return NOTHING
        asked = self._asked(modules, is_project=is_project)
        if asked == _NOBODY:
            return NOTHING
        known = _known_definitions(code)
        # What the names of the module's own definitions may begin with.
        known_as = tuple(name for name in modules if name != "__main__") or (module,)
        decorated, ledger = decorated_functions(asked.decorated, known_as, code, source)
        names = {name for name, _, _ in known}
        named, twins = _named_lambdas(asked, code)
        names |= {name for name, _ in named}
        ledger = (*ledger, *(_two_lambdas(name, each, module) for name, each in twins))
        calls, unread = fitting_calls(asked.calls, known_as, code, source)
        methods = self._methods(asked, known_as, code, source)
        return Found(
            matches=(
                *_definition_matches(asked, known, decorated, methods, module),
                *_lambda_matches(asked, named, module),
            ),
            traces=tuple(
                TraceMatch(rule, name, line, shape)
                for name, line, shape in known
                for rule in asked.traces
                if rule.target.qualname == name
            ),
            absent=_absent(asked, names),
            calls=calls,
            ledger=(*ledger, *unread),
            decorators=frozenset().union(*decorated.values()),
        )

    def _asked(self, modules: tuple[str, ...], *, is_project: bool) -> _Asked:
        patterns = [
            *(pattern for name in modules for pattern in self._heads.get(name.partition(".")[0], ())),
            *self._anywhere,
        ]
        return _Asked(
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
        """Learn of a module's classes that derive from those that rules name with a `+`; tell whether any is new."""
        is_new = False
        for known in self.derived.values():
            found = {dotted for _, dotted in deriving_classes(module, text, known, is_package=is_package)}
            is_new = is_new or not found <= known
            known.update(found)
        return is_new

    def _methods(
        self, asked: _Asked, modules: tuple[str, ...], code: CodeType, source: SourceText
    ) -> dict[str, list[_Pattern]]:
        """Return the classes of a module that derive from named ones, each with the patterns that mean it."""
        text = read_text(source) if asked.deriving else None
        found: dict[str, list[_Pattern]] = {}
        for pattern in asked.deriving if text is not None else ():
            known = self.derived[pattern.base]
            named = {
                qualname
                for module in modules
                for qualname, _ in deriving_classes(
                    module, text or "", known, is_package=is_package_code(code)
                )
            }
            for qualname in named:
                found.setdefault(qualname, []).append(pattern)
        return found


_last_matcher: tuple[Rules, Matcher] | None = None


def match_definitions(
    rules: Rules,
    module_name: str,
    is_project: bool,  # noqa: FBT001  # the brief form; `Matcher.find` names it
    code: CodeType,
    source: SourceText = None,
) -> list[Match]:
    """Find the matches of one module; with many modules a `Matcher` says more, for the same cost."""
    global _last_matcher  # noqa: PLW0603  # one slot: to hash rules costs more
    if _last_matcher is None or _last_matcher[0] is not rules:
        _last_matcher = (rules, Matcher(rules))
    return list(_last_matcher[1].find(module_name, code, source, is_project=is_project).matches)


def _known_definitions(code: CodeType) -> list[tuple[str, int, Shape]]:
    """Return the qualified names of a module's definitions, each with its first line and its shape."""
    return list(
        dict.fromkeys(
            (name, inner.co_firstlineno, definitions.shape_of(inner))
            for name, inner in definitions.definitions(code)
        )
    )


def _definition_matches(
    asked: _Asked,
    known: Iterable[tuple[str, int, Shape]],
    decorated: Mapping[tuple[str, int], frozenset[str]],
    methods: Mapping[str, list[_Pattern]],
    module: str,
) -> Iterator[Match]:
    """Yield the matches of the definitions of a module.

    Args:
        asked: the rules that may match in the module.
        known: (qualified name, first line, shape) of each definition.
        decorated: the decorators of a definition, by its last name and first line.
        methods: the patterns for methods of classes that derive from named ones, by class.
        module: the module's name, for the message of a RuleError.
    """
    for name, line, shape in known:
        rules = [
            *_candidates(asked, name, decorated.get((_last(name), line), _NONE)),
            *_of_derived(methods, name),
        ]
        for rule in ranked(rules, f"{module}:{name}"):
            yield Match(rule, name, line, shape)


def _lambda_matches(asked: _Asked, named: Iterable[tuple[str, CodeType]], module: str) -> Iterator[Match]:
    """Yield the matches of lambdas that rules name."""
    for name, code in named:
        meant = [
            rule for rule in _candidates(asked, name, _NONE) if _last_named(rule.selector) == _last(name)
        ]
        for rule in ranked(meant, f"{module}:{name}"):
            yield Match(rule, name, code.co_firstlineno, definitions.shape_of(code), code.co_qualname)


def _candidates(asked: _Asked, qualname: str, decorators: frozenset[str]) -> list[BoundaryRule]:
    return [
        *(
            rule
            for rule in asked.targets
            if isinstance(rule.selector, Target) and rule.selector.qualname == qualname
        ),
        *(
            rule
            for rule in asked.decorated
            if isinstance(rule.selector, Decorated) and rule.selector.decorator in decorators
        ),
        *(pattern.rule for pattern in asked.patterns if pattern.fits(qualname)),
    ]


def _of_derived(methods: Mapping[str, list[_Pattern]], qualname: str) -> Iterator[BoundaryRule]:
    """Yield the rules that mean a method because its class derives from one that they name."""
    owner, _, name = qualname.rpartition(".")
    for pattern in methods.get(owner, ()):
        excluded = any(glob.fits(qualname) for glob in pattern.exclude)
        if pattern.methods is not None and pattern.methods.fits(name) and not excluded:
            yield pattern.rule


def _absent(asked: _Asked, names: set[str]) -> tuple[Absent, ...]:
    wanted: list[tuple[BoundaryRule | TraceRule | SwapRule, str]] = [
        (rule, rule.target.qualname) for rule in asked.traces
    ]
    wanted += [(rule, rule.selector.qualname) for rule in asked.targets if isinstance(rule.selector, Target)]
    return tuple(Absent(rule, nearest(names, name)) for rule, name in wanted if name not in names)


def _named_lambdas(
    asked: _Asked, code: CodeType
) -> tuple[list[tuple[str, CodeType]], list[tuple[str, CodeType]]]:
    """Return the lambdas that rules name, and those of them that share their line with another.

    Only what is spelled out: `shop.tools:*` means no lambda.
    """
    rules = (*asked.targets, *(pattern.rule for pattern in asked.patterns))
    names = {_last_named(rule.selector) for rule in rules} - {""}
    if not names:
        return [], []
    found = list(definitions.lambdas(code, names))
    places = Counter((each.co_qualname, each.co_firstlineno) for each in _all_lambdas(code)) if found else {}
    is_alone = [places[each.co_qualname, each.co_firstlineno] == 1 for _, each in found]
    return list(compress(found, is_alone)), [
        each for each, alone in zip(found, is_alone, strict=True) if not alone
    ]


def _all_lambdas(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            if each.co_name == "<lambda>":
                yield each
            yield from _all_lambdas(each)


def _two_lambdas(name: str, code: CodeType, module: str) -> Unwoven:
    reason = (
        f"line {code.co_firstlineno} has another lambda as well; put each in a line of its own, or use `def`"
    )
    return Unwoven(f"{module}:{name}", reason, "not-woven")


def _last_named(selector: object) -> str:
    """Return the last name of what a selector means; empty where it spells none out."""
    if isinstance(selector, Target):
        return _last(selector.qualname)
    last = _last(selector.qualnames) if isinstance(selector, Define) else ""
    return "" if "*" in last else last


def _last(qualname: str) -> str:
    return qualname.rpartition(".")[2]
