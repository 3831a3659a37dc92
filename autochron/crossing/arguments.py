"""Reading the bound arguments of a call by the paths of a rule: `when`, `capture`, and the model in a name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autochron._runtime.signals import is_interruption
from autochron.rules.compiled_boundary import Reader
from autochron.rules.paths import MISSING, find, is_plain, look_up, parse_path
from autochron.weaving.gate import Point


def bound(point: Point, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Return the arguments by name: the parameters, and the keywords that `**kwargs` collected."""
    by_name = dict(zip(point.parameters, arguments, strict=False))
    extra = by_name.get(point.variadic[1] or "")
    return {**extra, **by_name} if type(extra) is dict else by_name


def reader(path: str, point: Point) -> Reader:
    """Compile a path into a function from the bound arguments of a call to the list of values at that path.

    The first step is a parameter or a keyword. Every other step is a key, an index or an attribute. The list is empty
    where a step is missing or raises: a property of the program must not fail because a rule reads it.
    """
    steps = parse_path(path)
    keys = tuple(step.key for step in steps)
    variadic = point.variadic[1]
    if not is_plain(steps):

        def read_all(arguments: tuple[Any, ...]) -> Sequence[Any]:
            try:
                return list(find(bound(point, arguments), steps, attributes=True))
            except Exception as error:
                if is_interruption(error):
                    raise
                return ()

        return read_all

    # Nearly all paths are plain: the same look-ups, without a generator for each step.
    if keys[0] not in point.parameters:
        if variadic not in point.parameters:
            return lambda _arguments: ()
        keys = (variadic, *keys)
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
    """Compile a rule's `capture` into a function from the bound arguments of a call to (paths, values).

    Paths that are missing in a call are left out. A path with `*` yields the list of all values that it matches.
    """
    readers = [
        (path, reader(path, point), any(step.key == "*" for step in parse_path(path))) for path in paths
    ]

    def read(arguments: tuple[Any, ...]) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        captured: dict[str, Any] = {}
        for path, read_path, is_many in readers:
            values = read_path(arguments)
            if is_many:
                captured[path] = list(values)
            elif values:
                captured[path] = values[0]
        return tuple(captured), tuple(captured.values())

    return read
