"""Find the calls of a module that a pattern fits, by the names that imports resolve to. Reads the source with `ast`.

Not libcst: `ast` has the byte columns of code objects, so that every call of the standard library was joined to its CALL
instruction on all supported Python versions. With `scopes` it resolves names as well, and it takes a tenth of the time.
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
    """Return every call site of a module that a rule fits.

    Raises:
        SyntaxError: the source doesn't parse.
        ValueError: the source has null bytes.
        RecursionError: the source is nested too deeply.
    """
    names = Names(ast.parse(source), module, is_package=is_package)
    matches = []
    for call, scope in names.calls:
        for rule in rules:
            fit = fit_call(rule, call, scope, names)
            if isinstance(fit, CallSite):
                matches.append(fit)
    return matches


def nearest_call(rule: CallRule, sources: Iterable[tuple[str, str, bytes]]) -> str | None:
    """Return a text about the call that is most similar to a rule's pattern; None if none is similar.

    It has the call, its place, and why the rule doesn't fit it.

    Args:
        rule: one that fits no call.
        sources: (module, file as messages show it, source) of the modules to search.
    """
    from difflib import SequenceMatcher  # lazy: only a rule without a match needs it

    pattern_name = ".".join(rule.pattern.words)
    best, nearest = 0.6, None
    for module, file, source in sources:
        try:
            names = Names(ast.parse(source), module, is_package=file.endswith("__init__.py"))
        except (SyntaxError, ValueError, RecursionError):
            continue
        for call, scope in names.calls:
            callee_name = _names_in(call.func)
            last = SequenceMatcher(None, rule.pattern.words[-1], callee_name.rpartition(".")[2]).ratio()
            similarity = (last + SequenceMatcher(None, pattern_name, callee_name).ratio()) / 2
            # The arguments decide between calls with equally similar callees.
            similarity += SequenceMatcher(None, rule.pattern.text, ast.unparse(call)).ratio() / 100
            if similarity > best:
                best, nearest = (
                    similarity,
                    (file, call, _shown(call.func), fit_call(rule, call, scope, names)),
                )
    if nearest is None:
        return None
    file, call, text, fit = nearest
    reason = f", but {fit.reason}" if isinstance(fit, Miss) and f"`{text}`" not in fit.reason else ""
    return f"`{text}` at {file}:{call.lineno}{reason}"


def _names_in(called: ast.expr) -> str:
    """Return the names in a callee's expression, joined by dots and without its keys."""
    names: list[str] = []
    while isinstance(called, ast.Attribute | ast.Subscript):
        if isinstance(called, ast.Attribute):
            names.insert(0, called.attr)
        called = called.value
    return ".".join([called.id, *names] if isinstance(called, ast.Name) else names)


def fit_call(rule: CallRule, call: ast.Call, scope: NameScope, names: Names) -> CallSite | Miss:
    """Return the call site if a rule fits a call, else the reason why it doesn't.

    Args:
        rule: the rule.
        call: the call.
        scope: the scope that the call is made in.
        names: the module's names.
    """
    if rule.qualnames is not None and not rule.qualnames.fits(scope.qualname):
        return Miss(f"it is in {scope.qualname}, and the rule is for {rule.within}")
    chain = _Chain(call.func, scope)
    if not isinstance(chain.called, ast.Name | ast.Attribute | ast.Subscript):
        return Miss("what it calls is no name, attribute or index")
    fit = _Fit(rule, call, chain)
    reason = _text_mismatch(fit, chain, rule.pattern, names)
    if reason is not None and not any(fit.fits_callee(steps) for steps in chain.resolved()):
        exclusion = _exclusion(chain, rule.pattern)
        if exclusion is not None:
            return Miss(exclusion or reason)
        fit.check = rule.pattern.dotted
    elif _is_one_of_several(fit, chain, rule.pattern):
        fit.check = rule.pattern.dotted
    mismatch = fit.argument_mismatch()
    if mismatch is not None:
        return Miss(mismatch)
    if chain.last in REFUSED:
        return Miss(f"{chain.last} looks at the frame that calls it, so it can't be woven (refused by name)")
    if chain.is_super:
        return Miss("it calls a method of super(), and the interpreter itself makes the receiver")
    return fit.site(scope)


def _text_mismatch(fit: _Fit, chain: _Chain, pattern: CallPattern, names: Names) -> str | None:
    """Compare a call and a pattern as they are written; return the reason why they differ, None if they don't."""
    if not fit.fits_callee(chain.written()):
        return f"it calls `{chain.text}`"
    if isinstance(pattern.root, Metavariable) or chain.root is None:
        return None
    imports = {meaning.name for meaning in chain.meanings if meaning.origin == "import"}
    meanings = " or ".join(sorted(meaning.name for meaning in chain.meanings))
    mismatch = f"`{pattern.root}` is `{meanings}` there"
    if pattern.dotted is not None and pattern.trailers:
        if imports:
            return None if pattern.root in imports else mismatch
        # A local variable that shadows a module is not that module.
        module_names = {
            meaning.name for meaning in names.module.resolve(pattern.root) if meaning.origin == "import"
        }
        return mismatch if pattern.root in module_names else None
    if imports and not any(name.rpartition(".")[2] == pattern.root for name in imports):
        return mismatch
    return None


def _is_one_of_several(fit: _Fit, chain: _Chain, pattern: CallPattern) -> bool:
    """Return whether a name may refer to several objects, not all of which a dotted pattern names."""
    if pattern.dotted is None or not pattern.trailers or len(chain.meanings) < 2:
        return False
    resolved = chain.resolved()
    return len(resolved) < len(chain.meanings) or not all(fit.fits_callee(steps) for steps in resolved)


def _exclusion(chain: _Chain, pattern: CallPattern) -> str | None:
    """Return why the callee can't be what a dotted pattern names, or "" without a reason; None if it may be at run time."""
    if pattern.dotted is None or not pattern.trailers:
        return ""
    wanted = pattern.dotted.rpartition(".")[2]
    if chain.called is not chain.root:
        return None if chain.last == wanted else ""
    for meaning in chain.meanings:
        if meaning.origin == "definition" and meaning.name != pattern.dotted:
            return f"`{chain.text}` is `{meaning.name}` there"
    if all(meaning.origin == "free" for meaning in chain.meanings):
        return ""
    return None if wanted in {meaning.name.rpartition(".")[2] for meaning in chain.meanings} else ""


_Element: TypeAlias = "str | ast.Attribute | ast.Subscript | ast.expr"
"""One step of a callee: a name that an import resolves to, the node of a trailer, or the expression at the beginning."""


class _Chain:
    """A callee's expression: what it starts from, and the attributes and indices that follow.

    Attributes:
        called: the whole expression.
        trailers: the attributes and indices, from left to right.
        start: the expression before the first trailer.
        root: that expression if it is a name; else None.
        meanings: what the root may refer to.
        text: the source of the whole, shortened.
    """

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
        """The name or the attribute that is called; None for an index."""
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
        """Return the steps once for each meaning of the root, with the root replaced by the meaning's dotted name."""
        return [
            [*meaning.name.split("."), *self.trailers]
            for meaning in self.meanings
            if meaning.origin != "free"
        ]


class _Fit:
    """The comparison of one rule with one call, which collects the values of metavariables.

    Attributes:
        check: what the site's `check` becomes: the dotted name that the callee must have at run time, or None.
    """

    def __init__(self, rule: CallRule, call: ast.Call, chain: _Chain) -> None:
        self.check: str | None = None
        self._rule = rule
        self._call = call
        self._chain = chain
        self._constants: dict[str, str | int] = {}
        self._saved: dict[str, Saved] = {}
        self._arguments: dict[str, int | str] = {}

    # --- the callee ---------------------------------------------------------------------------------------------------

    def fits_callee(self, steps: list[_Element]) -> bool:
        """Return whether the steps of a callee fit the pattern's."""
        self._constants, self._saved = {}, {}
        pattern = self._rule.pattern
        extra = len(steps) - 1 - len(pattern.trailers)
        if extra < 0 or (extra and not isinstance(pattern.root, Metavariable)):
            return False
        trailers = steps[extra + 1 :]
        if isinstance(pattern.root, Metavariable):
            if not trailers or isinstance(trailers[0], str):
                return False
            self._save(pattern.root.name, "receiver", trailers[0])
        elif _name_of(steps[0]) != pattern.root:
            return False
        return all(self._step(part, step) for part, step in zip(pattern.trailers, trailers, strict=True))

    def _step(self, part: Attribute | Index, step: _Element) -> bool:
        if isinstance(part, Index):
            return isinstance(step, ast.Subscript) and self._key(part.key, step)
        if isinstance(step, ast.Subscript):
            return False
        name = step.attr if isinstance(step, ast.Attribute) else step
        if isinstance(part.name, Metavariable):
            self._constants[part.name.name] = str(name)
            return True
        return name == part.name

    def _key(self, part: Part, step: ast.Subscript) -> bool:
        key = step.slice
        if isinstance(key, ast.Slice):
            return False
        if isinstance(part, Metavariable):
            value = key.value if isinstance(key, ast.Constant) else None
            if type(value) is str or type(value) is int:
                self._constants[part.name] = value
            else:
                self._save(part.name, "key", step)
            return True
        return isinstance(part, Anything) or ast.dump(key) == part.tree

    def _save(self, name: str, role: Literal["receiver", "key"], step: _Element) -> None:
        if name in self._rule.needed and isinstance(step, ast.Attribute | ast.Subscript):
            self._saved[name] = Saved(name, role, _places(step))

    # --- the arguments ------------------------------------------------------------------------------------------------

    def argument_mismatch(self) -> str | None:
        """Return why the call's arguments don't fit the pattern; None if they do."""
        pattern, arguments = self._rule.pattern, self._call.args
        needed = len(pattern.positional)
        if any(isinstance(argument, ast.Starred) for argument in arguments[:needed]):
            return "its first arguments are unpacked with `*`, so they are not known"
        if len(arguments) < needed or (len(arguments) > needed and not pattern.is_open):
            return f"it has {len(arguments)} positional arguments, and the pattern {needed}"
        for index, (part, value) in enumerate(zip(pattern.positional, arguments, strict=False)):
            if not self._argument(part, value, index):
                return f"its argument {index + 1} is `{_shown(value)}`"
        keywords = {keyword.arg: keyword.value for keyword in self._call.keywords}
        for name, part in pattern.keywords:
            if name not in keywords:
                return f"its argument `{name}` is not given by name"
            if not self._argument(part, keywords[name], name):
                return f"its argument `{name}` is `{_shown(keywords[name])}`"
        if not pattern.is_open and len(keywords) > len(pattern.keywords):
            return "it has more arguments than the pattern, which doesn't end with `...`"
        return None

    def _argument(self, part: Part, value: ast.expr, position: int | str) -> bool:
        if isinstance(part, Metavariable):
            self._arguments[part.name] = position
            return True
        return isinstance(part, Spelled) and ast.dump(value) == part.tree

    # --- the result ---------------------------------------------------------------------------------------------

    def site(self, scope: NameScope) -> CallSite:
        """Return the call site, with the metavariables that the crossing's name needs."""
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
            arguments=tuple((name, position) for name, position in self._arguments.items() if name in needed),
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
    """Return the position of an attribute's name alone, which instructions have if the name is on a line of its own."""
    _, line, _, end = _position(node)
    return line, line, end - len(node.attr.encode()), end


def _places(node: ast.expr) -> tuple[Position, ...]:
    where = _position(node)
    return (where, _end_of_name(node)) if isinstance(node, ast.Attribute) else (where,)


def _shown(node: ast.expr) -> str:
    text = ast.unparse(node).replace("\n", " ")
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
