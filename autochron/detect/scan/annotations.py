"""What annotations say of values."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeAlias

from autochron.detect.scan.abstract_values import (
    NUMBERS,
    Instance,
    Known,
    Made,
    Plain,
    Set,
    Text,
    Type,
    Unknown,
    Value,
)
from autochron.detect.scan.flow import Spot

Values: TypeAlias = tuple[Value, ...]
Reader: TypeAlias = Callable[[ast.expr, Spot], Values]

SETS = frozenset(
    f"{module}.{name}"
    for module, names in {
        "builtins": ("set", "frozenset"),
        "typing": ("Set", "FrozenSet", "AbstractSet", "MutableSet"),
        "collections.abc": ("Set", "MutableSet"),
    }.items()
    for name in names
)


def annotated(values: Reader, annotation: ast.expr, spot: Spot, texts: dict[int, ast.expr | None]) -> Values:
    """Return what an annotation says; nothing where it says nothing of use."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        parsed = _parsed(annotation, annotation.value, texts)
        if parsed is None:
            return ()
        annotation = parsed
    if isinstance(annotation, ast.BinOp):
        return (
            *annotated(values, annotation.left, spot, texts),
            *annotated(values, annotation.right, spot, texts),
        )
    if isinstance(annotation, ast.Constant):
        return (Plain("NoneType"),) if annotation.value is None else ()
    base, inner = annotation, None
    if isinstance(annotation, ast.Subscript):
        base, inner = annotation.value, annotation.slice
    if not isinstance(base, ast.Name | ast.Attribute):
        return ()
    found: list[Value] = []
    for value in values(base, spot):
        found += _meant(values, value, inner, spot, texts)
    return tuple(found)


def _meant(
    values: Reader, value: Value, inner: ast.expr | None, spot: Spot, texts: dict[int, ast.expr | None]
) -> Values:
    if isinstance(value, Type):
        return (Instance(value.scope),)
    if not isinstance(value, Known):
        return ()
    name = value.name
    last = name.rpartition(".")[2]
    if name in SETS:
        of = annotated(values, inner, spot, texts) if inner is not None else ()
        return (
            Set(is_stable=bool(of) and all(isinstance(each, Plain) and each.type in NUMBERS for each in of)),
        )
    if (
        name in ("typing.Optional", "typing.Annotated", "typing.Final", "typing.ClassVar")
        and inner is not None
    ):
        first = inner.elts[0] if isinstance(inner, ast.Tuple) and inner.elts else inner
        return annotated(values, first, spot, texts)
    if name == "typing.Union" and isinstance(inner, ast.Tuple):
        return tuple(each for part in inner.elts for each in annotated(values, part, spot, texts))
    if name in ("builtins.str", "builtins.bytes"):
        return (Text(),)
    if name.startswith("builtins."):
        return (Plain(last),)
    if name.startswith(("typing.", "collections.abc.")):
        return (Unknown(name),)
    return (Made(name),)


def _parsed(node: ast.expr, text: str, texts: dict[int, ast.expr | None]) -> ast.expr | None:
    """Parse an annotation once: values are kept by the identity of nodes, so it has to live on."""
    if id(node) not in texts:
        try:
            texts[id(node)] = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError):
            texts[id(node)] = None
    return texts[id(node)]
