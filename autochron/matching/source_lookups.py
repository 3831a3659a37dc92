"""What rules ask of a module's source: its decorators, its calls, and the classes that derive from named ones.

Most modules are never parsed: only those that mention a name which a rule spells out.
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
"""A module's source, or how to get it: only decorators need it, and only where a rule asks for them."""


def deriving_classes(module: str, text: str, known: set[str], *, is_package: bool) -> list[tuple[str, str]]:
    """Return the classes of a module that derive from known ones, as (qualified name, dotted name)."""
    # Here and not above: `ast` is only needed where a rule names a class that others derive from.
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
    """Return the decorators of the module's functions by (name, first line), where a rule asks for one."""
    wanted = [rule.selector.decorator for rule in rules if isinstance(rule.selector, Decorated)]
    if not wanted:
        return {}, ()
    text = read_text(source)
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
            named = decorators.index(decorators.decorations(text, module, is_package=is_package_code(code)))
            for function, by in named.items():
                found[function] = found.get(function, _NONE) | by
    except (SyntaxError, ValueError, RecursionError) as error:
        reason = f"has source that doesn't parse ({error})"
        return {}, tuple(_undecided(rule, modules[0], reason) for rule in rules)
    return found, ()


def fitting_calls(
    rules: tuple[CallRule, ...], modules: tuple[str, ...], code: CodeType, source: SourceText
) -> tuple[tuple[CallSite, ...], tuple[Unwoven, ...]]:
    """Return the calls of a module that rules fit; its source is only read where a name that they spell out is used."""
    near = tuple(rule for rule in rules if sites.may_be_in(code, rule.words))
    if not near:
        return (), ()
    text = read_text(source)
    reason = "has no source" if text is None else ""
    found: list[CallSite] = []
    if text is not None:
        # Here and not above: `ast` is only needed where a rule names a call.
        from autochron.matching import calls

        try:
            for module in modules:
                found = found or calls.call_sites(text, module, near, is_package=is_package_code(code))
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
    return tuple(ranked_sites(found, modules[0])), tuple(ledger)


def read_text(source: SourceText) -> str | None:
    """Read a module's source, in the encoding that it declares."""
    text = source() if callable(source) else source
    if isinstance(text, bytes):
        from importlib.util import decode_source  # lazy: only rules that read source need it

        try:
            return decode_source(text)
        except (SyntaxError, UnicodeDecodeError):
            return text.decode("utf-8", "surrogateescape")
    return text


def is_package_code(code: CodeType) -> bool:
    """Return whether code is that of a package itself."""
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
