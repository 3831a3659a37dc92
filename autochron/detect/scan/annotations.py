"""Values by their annotations."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeAlias

from autochron.detect.scan.abstract_values import (
    NUMBERS,
    Holding,
    Instance,
    Known,
    Plain,
    Produced,
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

_MAPPINGS = frozenset(
    {
        "builtins.dict", "typing.Dict", "typing.Mapping", "typing.MutableMapping", "collections.abc.Mapping",
        "collections.abc.MutableMapping", "collections.defaultdict", "typing.DefaultDict", "collections.OrderedDict",
    }
)  # fmt: skip
_SEQUENCES = frozenset(
    {
        "builtins.list", "typing.List", "typing.Sequence", "typing.Iterable", "typing.Iterator", "collections.abc.Sequence",
        "collections.abc.Iterable", "collections.abc.Iterator", "collections.deque",
    }
)  # fmt: skip


def annotated(values: Reader, annotation: ast.expr, spot: Spot, texts: dict[int, ast.expr | None]) -> Values:
    """Return the values that an annotation allows; nothing if it says nothing of use.

    Args:
        values: evaluates an expression.
        annotation: the annotation, also one written as a string.
        spot: where it is evaluated.
        texts: the parsed annotations of strings, by the id of their node. New ones are added.
    """
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
    allowed: list[Value] = []
    for value in values(base, spot):
        allowed += _allowed_by(values, value, inner, spot, texts)
    return tuple(allowed)


def _allowed_by(
    values: Reader, value: Value, inner: ast.expr | None, spot: Spot, texts: dict[int, ast.expr | None]
) -> Values:
    """Return the values that one meaning of an annotation allows; `inner` is what its brackets hold."""
    if isinstance(value, Type):
        return (Instance(value.scope),)
    if not isinstance(value, Known):
        return ()
    name = value.name
    last = name.rpartition(".")[2]
    if name in SETS:
        elements = annotated(values, inner, spot, texts) if inner is not None else ()
        return (
            Set(
                is_stable=bool(elements)
                and all(isinstance(element, Plain) and element.type in NUMBERS for element in elements)
            ),
        )
    if (
        name in ("typing.Optional", "typing.Annotated", "typing.Final", "typing.ClassVar")
        and inner is not None
    ):
        first = inner.elts[0] if isinstance(inner, ast.Tuple) and inner.elts else inner
        return annotated(values, first, spot, texts)
    if name == "typing.Union" and isinstance(inner, ast.Tuple):
        return tuple(allowed for part in inner.elts for allowed in annotated(values, part, spot, texts))
    last_inner = (
        inner.elts[-1] if isinstance(inner, ast.Tuple) and inner.elts and name in _MAPPINGS else inner
    )
    if last_inner is not None and name in (*_MAPPINGS, *_SEQUENCES):
        held = annotated(values, last_inner, spot, texts)
        if held and all(isinstance(value, Plain) and value.type in NUMBERS for value in held):
            return (Holding(held),)
        if any(
            isinstance(value, Set | Instance | Produced | Holding) or is_callable(value) for value in held
        ):
            return (Holding(held),)
    if name in ("builtins.str", "builtins.bytes"):
        return (Text(),)
    if name.startswith("builtins."):
        return (Plain(last),)
    if name.startswith(("typing.", "collections.abc.")):
        return (Unknown(name),)
    return (Produced(name),)


def is_callable(value: Value) -> bool:
    """Return whether an annotation says of a value only that it can be called."""
    return isinstance(value, Unknown) and value.why in ("typing.Callable", "collections.abc.Callable")


def _parsed(node: ast.expr, text: str, texts: dict[int, ast.expr | None]) -> ast.expr | None:
    """Parse the text of an annotation once. Values are cached by the id of nodes, so the nodes are kept alive."""
    if id(node) not in texts:
        try:
            texts[id(node)] = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError):
            texts[id(node)] = None
    return texts[id(node)]


def is_plain_annotation(node: ast.expr) -> bool:
    """Return whether an annotation only names types."""
    kind = node.__class__
    if kind is ast.Name or kind is ast.Constant or kind is ast.Attribute:
        return True
    match node:
        case ast.Subscript(value=value, slice=inner):
            return is_plain_annotation(inner) and is_plain_annotation(value)
        case ast.BinOp(left=left, right=right):
            return is_plain_annotation(left) and is_plain_annotation(right)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return all(map(is_plain_annotation, parts))
    return False
