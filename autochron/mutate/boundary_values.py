"""Other inputs for a guard: the recorded input with one value changed, near the guard's own constants.

A recording has one input, and a guard that is wrong for another input passes. The values are the numbers and texts in
the guard's source, those that names and attributes in it refer to (a threshold of a module, the prices in a table), those
of its other arguments, and values right beside each of them. All of it follows from the source and the record, so the same
study has the same inputs.
"""

from __future__ import annotations

import ast
import copy
import inspect
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from types import FunctionType
from typing import Any, NamedTuple

from autochron._runtime.bare import class_attribute
from autochron.effects.held import attributes_of
from autochron.mutate.definitions import functions_of
from autochron.mutate.static_values import look_up, references_in
from autochron.mutate.suspicion import EMPTY

_NUMBERS = (int, float, Decimal)
_MAX_DEPTH = 3
"""How deep a table of constants, or a recorded value, is read."""

_MAX_PER_TABLE = 8
"""How many members of one table, or of a list, are read."""


class Constant(NamedTuple):
    """A value that the guard's code uses, and where it comes from."""

    value: Any
    source: str


class Constants(NamedTuple):
    """The values that the guard's code uses."""

    numbers: tuple[Constant, ...]
    texts: tuple[Constant, ...]


_NONE = Constants((), ())


class _Sources(NamedTuple):
    """Where other values for an argument come from: what the guard's code uses, and the other arguments."""

    code: Constants
    arguments: Constants


class Candidate(NamedTuple):
    """An input.

    Attributes:
        argument: the path of the changed value among the arguments; empty for the recorded input.
        value: the changed value.
        source: where the value comes from, in words.
        arguments: all arguments by name.
    """

    argument: str
    value: Any
    source: str
    arguments: dict[str, Any]


def constants_of(source: str, file: str, function: str, names: Mapping[str, Any]) -> Constants:
    """Return the numbers and texts that a function uses.

    Args:
        source: the text of the function's module.
        file: the module's name, for `Constant.source`.
        function: the qualified name of the function, which the source must have; of several with the name, it is the last.
        names: the globals of the module.
    """
    node = functions_of(ast.parse(source))[function]
    gathered = _Gathered()
    for inner in _body_nodes(node):
        if isinstance(inner, ast.Constant):
            gathered.add(inner.value, f"{inner.value!r} in {file}:{inner.lineno}")
        elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load) and inner.id in names:
            for path, value in _leaves(names[inner.id], inner.id, _MAX_DEPTH):
                gathered.add(
                    value,
                    f"{path} in {file}:{inner.lineno}"
                    if path == inner.id
                    else f"{path}, named in {file}:{inner.lineno}",
                )
    for default in _defaults_of(node):
        if isinstance(default, ast.Constant):
            gathered.add(default.value, f"{default.value!r} in {file}:{default.lineno}")
    for reference in references_of(source, function):
        for path, value in values_at(reference, names):
            gathered.add(value, f"{path}, named in {file}:{reference.lineno}")
    return gathered.constants()


def references_of(source: str, function: str) -> list[ast.expr]:
    """Return the expressions in a function that read an attribute or an item.

    Args:
        source: the text of the function's module.
        function: the qualified name of the function, which the source must have; of several with the name, it is the last.
    """
    return list(references_in(_body_nodes(functions_of(ast.parse(source))[function])))


def values_at(reference: ast.expr, names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the numbers and texts of what an expression refers to, each with its path.

    Args:
        reference: one of `references_of`.
        names: what the names in it refer to.
    """
    try:
        value = look_up(reference, names)
    except LookupError:
        return
    yield from _leaves(value, ast.unparse(reference), _MAX_DEPTH)


def with_receiver(constants: Constants, function: FunctionType, receiver: object) -> Constants:
    """Return constants with the numbers and texts that a method reads from its object, such as `self.limit`.

    Args:
        constants: those of the function.
        function: the function.
        receiver: the object, or the class of a class method; None for a function that is no method.
    """
    held = {} if receiver is None else {**_attributes_of(type(receiver)), **attributes_of(receiver)}
    values = ((f"self.{name}", held.get(name)) for name in function.__code__.co_names)
    return with_values(constants, values)


def with_values(constants: Constants, values: Iterable[tuple[str, Any]]) -> Constants:
    """Return constants with the numbers and texts of other values, each given with its path."""
    gathered = _Gathered(constants)
    for start, value in values:
        for path, leaf in _leaves(value, start, _MAX_DEPTH):
            gathered.add(leaf, path)
    return gathered.constants()


def joined(several: Iterable[Constants]) -> Constants:
    """Return the constants of several functions, each once."""
    gathered = _Gathered()
    for constants in several:
        for constant in (*constants.numbers, *constants.texts):
            gathered.add(constant.value, constant.source)
    return gathered.constants()


def _attributes_of(owner: type) -> Mapping[str, Any]:
    """Return the attributes that a class holds itself, without running any code of it."""
    held = getattr(owner, "__dict__", None)
    return held if isinstance(held, Mapping) else {}


class _Gathered:
    """Numbers and texts, each once, with where it was seen first."""

    def __init__(self, constants: Constants | None = None) -> None:
        self._numbers: dict[Any, str] = dict(constants.numbers if constants else ())
        self._texts: dict[str, str] = dict(constants.texts if constants else ())

    def add(self, value: Any, origin: str) -> None:
        """Add a value unless it is no number and no text, or too long."""
        if isinstance(value, str):
            if value and len(value) < 200:
                self._texts.setdefault(str.__str__(value), origin)
        # Not NaN, which does not equal itself.
        elif isinstance(value, _NUMBERS) and not isinstance(value, bool) and value == value:  # noqa: PLR0124
            self._numbers.setdefault(_number_type(value)(value), origin)

    def constants(self) -> Constants:
        """Return what was added."""
        return Constants(
            tuple(Constant(value, origin) for value, origin in self._numbers.items()),
            tuple(Constant(value, origin) for value, origin in self._texts.items()),
        )


def _body_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a body, without its docstring and without f-strings' contents."""
    body: list[ast.AST] = list(getattr(node, "body", ()))
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    waiting = body
    while waiting:
        inner = waiting.pop(0)
        yield inner
        if not isinstance(inner, ast.JoinedStr):
            waiting = [*ast.iter_child_nodes(inner), *waiting]


def _defaults_of(node: ast.AST) -> list[ast.expr]:
    """Return the defaults of a function's arguments."""
    arguments = getattr(node, "args", None)
    if not isinstance(arguments, ast.arguments):
        return []
    return [*arguments.defaults, *(default for default in arguments.kw_defaults if default is not None)]


def _leaves(value: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the numbers and texts of a value with their paths, the first few of each table; keys count as texts."""
    if value is os.environ:  # it is another one on each machine
        return
    if isinstance(value, str | int | float | Decimal):
        yield path, value
        return
    if not depth:
        return
    if isinstance(value, Mapping):
        items = list(value.items())[:_MAX_PER_TABLE]
        for key in (key for key, _ in items if isinstance(key, str)):
            yield f"a key of {path}", key
        for key, inner in items:
            yield from _leaves(inner, f"{path}[{key!r}]", depth - 1)
    elif isinstance(value, list | tuple | set | frozenset):
        members = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        for index, inner in enumerate(list(members)[:_MAX_PER_TABLE]):
            yield from _leaves(inner, f"{path}[{index}]", depth - 1)
    elif isinstance(fields := class_attribute(type(value), "__dataclass_fields__"), dict):
        held = attributes_of(value)
        for name in fields:
            yield from _leaves(held.get(name), f"{path}.{name}", depth - 1)


# --- inputs --------------------------------------------------------------------------------------------------------------


def candidates(arguments: Mapping[str, Any], constants: Constants, most: int) -> list[Candidate]:
    """Return the recorded input, and others with one value changed.

    The arguments take turns, so that each has its share of the inputs. The same input is returned only once.

    Args:
        arguments: the recorded arguments by name.
        constants: what the guard's code uses.
        most: how many inputs there are at most.
    """
    recorded = dict(arguments)
    inputs = [Candidate("", None, "recorded", recorded)]
    others = {
        name: with_values(_NONE, [(other, value) for other, value in recorded.items() if other != name])
        for name in recorded
    }
    shares = [
        _candidates_for(name, value, recorded, _Sources(constants, others[name]))
        for name, value in arguments.items()
    ]
    seen = {_key(recorded)}
    while shares and len(inputs) < most:
        for share in list(shares):
            candidate = next((each for each in share if _key(each.arguments) not in seen), None)
            if candidate is None:
                shares.remove(share)
                continue
            seen.add(_key(candidate.arguments))
            inputs.append(candidate)
            if len(inputs) >= most:
                break
    return inputs


def _key(arguments: Mapping[str, Any]) -> str:
    return repr(arguments)


def _candidates_for(
    name: str, value: Any, recorded: dict[str, Any], sources: _Sources
) -> Iterator[Candidate]:
    """Yield the inputs in which one argument is changed."""
    for path, (new, argument), source in _variations(name, value, sources, _MAX_DEPTH):
        yield Candidate(path, new, source, recorded | {name: argument})


def _variations(
    path: str, value: Any, sources: _Sources, depth: int
) -> Iterator[tuple[str, tuple[Any, Any], str]]:
    """Yield variations of a value, each changed in one place.

    Args:
        path: the path of the value among the arguments.
        value: the value.
        sources: where the new values come from.
        depth: how deep members of the value are changed.

    Yields:
        The path of the changed place, (the new value there, the whole value with it), and where the new value comes
        from.
    """
    for new, source in _other_values(value, sources):
        yield path, (new, new), source
    if not depth:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            without = {name: member for name, member in value.items() if name != key}
            yield f"{path}[{key!r}]", ("(left out)", without), "left out"
            for inner_path, (new, changed), source in _variations(
                f"{path}[{key!r}]", inner, sources, depth - 1
            ):
                yield inner_path, (new, {**value, key: changed}), source
    elif isinstance(value, list | tuple):
        kind = type(value) if type(value) in {list, tuple} else list
        yield path, (EMPTY, kind()), "empty"
        for index, inner in enumerate(value[:_MAX_PER_TABLE]):
            rest = [*value[:index], *value[index + 1 :]]
            if rest:
                yield f"{path}[{index}]", ("(left out)", kind(rest)), "left out"
            for inner_path, (new, changed), source in _variations(
                f"{path}[{index}]", inner, sources, depth - 1
            ):
                yield inner_path, (new, kind([*value[:index], changed, *value[index + 1 :]])), source
        for text in sources.code.texts if all(isinstance(member, str) for member in value) else ():
            if text.value not in value:
                yield path, (text.value, kind([*value, text.value])), f"with {text.source}"


def _other_values(value: Any, sources: _Sources) -> Iterable[tuple[Any, str]]:
    """Return other values in the place of one, each with where it comes from."""
    if isinstance(value, bool):
        return [(not value, "the other one")]
    if isinstance(value, Enum):
        return [(member, "another of its members") for member in type(value) if member is not value][
            :_MAX_PER_TABLE
        ]
    if isinstance(value, _NUMBERS):
        return _other_numbers(value, sources)
    if isinstance(value, str):
        return _other_texts(value, sources)
    if value is None:
        return [
            *(
                (constant.value, constant.source)
                for constant in (*sources.code.texts[:4], *sources.code.numbers[:4])
            ),
            ("", "empty"),
            (0, "zero"),
        ]
    return ()


def _other_numbers(value: Any, sources: _Sources) -> Iterator[tuple[Any, str]]:
    kind = _number_type(value)
    step = kind(1)
    for edge, source in ((0, "zero"), (1, "one"), (-1, "minus one")):
        yield kind(edge), source
    yield -value, "its negative"
    yield value + step, "plus 1"
    yield value - step, "minus 1"
    constants = sources.code
    for constant in (*constants.numbers, *sources.arguments.numbers):
        edge_value = _converted(kind, constant.value)
        if edge_value is not None:
            yield edge_value, constant.source
            yield edge_value + step, f"{constant.source}, plus 1"
            yield edge_value - step, f"{constant.source}, minus 1"
            if kind is float:
                yield edge_value + 0.01, f"{constant.source}, plus 0.01"
                yield edge_value - 0.01, f"{constant.source}, minus 0.01"
    for dividend in constants.numbers:
        for divisor in constants.numbers:
            if dividend is not divisor and divisor.value:
                quotient = _converted(kind, _quotient(dividend.value, divisor.value))
                if quotient is not None and quotient not in {0, 1}:
                    yield quotient, f"{dividend.source}, divided by {divisor.source}"
                    yield quotient + step, f"{dividend.source}, divided by {divisor.source}, plus 1"


def _number_type(value: Any) -> type[Any]:
    """Return the plain type of a number, which may be an enumeration's member or of a class of the program."""
    return next(plain_type for plain_type in _NUMBERS if isinstance(value, plain_type))


def _quotient(dividend: Any, divisor: Any) -> Any:
    """Return a quotient as a float; 0 where there is none."""
    try:
        return float(dividend) / float(divisor)
    except (OverflowError, ZeroDivisionError):
        return 0


def _converted(kind: type, value: Any) -> Any:
    """Return a value as a number of another type; None where it can't be."""
    try:
        return kind(value)
    except (ValueError, OverflowError, ArithmeticError, TypeError):
        return None


def _other_texts(value: str, sources: _Sources) -> Iterator[tuple[str, str]]:
    yield "", "empty"
    yield value.upper(), "in capitals"
    yield value.lower(), "in small letters"
    yield f"{value}x", "with a letter more"
    yield f" {value}", "with a blank before it"
    yield value[:-1], "without its last letter"
    constants = sources.code
    for constant in (*constants.texts, *sources.arguments.texts):
        if constant.value != value:
            yield constant.value, constant.source
    for constant in constants.texts:  # guards of paths and addresses check a prefix or a suffix
        if len(constant.value) < 40:
            yield constant.value + value, f"with {constant.source} before it"
            yield value + constant.value, f"with {constant.source} behind it"


def copied(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a deep copy of arguments; an argument that can't be copied is shared."""
    copies = {}
    for name, value in arguments.items():
        try:
            copies[name] = copy.deepcopy(value)
        except Exception:  # a lock, a socket
            copies[name] = value
    return copies


def bound(signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name, without defaults."""
    return dict(signature.bind(*args, **kwargs).arguments)


def called_with(signature: inspect.Signature, arguments: Mapping[str, Any]) -> inspect.BoundArguments:
    """Return arguments by name as the arguments of a call."""
    return inspect.BoundArguments(signature, dict(arguments))
