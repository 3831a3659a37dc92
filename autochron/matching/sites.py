"""Call sites, and the rules for them: values only, so that reading rules needs no `ast`."""

from __future__ import annotations

from types import CodeType
from typing import Literal, TypeAlias

from msgspec import Struct

from autochron.model import BoundaryRule, CallSelector
from autochron.rules.calls import Anything, Attribute, CallPattern, Index, Metavariable, call_pattern
from autochron.rules.globs import DottedGlob, dotted_glob, split_within
from autochron.rules.names import Field, name_template

Position: TypeAlias = tuple[int, int, int, int]
"""(line, end line, column, end column); columns in bytes of UTF-8, as code objects have them."""


class Saved(Struct, frozen=True):
    """A metavariable whose value the program computes on its way to the callee, and that is copied there.

    `positions` are those of the attribute or index that consumes it, as its receiver or as its key.
    """

    name: str
    of: Literal["receiver", "key"]
    positions: tuple[Position, ...]


class CallSite(Struct, frozen=True):
    """A call that a rule fits."""

    rule: BoundaryRule
    qualname: str
    """Of the enclosing definition."""
    line: int
    source: str
    """The callee as it is written."""
    form: Literal["name", "attribute", "subscript"]
    """What pushes the callee."""
    callee: tuple[Position, ...]
    """Where the instruction that pushes it may stand."""
    calls: tuple[Position, ...]
    """Where the CALL may stand."""
    constants: tuple[tuple[str, str | int], ...] = ()
    """Metavariables whose value stands in the source."""
    saved: tuple[Saved, ...] = ()
    arguments: tuple[tuple[str, int | str], ...] = ()
    """Metavariables that are arguments: by place or keyword."""
    weight: int = 0
    """How much its rule leaves open."""
    check: str | None = None
    """The dotted name of what the callee must turn out to be, where the source doesn't tell."""


class CallRule(Struct, frozen=True):
    """A rule for call sites, parsed."""

    rule: BoundaryRule
    pattern: CallPattern
    modules: DottedGlob | None
    qualnames: DottedGlob | None
    needed: frozenset[str]
    """The metavariables that its name uses."""

    @property
    def within(self) -> str:
        """Say where its calls stand."""
        selector = self.rule.selector
        return (
            f"`{selector.within}`"
            if isinstance(selector, CallSelector) and selector.within
            else "the project"
        )

    @property
    def words(self) -> frozenset[str]:
        """The name that stands in every module with a call that it fits."""
        return frozenset(self.pattern.words[-1:])

    def concerns(self, module: str) -> bool:
        """Return whether it may fit a call in a module."""
        return self.modules is None or self.modules.fits(module)

    @property
    def weight(self) -> int:
        """Count what it leaves open: of two that fit one call, the one that says more comes first."""
        open_parts = [self.pattern.root, *(_inner(trailer) for trailer in self.pattern.trailers)]
        vague = sum(isinstance(part, Metavariable | Anything) for part in open_parts)
        return vague - len(self.pattern.positional) - len(self.pattern.keywords)


def label_of(qualname: str, rule: BoundaryRule) -> str:
    """Name a call site as traces do: by the definition that it stands in and the rule's pattern."""
    return f"{qualname} → {rule.selector}"


def call_rule(rule: BoundaryRule) -> CallRule:
    """Parse a rule whose selector is a `Call`."""
    call = rule.selector
    assert isinstance(call, CallSelector)  # noqa: S101 - the caller saw to it
    modules, qualnames = (None, None) if call.within is None else split_within(call.within)
    parts = name_template(rule.name).parts
    return CallRule(
        rule,
        call_pattern(call.pattern),
        None if modules is None else dotted_glob(modules),
        None if qualnames is None else dotted_glob(qualnames),
        frozenset(part.root for part in parts if isinstance(part, Field)),
    )


def _inner(trailer: Attribute | Index) -> object:
    return trailer.name if isinstance(trailer, Attribute) else trailer.key


def may_be_in(code: CodeType, words: frozenset[str]) -> bool:
    """Return whether code uses one of these names at all, before its source is read; 0.15 ms per 1,000 lines."""
    if not words.isdisjoint(code.co_names) or not words.isdisjoint(code.co_varnames):
        return True
    if not words.isdisjoint(code.co_freevars):
        return True
    # `from shop.tools import refund` has the module's name as one.
    if any("." in name and not words.isdisjoint(name.split(".")) for name in code.co_names):
        return True
    private = tuple(word for word in words if word.startswith("__"))
    if private and any(
        name.endswith(private) for name in code.co_names
    ):  # `self.__run` is `_Agent__run` there
        return True
    return any(may_be_in(each, words) for each in code.co_consts if type(each) is CodeType)
