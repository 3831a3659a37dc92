"""Which rules fit which definitions of a module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import compress, pairwise
from types import CodeType
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from autochron._runtime.lazy import late_modules
from autochron.errors import RuleError
from autochron.model import (
    BoundaryRule,
    Call,
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

Text: TypeAlias = str | bytes | None
SourceText: TypeAlias = Text | Callable[[], Text]
"""A module's source, or how to get it: only decorators need it, and only where a rule asks for them."""


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
                    _refuse_twins(rule, alike, str(rule.selector))
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
            case Call():
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
        known = list(
            dict.fromkeys(
                (name, inner.co_firstlineno, definitions.shape_of(inner))
                for name, inner in definitions.definitions(code)
            )
        )
        # What the names of the module's own definitions may begin with.
        known_as = tuple(name for name in modules if name != "__main__") or (module,)
        decorated, ledger = _decorated(asked.decorated, known_as, code, source)
        names = {name for name, _, _ in known}
        named, twins = _named_lambdas(asked, code)
        names |= {name for name, _ in named}
        ledger = (*ledger, *(_two_lambdas(name, each, module) for name, each in twins))
        calls, unread = _calls(asked.calls, known_as, code, source)
        methods = self._methods(asked, known_as, code, source)
        return Found(
            matches=tuple(
                Match(rule, name, line, shape)
                for name, line, shape in known
                for rule in _ranked(
                    [
                        *_candidates(asked, name, decorated.get((_last(name), line), _NONE)),
                        *_of_derived(methods, name),
                    ],
                    f"{module}:{name}",
                )
            )
            + tuple(
                Match(rule, name, each.co_firstlineno, definitions.shape_of(each), each.co_qualname)
                for name, each in named
                for rule in _ranked(
                    [
                        rule
                        for rule in _candidates(asked, name, _NONE)
                        if _last_named(rule.selector) == _last(name)
                    ],
                    f"{module}:{name}",
                )
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
            found = {dotted for _, dotted in _derived(module, text, known, is_package=is_package)}
            is_new = is_new or not found <= known
            known.update(found)
        return is_new

    def _methods(
        self, asked: _Asked, modules: tuple[str, ...], code: CodeType, source: SourceText
    ) -> dict[str, list[_Pattern]]:
        """Return the classes of a module that derive from named ones, each with the patterns that mean it."""
        text = _text(source) if asked.deriving else None
        found: dict[str, list[_Pattern]] = {}
        for pattern in asked.deriving if text is not None else ():
            known = self.derived[pattern.base]
            named = {
                qualname
                for module in modules
                for qualname, _ in _derived(module, text or "", known, is_package=_is_package(code))
            }
            for qualname in named:
                found.setdefault(qualname, []).append(pattern)
        return found


def _derived(module: str, text: str, known: set[str], *, is_package: bool) -> list[tuple[str, str]]:
    # Here and not above: `ast` is only needed where a rule names a class that others derive from.
    from autochron.matching import deriving

    if not deriving.mentions(text, known):
        return []
    try:
        return list(deriving.derived(text, module, known, is_package=is_package))
    except (SyntaxError, ValueError, RecursionError):
        return []


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


def _ranked(rules: list[BoundaryRule], definition: str) -> list[BoundaryRule]:
    """Put the rules of one definition in the order in which they are tried.

    The project's before a pack's, then `target` before `decorated` before `define`, then as they stand in the
    file. A rule of the project without `when` ends the list, since it fits every call. Two of the project
    that are alike in weight and `when` are refused.
    """
    kept: list[BoundaryRule] = []
    for rule in sorted(rules, key=_weight):
        if rule.pack is None:
            _refuse_twins(rule, kept, definition)
        closed = kept and kept[-1].pack is None and not kept[-1].when
        if not closed:
            kept.append(rule)
    return kept


def _refuse_twins(rule: BoundaryRule, kept: list[BoundaryRule], definition: str) -> None:
    for other in kept:
        if other.pack is None and _weight(other) == _weight(rule) and other.when == rule.when:
            raise RuleError(
                f"{rule.place}: `{rule.selector}` fits {definition}, "
                f"as does `{other.selector}` at {other.place}; "
                "narrow one with `exclude` or `when`, or name the definition with `target`"
            )


_WEIGHTS = {Target: 0, Decorated: 1, Define: 2}


def _weight(rule: BoundaryRule) -> tuple[bool, int]:
    return rule.pack is not None, _WEIGHTS.get(type(rule.selector), 3)


def _absent(asked: _Asked, names: set[str]) -> tuple[Absent, ...]:
    wanted: list[tuple[BoundaryRule | TraceRule | SwapRule, str]] = [
        (rule, rule.target.qualname) for rule in asked.traces
    ]
    wanted += [(rule, rule.selector.qualname) for rule in asked.targets if isinstance(rule.selector, Target)]
    return tuple(Absent(rule, nearest(names, name)) for rule, name in wanted if name not in names)


def _decorated(
    rules: tuple[BoundaryRule, ...], modules: tuple[str, ...], code: CodeType, source: SourceText
) -> tuple[Mapping[tuple[str, int], frozenset[str]], tuple[Unwoven, ...]]:
    """Return the decorators of the module's functions by (name, first line), where a rule asks for one."""
    wanted = [rule.selector.decorator for rule in rules if isinstance(rule.selector, Decorated)]
    if not wanted:
        return {}, ()
    text = _text(source)
    if text is None:
        return {}, tuple(
            _undecided(rule, modules[0], "has no source") for rule in rules if _may_use(rule, code)
        )
    # Here and not above: `ast` is only needed where a rule names a decorator.
    from autochron.matching import decorators

    if not decorators.mentions(text, wanted):
        return {}, ()
    found: dict[tuple[str, int], frozenset[str]] = {}
    try:
        for module in modules:
            named = decorators.index(decorators.decorations(text, module, is_package=_is_package(code)))
            for function, by in named.items():
                found[function] = found.get(function, _NONE) | by
    except (SyntaxError, ValueError, RecursionError) as error:
        reason = f"has source that doesn't parse ({error})"
        return {}, tuple(_undecided(rule, modules[0], reason) for rule in rules)
    return found, ()


def _calls(
    rules: tuple[CallRule, ...], modules: tuple[str, ...], code: CodeType, source: SourceText
) -> tuple[tuple[CallSite, ...], tuple[Unwoven, ...]]:
    """Return the calls of a module that rules fit; its source is only read where a name that they spell out is used."""
    near = tuple(rule for rule in rules if sites.may_be_in(code, rule.words))
    if not near:
        return (), ()
    text = _text(source)
    reason = "has no source" if text is None else ""
    found: list[CallSite] = []
    if text is not None:
        # Here and not above: `ast` is only needed where a rule names a call.
        from autochron.matching import calls

        try:
            for module in modules:
                found = found or calls.call_sites(text, module, near, is_package=_is_package(code))
        except (SyntaxError, ValueError, RecursionError) as error:
            reason = f"has source that doesn't parse ({error})"
    ledger = [
        Unwoven(
            str(rule.rule.selector),
            f"{modules[0]} {reason}, so its calls are unknown ({rule.rule.place})",
            "not-woven",
        )
        for rule in near
        if reason
    ]
    return tuple(_ranked_sites(found, modules[0])), tuple(ledger)


def _ranked_sites(sites: list[CallSite], module: str) -> list[CallSite]:
    """Put the rules of each call in the order in which they are tried, as `_ranked` does for definitions."""
    by_call: dict[object, list[CallSite]] = {}
    for site in sites:
        by_call.setdefault(site.calls[0], []).append(site)
    kept: list[CallSite] = []
    for several in by_call.values():
        several.sort(key=lambda site: (site.check is not None, site.weight))
        for first, second in pairwise(several):
            alike = (first.check, first.weight) == (second.check, second.weight)
            if alike and first.rule.when == second.rule.when:
                raise RuleError(
                    f"{second.rule.place}: `{second.rule.selector}` fits the call of `{second.source}` at "
                    f"{module}:{second.line}, as does `{first.rule.selector}` at {first.rule.place}; narrow one with "
                    "`within`, `when` or its arguments"
                )
        kept += several
    return kept


def _text(source: SourceText) -> str | None:
    """Read a module's source, in the encoding that it declares."""
    text = source() if callable(source) else source
    if isinstance(text, bytes):
        from importlib.util import decode_source  # lazy: only rules that read source need it

        try:
            return decode_source(text)
        except (SyntaxError, UnicodeDecodeError):
            return text.decode("utf-8", "surrogateescape")
    return text


def _is_package(code: CodeType) -> bool:
    return code.co_filename.endswith(("/__init__.py", "\\__init__.py"))


def _undecided(rule: BoundaryRule, module: str, reason: str) -> Unwoven:
    return Unwoven(
        what=str(rule.selector),
        reason=f"{module} {reason}, so its decorators are unknown; use `target` instead ({rule.place})",
        slug="not-woven",
    )


def _may_use(rule: BoundaryRule, code: CodeType) -> bool:
    """Return whether code without source mentions a decorator by its last name."""
    last = str(rule.selector).rpartition(".")[2]
    return last in code.co_names or any(
        _may_use(rule, constant) for constant in code.co_consts if isinstance(constant, CodeType)
    )


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
