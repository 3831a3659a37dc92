"""Reading the bound arguments of a call by the paths of a rule: `when`, `capture`, and the model in a name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autochron._runtime.signals import is_interruption
from autochron.rules.compiled_boundary import Reader
from autochron.rules.paths import MISSING, find, is_plain, look_up, parse_path
from autochron.weaving.gate import Point


def bound(point: Point, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Return the arguments by name: the parameters, and the keywords that `**kwargs` caught."""
    named = dict(zip(point.parameters, arguments, strict=False))
    caught = named.get(point.variadic[1] or "")
    return {**caught, **named} if type(caught) is dict else named


def reader(path: str, point: Point) -> Reader:
    """Compile a path: from bound arguments to all that stands there, nothing where something on the way isn't there.

    The first step is a parameter or a keyword; each other one a key, an index or an attribute. What raises isn't there: the
    program's own property must not fail where only a rule looks at it.
    """
    steps = parse_path(path)
    keys = tuple(step.key for step in steps)
    caught = point.variadic[1]
    if not is_plain(steps):

        def read_all(arguments: tuple[Any, ...]) -> Sequence[Any]:
            try:
                return list(find(bound(point, arguments), steps, attributes=True))
            except Exception as error:
                if is_interruption(error):
                    raise
                return ()

        return read_all

    # By far the most paths: the same look-ups, without a generator for each step.
    if keys[0] not in point.parameters:
        if caught not in point.parameters:
            return lambda _arguments: ()
        keys = (caught, *keys)
    index, rest = point.parameters.index(keys[0]), keys[1:]

    def read(arguments: tuple[Any, ...]) -> Sequence[Any]:
        try:
            value = arguments[index]
            for key in rest:
                value = look_up(value, key, attributes=True)
                if value is MISSING:
                    return ()
        except Exception as error:
            if is_interruption(error):
                raise
            return ()
        return (value,)

    return read


def capture(
    paths: Sequence[str], point: Point
) -> Callable[[tuple[Any, ...]], tuple[tuple[str, ...], tuple[Any, ...]]]:
    """Compile a rule's `capture`: from bound arguments to (paths, values), without the paths that aren't there.

    A path with `*` gives the list of what it finds.
    """
    readers = [
        (path, reader(path, point), any(step.key == "*" for step in parse_path(path))) for path in paths
    ]

    def read(arguments: tuple[Any, ...]) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        found: dict[str, Any] = {}
        for path, read_path, is_many in readers:
            values = read_path(arguments)
            if is_many:
                found[path] = list(values)
            elif values:
                found[path] = values[0]
        return tuple(found), tuple(found.values())

    return read
