"""Which calls of a module a pattern fits, by the names that imports give them. Read from source, with `ast`.

Not libcst: `ast` gives the byte columns that code objects hold, joins every call of the standard library to its CALL on
all supported Pythons, resolves names as well with `scopes`, and costs a tenth.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Literal, TypeAlias

from msgspec import Struct

from autochron.matching.scopes import Meaning, Names, NameScope
from autochron.matching.sites import CallRule, CallSite, Position, Saved
from autochron.rules.calls import (
    REFUSED,
    Anything,
    Attribute,
    CallPattern,
    Index,
    Metavariable,
    Part,
    Spelled,
)

_SHOWN = 60


class Miss(Struct, frozen=True):
    """Why a rule doesn't fit a call."""

    reason: str


def call_sites(
    source: str | bytes, module: str, rules: Iterable[CallRule], *, is_package: bool
) -> list[CallSite]:
    """Return every fit of a rule to a call of a module; SyntaxError where the source doesn't parse."""
    names = Names(ast.parse(source), module, is_package=is_package)
    found = []
    for call, scope in names.calls:
        for rule in rules:
            fit = fit_call(rule, call, scope, names)
            if isinstance(fit, CallSite):
                found.append(fit)
    return found


def nearest_call(rule: CallRule, sources: Iterable[tuple[str, str, bytes]]) -> str | None:
    """Return the call that is most like what a rule means, and why the rule doesn't fit it; None where none is much like it.

    Args:
        rule: one that fitted nothing.
        sources: (module, file as it is shown, source) of where it could have.
    """
    from difflib import SequenceMatcher  # lazy: only a rule without a match needs it

    wanted = ".".join(rule.pattern.words)
    best, found = 0.6, None
    for module, file, source in sources:
        try:
            names = Names(ast.parse(source), module, is_package=file.endswith("__init__.py"))
        except (SyntaxError, ValueError, RecursionError):
            continue
        for call, scope in names.calls:
            names_there = _names_in(call.func)
            last = SequenceMatcher(None, rule.pattern.words[-1], names_there.rpartition(".")[2]).ratio()
            alike = (last + SequenceMatcher(None, wanted, names_there).ratio()) / 2
            alike += SequenceMatcher(None, rule.pattern.text, ast.unparse(call)).ratio() / 100  # among equals
            if alike > best:
                best, found = alike, (file, call, _shown(call.func), fit_call(rule, call, scope, names))
    if found is None:
        return None
    file, call, text, fit = found
    reason = f", but {fit.reason}" if isinstance(fit, Miss) and f"`{text}`" not in fit.reason else ""
    return f"`{text}` at {file}:{call.lineno}{reason}"


def _names_in(called: ast.expr) -> str:
    """Return the names that stand in what is called, without keys."""
    names: list[str] = []
    while isinstance(called, ast.Attribute | ast.Subscript):
        if isinstance(called, ast.Attribute):
            names.insert(0, called.attr)
        called = called.value
    return ".".join([called.id, *names] if isinstance(called, ast.Name) else names)


def fit_call(rule: CallRule, call: ast.Call, scope: NameScope, names: Names) -> CallSite | Miss:
    """Decide whether a rule fits a call."""
    if rule.qualnames is not None and not rule.qualnames.fits(scope.qualname):
        return Miss(f"it stands in {scope.qualname}, and the rule is for {rule.within}")
    chain = _Chain(call.func, scope)
    if not isinstance(chain.called, ast.Name | ast.Attribute | ast.Subscript):
        return Miss("what it calls is no name, attribute or index")
    fit = _Fit(rule, call, chain)
    reason = _by_text(fit, chain, rule.pattern, names)
    if reason is not None and not any(fit.callee(steps) for steps in chain.resolved()):
        excluded = _excluded(chain, rule.pattern)
        if excluded is not None:
            return Miss(excluded or reason)
        fit.check = rule.pattern.dotted
    elif _is_one_of_several(fit, chain, rule.pattern):
        fit.check = rule.pattern.dotted
    wrong = fit.arguments()
    if wrong is not None:
        return Miss(wrong)
    if chain.last in REFUSED:
        return Miss(f"{chain.last} looks at the frame that calls it, so it can't be woven (refused by name)")
    if chain.is_super:
        return Miss("it calls a method of super(), whose receiver the interpreter makes itself")
    return fit.site(scope)


def _by_text(fit: _Fit, chain: _Chain, pattern: CallPattern, names: Names) -> str | None:
    """Compare a call with a pattern as they are written; gives why they don't agree, None where they do."""
    if not fit.callee(chain.written()):
        return f"it calls `{chain.text}`"
    if isinstance(pattern.root, Metavariable) or chain.root is None:
        return None
    imports = {each.name for each in chain.meanings if each.origin == "import"}
    shown = " or ".join(sorted(each.name for each in chain.meanings))
    other = f"`{pattern.root}` is `{shown}` there"
    if pattern.dotted is not None and pattern.trailers:
        if imports:
            return None if pattern.root in imports else other
        # A local variable that hides a module is not that module.
        outside = {each.name for each in names.module.resolve(pattern.root) if each.origin == "import"}
        return other if pattern.root in outside else None
    if imports and not any(name.rpartition(".")[2] == pattern.root for name in imports):
        return other
    return None


def _is_one_of_several(fit: _Fit, chain: _Chain, pattern: CallPattern) -> bool:
    """Return whether a name may also stand for something else than what a dotted pattern names."""
    if pattern.dotted is None or not pattern.trailers or len(chain.meanings) < 2:
        return False
    resolved = chain.resolved()
    return len(resolved) < len(chain.meanings) or not all(fit.callee(steps) for steps in resolved)


def _excluded(chain: _Chain, pattern: CallPattern) -> str | None:
    """Return why the callee can't turn out to be what a dotted pattern names, if only by ""; None where it may."""
    if pattern.dotted is None or not pattern.trailers:
        return ""
    wanted = pattern.dotted.rpartition(".")[2]
    if chain.called is not chain.root:
        return None if chain.last == wanted else ""
    for meaning in chain.meanings:
        if meaning.origin == "definition" and meaning.name != pattern.dotted:
            return f"`{chain.text}` is `{meaning.name}` there"
    if all(each.origin == "free" for each in chain.meanings):
        return ""
    return None if wanted in {each.name.rpartition(".")[2] for each in chain.meanings} else ""


_Element: TypeAlias = "str | ast.Attribute | ast.Subscript | ast.expr"
"""One step of a callee: a name that an import gives, the node of a trailer, or the expression that it starts from."""


class _Chain:
    """What a call calls: an expression, and the attributes and indices that follow it."""

    def __init__(self, called: ast.expr, scope: NameScope) -> None:
        self.called = called
        self.trailers: list[ast.Attribute | ast.Subscript] = []
        tree = called
        while isinstance(tree, ast.Attribute | ast.Subscript):
            self.trailers.insert(0, tree)
            tree = tree.value
        self.start = tree
        self.root = tree if isinstance(tree, ast.Name) else None
        self.meanings: frozenset[Meaning] = frozenset() if self.root is None else scope.resolve(self.root.id)
        self.text = _shown(called)

    @property
    def last(self) -> str | None:
        """The name that is called, if it has one."""
        if isinstance(self.called, ast.Attribute):
            return self.called.attr
        return self.called.id if isinstance(self.called, ast.Name) else None

    @property
    def is_super(self) -> bool:
        """Whether the receiver is `super()`."""
        start = self.start
        return (
            len(self.trailers) == 1
            and isinstance(start, ast.Call)
            and getattr(start.func, "id", "") == "super"
        )

    def written(self) -> list[_Element]:
        """Return the steps as they are written."""
        return [self.start, *self.trailers]

    def resolved(self) -> list[list[_Element]]:
        """Return the steps with the first name as imports and definitions resolve it."""
        return [
            [*meaning.name.split("."), *self.trailers]
            for meaning in self.meanings
            if meaning.origin != "free"
        ]


class _Fit:
    """One rule at one call."""

    def __init__(self, rule: CallRule, call: ast.Call, chain: _Chain) -> None:
        self.check: str | None = None
        self._rule = rule
        self._call = call
        self._chain = chain
        self._constants: dict[str, str | int] = {}
        self._saved: dict[str, Saved] = {}
        self._arguments: dict[str, int | str] = {}

    # --- the callee ---------------------------------------------------------------------------------------------------

    def callee(self, steps: list[_Element]) -> bool:
        """Compare the steps of a callee with the pattern's."""
        self._constants, self._saved = {}, {}
        pattern = self._rule.pattern
        extra = len(steps) - 1 - len(pattern.trailers)
        if extra < 0 or (extra and not isinstance(pattern.root, Metavariable)):
            return False
        rest = steps[extra + 1 :]
        if isinstance(pattern.root, Metavariable):
            if not rest or isinstance(rest[0], str):
                return False
            self._save(pattern.root.name, "receiver", rest[0])
        elif _name_of(steps[0]) != pattern.root:
            return False
        return all(self._step(own, step) for own, step in zip(pattern.trailers, rest, strict=True))

    def _step(self, own: Attribute | Index, step: _Element) -> bool:
        if isinstance(own, Index):
            return isinstance(step, ast.Subscript) and self._key(own.key, step)
        if isinstance(step, ast.Subscript):
            return False
        name = step.attr if isinstance(step, ast.Attribute) else step
        if isinstance(own.name, Metavariable):
            self._constants[own.name.name] = str(name)
            return True
        return name == own.name

    def _key(self, own: Part, step: ast.Subscript) -> bool:
        key = step.slice
        if isinstance(key, ast.Slice):
            return False
        if isinstance(own, Metavariable):
            value = key.value if isinstance(key, ast.Constant) else None
            if type(value) is str or type(value) is int:
                self._constants[own.name] = value
            else:
                self._save(own.name, "key", step)
            return True
        return isinstance(own, Anything) or ast.dump(key) == own.tree

    def _save(self, name: str, of: Literal["receiver", "key"], step: _Element) -> None:
        if name in self._rule.needed and isinstance(step, ast.Attribute | ast.Subscript):
            self._saved[name] = Saved(name, of, _places(step))

    # --- the arguments ------------------------------------------------------------------------------------------------

    def arguments(self) -> str | None:
        """Compare the arguments; gives why they don't fit."""
        pattern, given = self._rule.pattern, self._call.args
        needed = len(pattern.positional)
        if any(isinstance(each, ast.Starred) for each in given[:needed]):
            return "its first arguments are unpacked, so which they are is not known"
        if len(given) < needed or (len(given) > needed and not pattern.is_open):
            return f"it has {len(given)} positional arguments, and the pattern {needed}"
        for index, (own, value) in enumerate(zip(pattern.positional, given, strict=False)):
            if not self._argument(own, value, index):
                return f"its argument {index + 1} is `{_shown(value)}`"
        keywords = {each.arg: each.value for each in self._call.keywords}
        for name, own in pattern.keywords:
            if name not in keywords:
                return f"its argument `{name}` is not given by name"
            if not self._argument(own, keywords[name], name):
                return f"its argument `{name}` is `{_shown(keywords[name])}`"
        if not pattern.is_open and len(keywords) > len(pattern.keywords):
            return "it has more arguments than the pattern, which doesn't end with `...`"
        return None

    def _argument(self, own: Part, value: ast.expr, at: int | str) -> bool:
        if isinstance(own, Metavariable):
            self._arguments[own.name] = at
            return True
        return isinstance(own, Spelled) and ast.dump(value) == own.tree

    # --- what comes of it ---------------------------------------------------------------------------------------------

    def site(self, scope: NameScope) -> CallSite:
        """Return the site, with what is needed of the metavariables."""
        needed, call, called = self._rule.needed, self._call, self._chain.called
        calls = [_position(call)]
        if isinstance(called, ast.Attribute):
            start = _end_of_name(called)
            calls.append((start[0], calls[0][1], start[2], calls[0][3]))
        return CallSite(
            rule=self._rule.rule,
            qualname=scope.qualname,
            line=call.lineno,
            source=self._chain.text,
            form=_FORMS[type(called)],
            callee=_places(called),
            calls=tuple(calls),
            constants=tuple((name, value) for name, value in self._constants.items() if name in needed),
            saved=tuple(self._saved.values()),
            arguments=tuple((name, at) for name, at in self._arguments.items() if name in needed),
            check=self.check,
            weight=self._rule.weight,
        )


_FORMS: dict[type, Literal["name", "attribute", "subscript"]] = {
    ast.Name: "name",
    ast.Attribute: "attribute",
    ast.Subscript: "subscript",
}


def _name_of(step: _Element) -> str | None:
    if isinstance(step, str):
        return step
    return step.id if isinstance(step, ast.Name) else None


def _position(node: ast.expr) -> Position:
    line, column = node.end_lineno, node.end_col_offset
    assert line is not None  # noqa: S101 - what was parsed has an end
    assert column is not None  # noqa: S101
    return node.lineno, line, node.col_offset, column


def _end_of_name(node: ast.Attribute) -> Position:
    """Return where the name of an attribute itself stands: instructions say so where it is on another line."""
    _, line, _, end = _position(node)
    return line, line, end - len(node.attr.encode()), end


def _places(node: ast.expr) -> tuple[Position, ...]:
    where = _position(node)
    return (where, _end_of_name(node)) if isinstance(node, ast.Attribute) else (where,)


def _shown(node: ast.expr) -> str:
    text = ast.unparse(node).replace("\n", " ")
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
