"""`when`: conditions on bound arguments, compiled once for a definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autochron.model import Http
from autochron.rules.conditions import condition as rules_condition
from autochron.rules.globs import text_glob

Condition = Callable[[tuple[Any, ...]], bool]

_MISSING = object()


def reader(path: str, parameters: Sequence[str]) -> Callable[[tuple[Any, ...]], Any]:
    """Give a function from bound arguments to what stands at a dotted path, or to `MISSING`.

    The first step is a parameter, or a keyword caught by `**kwargs`; each other one an attribute, or a key of a dict.
    """
    first, *rest = path.split(".")
    if first not in parameters:
        return lambda _arguments: _MISSING
    index = parameters.index(first)

    def read(arguments: tuple[Any, ...]) -> Any:
        value = arguments[index]
        for step in rest:
            value = value.get(step, _MISSING) if isinstance(value, dict) else getattr(value, step, _MISSING)
            if value is _MISSING:
                return _MISSING
        return value

    return read


MISSING = _MISSING


def condition(pairs: Sequence[tuple[str, str]], parameters: Sequence[str]) -> Condition | None:
    """Compile a rule's `when`; None where it has none."""
    if not pairs:
        return None
    if any("*" in path or "[" in path for path, _ in pairs):
        general = rules_condition(tuple(pairs))
        return lambda arguments: general.fits(dict(zip(parameters, arguments, strict=True)))
    tests = [(reader(path, parameters), text_glob(glob).fits) for path, glob in pairs]

    def holds(arguments: tuple[Any, ...]) -> bool:
        for read, fits in tests:
            value = read(arguments)
            if value is _MISSING or not fits(value if type(value) is str else str(value)):
                return False
        return True

    return holds


def http_condition(selector: Http, parameters: Sequence[str]) -> Condition:
    """Compile an `http` selector for the door of an HTTP client, whose `request` has a method and a URL."""
    index = parameters.index("request")
    method, fits = selector.method.upper(), text_glob(selector.url).fits

    def holds(arguments: tuple[Any, ...]) -> bool:
        request = arguments[index]
        if method not in ("*", request.method.upper()):
            return False
        return fits(str(request.url).partition("?")[0])

    return holds
