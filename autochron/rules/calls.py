"""Patterns of calls: `TOOLS[$tool](...)`, `broker.client.sell(...)`, `self.$method(...)`.

A pattern is a Python call in which `$name` stands for any name, key, receiver or argument, and `...` for any further
arguments, or for any key. Patterns are parsed here; `matching` finds the calls of a program that they fit.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from autochron._runtime.lazy import late

if TYPE_CHECKING:
    import ast

REFUSED = frozenset(
    {
        *("super", "locals", "globals", "vars", "dir", "eval", "exec", "__import__", "breakpoint"),
        *("_getframe", "_getframemodulename", "currentframe", "stack", "warn", "warn_explicit"),
        *("namedtuple", "NewType", "TypeVar", "ParamSpec", "TypeVarTuple", "TypedDict", "NamedTuple"),
        *("make_dataclass", "Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"),
    }
)
"""Names of callables that look at their caller's frame. In a bound call that would be one of ours."""

_WORD = late(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\$(\w*)""")
_MARK = "_autochron_metavariable_"
_REST = late(r",\s*\.\.\.\s*\)\s*$")
"""`...` behind keyword arguments, where Python's grammar does not allow it."""


class Metavariable(Struct, frozen=True):
    """`$name`: any name, key, receiver or argument."""

    name: str


class Anything(Struct, frozen=True):
    """`...`: any key, or any further arguments."""


class Spelled(Struct, frozen=True):
    """An expression that the call must have as it is written."""

    tree: str
    """Its syntax tree, as `ast.dump` writes it."""


Part: TypeAlias = Metavariable | Anything | Spelled


class Attribute(Struct, frozen=True):
    """`.name` in the callee."""

    name: str | Metavariable


class Index(Struct, frozen=True):
    """`[key]` in the callee."""

    key: Part


class CallPattern(Struct, frozen=True):
    """A parsed pattern."""

    text: str
    root: str | Metavariable
    """The name at the beginning of the callee, before its attributes and indices."""
    trailers: tuple[Attribute | Index, ...]
    positional: tuple[Part, ...]
    keywords: tuple[tuple[str, Part], ...]
    is_open: bool
    """Whether further arguments may follow."""
    metavariables: tuple[str, ...]

    @property
    def dotted(self) -> str | None:
        """The dotted name of the callee; None if it has an index or a metavariable."""
        if isinstance(self.root, Metavariable):
            return None
        names = [self.root]
        for trailer in self.trailers:
            if isinstance(trailer, Index) or isinstance(trailer.name, Metavariable):
                return None
            names.append(trailer.name)
        return ".".join(names)

    @property
    def words(self) -> tuple[str, ...]:
        """The names that it spells out. A call that it fits has all of them in its source, or at least the last one."""
        fixed = [] if isinstance(self.root, Metavariable) else [self.root]
        fixed += [
            trailer.name
            for trailer in self.trailers
            if isinstance(trailer, Attribute) and isinstance(trailer.name, str)
        ]
        return tuple(fixed)


class CallPatternError(ValueError):
    """A pattern is not valid. The message is a predicate, such as "is no call"."""


@lru_cache(maxsize=256)
def call_pattern(text: str) -> CallPattern:
    """Parse a pattern.

    Raises:
        CallPatternError: it is not valid.
    """
    import ast  # lazy: only rules for call sites need it

    metavariables: list[str] = []

    def mark(match: re.Match[str]) -> str:
        quoted, name = match.groups()
        if quoted is not None:
            return str(quoted)
        if not name.isidentifier():
            raise CallPatternError("has a `$` without a name; write `$tool`")
        if name in metavariables:
            raise CallPatternError(f"binds `${name}` twice; give one of them another name")
        metavariables.append(name)
        return f"{_MARK}{name}"

    try:
        marked = _REST.sub(f", **{_MARK})", _WORD.sub(mark, text).strip())
        tree = ast.parse(marked, mode="eval").body
    except (SyntaxError, ValueError) as error:
        if isinstance(error, CallPatternError):
            raise
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise CallPatternError(f"doesn't parse: {reason.replace(_MARK, '$')}") from None
    if not isinstance(tree, ast.Call):
        nearest = f"{text.strip()}(...)" if isinstance(tree, ast.Name | ast.Attribute | ast.Subscript) else ""
        raise CallPatternError(
            f"is no call; nearest is `{nearest}`: it is a pattern, and has parentheses; a bare name is for kind `ambient`"
            if nearest
            else "is no call, such as `TOOLS[$tool](...)`"
        )
    return _call(text, tree, tuple(metavariables))


def _call(text: str, tree: ast.Call, metavariables: tuple[str, ...]) -> CallPattern:
    import ast  # lazy: see above

    root, trailers = _callee(tree.func)
    if any(isinstance(argument, ast.Starred) for argument in tree.args):
        raise CallPatternError("unpacks arguments; `...` stands for any of them")
    positional = [_part(argument) for argument in tree.args]
    keywords = [(keyword.arg, keyword.value) for keyword in tree.keywords]
    is_open = Anything() in positional
    if keywords and keywords[-1][0] is None and getattr(keywords[-1][1], "id", None) == _MARK:
        is_open = keywords.pop() is not None
    if positional.count(Anything()) > 1 or (Anything() in positional and positional[-1] != Anything()):
        raise CallPatternError("has arguments after `...`; it stands for all that follow")
    if any(name is None for name, _ in keywords):
        raise CallPatternError("unpacks arguments; `...` stands for any of them")
    pattern = CallPattern(
        text=text,
        root=root,
        trailers=tuple(trailers),
        positional=tuple(part for part in positional if part != Anything()),
        keywords=tuple((str(name), _part(value)) for name, value in keywords),
        is_open=is_open,
        metavariables=metavariables,
    )
    _check(pattern)
    return pattern


def _check(pattern: CallPattern) -> None:
    if not pattern.words:
        raise CallPatternError(
            "names nothing that is called, so it would fit nearly every call; spell out a name"
        )
    last = pattern.trailers[-1] if pattern.trailers else Attribute(pattern.root)
    if isinstance(last, Attribute) and last.name in REFUSED:
        raise CallPatternError(
            f"is for `{last.name}`, which looks at the frame that calls it, so it can't be woven"
        )


def _callee(tree: ast.expr) -> tuple[str | Metavariable, list[Attribute | Index]]:
    import ast  # lazy: see above

    trailers: list[Attribute | Index] = []
    while True:
        match tree:
            case ast.Attribute(value=value, attr=attr):
                trailers.insert(0, Attribute(_name(attr)))
                tree = value
            case ast.Subscript(value=value, slice=key):
                trailers.insert(0, Index(_part(key)))
                tree = value
            case ast.Name(id=name):
                return _name(name), trailers
            case _:
                raise CallPatternError(
                    "calls something other than names, attributes and `[…]`; for any receiver write `$x`, as in `$x.run(...)`"
                )


def _name(name: str) -> str | Metavariable:
    return Metavariable(name.removeprefix(_MARK)) if name.startswith(_MARK) else name


def _part(tree: ast.expr) -> Part:
    import ast  # lazy: see above

    if isinstance(tree, ast.Constant) and tree.value is Ellipsis:
        return Anything()
    if isinstance(tree, ast.Name) and tree.id.startswith(_MARK):
        return Metavariable(tree.id.removeprefix(_MARK))
    text = ast.dump(tree)
    if _MARK in text:
        raise CallPatternError(
            "has a metavariable inside an expression; it stands for a whole name, key or argument"
        )
    return Spelled(text)
