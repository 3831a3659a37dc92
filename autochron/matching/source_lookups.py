"""Search a module's source for what rules name: decorators, calls, and classes that derive from named ones.

Only modules that contain a name which a rule spells out are parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import CodeType
from typing import TYPE_CHECKING, TypeAlias

from autochron._runtime.lazy import late_modules
from autochron.matching.precedence import ranked_sites
from autochron.model import BoundaryRule, Decorated, Unwoven

if TYPE_CHECKING:
    from autochron.matching import sites
    from autochron.matching.sites import CallRule, CallSite
else:
    late_modules(globals(), "autochron.matching.sites")

_NONE: frozenset[str] = frozenset()

Text: TypeAlias = str | bytes | None
SourceText: TypeAlias = Text | Callable[[], Text]
"""A module's source, or a function that reads it. It is read only if a rule needs it."""


def deriving_classes(module: str, text: str, known: set[str], *, is_package: bool) -> list[tuple[str, str]]:
    """Return (qualified name, dotted name) of each class that derives from a known one; none if the source doesn't parse."""
    # lazy: `ast` is needed only if a rule names a class with a `+`
    from autochron.matching import deriving

    if not deriving.mentions(text, known):
        return []
    try:
        return list(deriving.derived(text, module, known, is_package=is_package))
    except (SyntaxError, ValueError, RecursionError):
        return []


def decorated_functions(
    rules: tuple[BoundaryRule, ...], modules: tuple[str, ...], code: CodeType, source: SourceText
) -> tuple[Mapping[tuple[str, int], frozenset[str]], tuple[Unwoven, ...]]:
    """Return the decorators of a module's functions, if a rule names one.

    Args:
        rules: the rules with a decorator that may fit the module.
        modules: the names of the module.
        code: its code.
        source: its source.

    Returns:
        The dotted names of decorators by (function name, first line), and the rules that could not be decided.
    """
    wanted = [rule.selector.decorator for rule in rules if isinstance(rule.selector, Decorated)]
    if not wanted:
        return {}, ()
    text = read_text(source)
    if text is None:
        return {}, tuple(
            _undecided(rule, modules[0], "has no source") for rule in rules if _may_use(rule, code)
        )
    # lazy: `ast` is needed only if a rule names a decorator
    from autochron.matching import decorators

    if not decorators.mentions(text, wanted):
        return {}, ()
    decorators_of: dict[tuple[str, int], frozenset[str]] = {}
    try:
        for module in modules:
            named = decorators.index(decorators.decorations(text, module, is_package=is_package_code(code)))
            for function, names in named.items():
                decorators_of[function] = decorators_of.get(function, _NONE) | names
    except (SyntaxError, ValueError, RecursionError) as error:
        reason = f"has source that doesn't parse ({error})"
        return {}, tuple(_undecided(rule, modules[0], reason) for rule in rules)
    return decorators_of, ()


def fitting_calls(
    rules: tuple[CallRule, ...], modules: tuple[str, ...], code: CodeType, source: SourceText
) -> tuple[tuple[CallSite, ...], tuple[Unwoven, ...]]:
    """Return the calls of a module that rules fit.

    Args:
        rules: the rules for calls that may fit the module.
        modules: the names of the module.
        code: its code.
        source: its source, which is read only if the code uses a name that a rule spells out.

    Returns:
        The call sites in the order in which their rules are tried, and the rules that could not be decided.

    Raises:
        RuleError: two rules fit one call, and none takes precedence.
    """
    possible = tuple(rule for rule in rules if sites.may_be_in(code, rule.words))
    if not possible:
        return (), ()
    text = read_text(source)
    reason = "has no source" if text is None else ""
    matches: list[CallSite] = []
    if text is not None:
        # lazy: `ast` is needed only if a rule names a call
        from autochron.matching import calls

        try:
            for module in modules:
                matches = matches or calls.call_sites(
                    text, module, possible, is_package=is_package_code(code)
                )
        except (SyntaxError, ValueError, RecursionError) as error:
            reason = f"has source that doesn't parse ({error})"
    ledger = [
        Unwoven(
            str(rule.rule.selector),
            f"{modules[0]} {reason}, so its calls are unknown ({rule.rule.place})",
            "not-woven",
        )
        for rule in possible
        if reason
    ]
    return tuple(ranked_sites(matches, modules[0])), tuple(ledger)


def read_text(source: SourceText) -> str | None:
    """Return a module's source as text, decoded as it declares; None if it has no source."""
    text = source() if callable(source) else source
    if isinstance(text, bytes):
        from importlib.util import decode_source  # lazy: only rules that read source need it

        try:
            return decode_source(text)
        except (SyntaxError, UnicodeDecodeError):
            return text.decode("utf-8", "surrogateescape")
    return text


def is_package_code(code: CodeType) -> bool:
    """Return whether code is that of a package's `__init__.py`."""
    return code.co_filename.endswith(("/__init__.py", "\\__init__.py"))


def _undecided(rule: BoundaryRule, module: str, reason: str) -> Unwoven:
    return Unwoven(
        what=str(rule.selector),
        reason=f"{module} {reason}, so its decorators are unknown; use `target` instead ({rule.place})",
        slug="not-woven",
    )


def _may_use(rule: BoundaryRule, code: CodeType) -> bool:
    """Return whether code whose source is missing uses the last name of a rule's decorator."""
    last = str(rule.selector).rpartition(".")[2]
    return last in code.co_names or any(
        _may_use(rule, constant) for constant in code.co_consts if isinstance(constant, CodeType)
    )
