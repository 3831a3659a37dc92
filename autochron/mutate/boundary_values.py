"""Other inputs for a guard: what was recorded, with one value changed, at the edges of the guard's own constants.

A recording exercises one input, and a guard that is wrong elsewhere passes. Where the values come from: the numbers and
texts that the guard is written with, those that the names in it mean (a threshold of a module, the prices in a table),
and from each what lies just beside it. All of it follows from the source and the record, so that the same study has the
same inputs.
"""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple

_NUMBERS = (int, float, Decimal)
_DEPTH = 3
"""How deep a table of constants, or a recorded value, is looked into."""

_OF_TABLE = 8
"""How many numbers, and how many texts, of one table are taken."""


class Constant(NamedTuple):
    """A value that the guard knows, and where from."""

    value: Any
    source: str


class Constants(NamedTuple):
    """What the guard knows."""

    numbers: tuple[Constant, ...]
    texts: tuple[Constant, ...]


class Candidate(NamedTuple):
    """An input: all arguments, what of them was changed, and where the value comes from."""

    argument: str
    value: Any
    source: str
    arguments: dict[str, Any]


def constants_of(source: str, file: str, function: str, names: Mapping[str, Any]) -> Constants:
    """Return what a function of a source knows; `names` are the globals of its module.

    Raises:
        LookupError: the source has no such function.
    """
    node = _definition(ast.parse(source), function.split("."))
    numbers: dict[Any, str] = {}
    texts: dict[str, str] = {}

    def add(value: Any, where: str) -> None:
        if isinstance(value, str):
            if value and len(value) < 200:
                texts.setdefault(str.__str__(value), where)
        # What is no number equals nothing, itself neither.
        elif isinstance(value, _NUMBERS) and not isinstance(value, bool) and value == value:  # noqa: PLR0124
            numbers.setdefault(_kind_of(value)(value), where)

    for each in _inner(node):
        if isinstance(each, ast.Constant):
            add(each.value, f"{each.value!r} in {file}:{each.lineno}")
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and each.id in names:
            found = names[each.id]
            for path, value in _leaves(found, each.id, _DEPTH):
                add(
                    value,
                    f"{path} in {file}:{each.lineno}"
                    if path == each.id
                    else f"{path}, named in {file}:{each.lineno}",
                )
    return Constants(
        tuple(Constant(value, where) for value, where in numbers.items()),
        tuple(Constant(value, where) for value, where in texts.items()),
    )


def _definition(tree: ast.AST, path: Sequence[str]) -> ast.AST:
    for step in path:
        if step == "<locals>":
            continue
        tree = next(
            each
            for each in ast.walk(tree)
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and each.name == step
        )
    return tree


def _inner(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what stands in the body, without its docstring and without formatted text."""
    body: list[ast.AST] = list(getattr(node, "body", ()))
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    ahead = body
    while ahead:
        each = ahead.pop(0)
        yield each
        if not isinstance(each, ast.JoinedStr):
            ahead = [*ast.iter_child_nodes(each), *ahead]


def _leaves(value: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the numbers and texts of a value, the first few of each table; keys are texts, too."""
    if isinstance(value, str | int | float | Decimal):
        yield path, value
        return
    if not depth:
        return
    if isinstance(value, Mapping):
        few = list(value.items())[:_OF_TABLE]
        for key in (key for key, _ in few if isinstance(key, str)):
            yield f"a key of {path}", key
        for key, inner in few:
            yield from _leaves(inner, f"{path}[{key!r}]", depth - 1)
    elif isinstance(value, list | tuple | set | frozenset):
        members = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        for at, inner in enumerate(list(members)[:_OF_TABLE]):
            yield from _leaves(inner, f"{path}[{at}]", depth - 1)
    elif hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        for name in value.__dataclass_fields__:
            yield from _leaves(getattr(value, name, None), f"{path}.{name}", depth - 1)


# --- inputs --------------------------------------------------------------------------------------------------------------


def candidates(arguments: Mapping[str, Any], constants: Constants, most: int) -> list[Candidate]:
    """Return the recorded input and others, each with one value changed: at most so many, each argument with its share."""
    recorded = dict(arguments)
    found = [Candidate("", None, "recorded", recorded)]
    shares = [list(_varied(name, value, recorded, constants)) for name, value in arguments.items()]
    seen = {_key(recorded)}
    while any(shares) and len(found) < most:
        for share in shares:
            while share:
                each = share.pop(0)
                if _key(each.arguments) not in seen:
                    seen.add(_key(each.arguments))
                    found.append(each)
                    break
            if len(found) >= most:
                break
    return found


def _key(arguments: Mapping[str, Any]) -> str:
    return repr(arguments)


def _varied(name: str, value: Any, recorded: dict[str, Any], constants: Constants) -> Iterator[Candidate]:
    for path, new, source in _others(name, value, constants, _DEPTH):
        yield Candidate(path, new[0], source, recorded | {name: new[1]})


def _others(
    path: str, value: Any, constants: Constants, depth: int
) -> Iterator[tuple[str, tuple[Any, Any], str]]:
    """Yield other values in one place: the path, (what is new there, the whole with it), and where it comes from."""
    for new, source in _plain(value, constants):
        yield path, (new, new), source
    if not depth:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            without = {other: each for other, each in value.items() if other != key}
            yield f"{path}[{key!r}]", ("(left out)", without), "left out"
            for where, (new, whole), source in _others(f"{path}[{key!r}]", inner, constants, depth - 1):
                yield where, (new, {**value, key: whole}), source
    elif isinstance(value, list | tuple):
        kind = type(value) if type(value) in {list, tuple} else list
        yield path, ("(empty)", kind()), "empty"
        for at, inner in enumerate(value[:_OF_TABLE]):
            rest = [*value[:at], *value[at + 1 :]]
            if rest:
                yield f"{path}[{at}]", ("(left out)", kind(rest)), "left out"
            for where, (new, whole), source in _others(f"{path}[{at}]", inner, constants, depth - 1):
                yield where, (new, kind([*value[:at], whole, *value[at + 1 :]])), source
        for text in constants.texts if all(isinstance(each, str) for each in value) else ():
            if text.value not in value:
                yield path, (text.value, kind([*value, text.value])), f"with {text.source}"


def _plain(value: Any, constants: Constants) -> Iterable[tuple[Any, str]]:
    if isinstance(value, bool):
        return [(not value, "the other one")]
    if isinstance(value, Enum):
        return [(each, "another of its members") for each in type(value) if each is not value][:_OF_TABLE]
    if isinstance(value, _NUMBERS):
        return _numbers(value, constants)
    if isinstance(value, str):
        return _texts(value, constants)
    if value is None:
        return [
            *((each.value, each.source) for each in (*constants.texts[:4], *constants.numbers[:4])),
            ("", "empty"),
            (0, "zero"),
        ]
    return ()


def _numbers(value: Any, constants: Constants) -> Iterator[tuple[Any, str]]:
    kind = _kind_of(value)
    step = kind(1)
    for constant in constants.numbers:
        each = _as(kind, constant.value)
        if each is not None:
            yield each, constant.source
            yield each + step, f"{constant.source}, plus 1"
            yield each - step, f"{constant.source}, minus 1"
            if kind is float:
                yield each + 0.01, f"{constant.source}, plus 0.01"
                yield each - 0.01, f"{constant.source}, minus 0.01"
    for edge, source in ((0, "zero"), (1, "one"), (-1, "minus one")):
        yield kind(edge), source
    yield -value, "its negative"
    yield value + step, "plus 1"
    yield value - step, "minus 1"
    for one in constants.numbers:
        for other in constants.numbers:
            if one is not other and other.value:
                quotient = _as(kind, _divided(one.value, other.value))
                if quotient is not None and quotient not in {0, 1}:
                    yield quotient, f"{one.source}, divided by {other.source}"
                    yield quotient + step, f"{one.source}, divided by {other.source}, plus 1"


def _kind_of(value: Any) -> type[Any]:
    """Return the plain type of a number, which may be of an enumeration, or of somebody's own class."""
    return next(each for each in _NUMBERS if isinstance(value, each))


def _divided(one: Any, other: Any) -> Any:
    try:
        return float(one) / float(other)
    except (OverflowError, ZeroDivisionError):
        return 0


def _as(kind: type, value: Any) -> Any:
    try:
        return kind(value)
    except (ValueError, OverflowError, ArithmeticError, TypeError):
        return None


def _texts(value: str, constants: Constants) -> Iterator[tuple[str, str]]:
    for constant in constants.texts:
        if constant.value != value:
            yield constant.value, constant.source
    yield "", "empty"
    yield value.upper(), "in capitals"
    yield value.lower(), "in small letters"
    yield f"{value}x", "with a letter more"
    yield f" {value}", "with a blank before it"
    yield value[:-1], "without its last letter"
    for constant in constants.texts:  # a prefix or a suffix is what guards of paths and addresses look at
        if len(constant.value) < 40:
            yield constant.value + value, f"with {constant.source} before it"
            yield value + constant.value, f"with {constant.source} behind it"


def copied(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of their own to a call; what can't be copied is shared."""
    found = {}
    for name, value in arguments.items():
        try:
            found[name] = copy.deepcopy(value)
        except Exception:  # a lock, a socket
            found[name] = value
    return found


def bound(signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name, without what the signature has for those that are left out."""
    return dict(signature.bind(*args, **kwargs).arguments)


def called_with(signature: inspect.Signature, arguments: Mapping[str, Any]) -> inspect.BoundArguments:
    """Return arguments by name as a call."""
    return inspect.BoundArguments(signature, dict(arguments))
