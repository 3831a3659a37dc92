"""`when`: conditions on bound arguments, compiled once for a definition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autochron.crossing.arguments import reader
from autochron.model import Http
from autochron.rules.compiled_boundary import Condition
from autochron.rules.globs import text_glob
from autochron.rules.paths import spelled
from autochron.weaving.gate import Point


def condition(pairs: Sequence[tuple[str, str]], point: Point) -> Condition | None:
    """Compile a rule's `when`; None where it has none.

    Each path must hold a scalar, as a rule spells it, that fits its glob. None is no scalar.
    """
    if not pairs:
        return None
    tests = [(reader(path, point), text_glob(glob).fits) for path, glob in pairs]

    def holds(arguments: tuple[Any, ...]) -> bool:
        for read, fits in tests:
            for value in read(arguments):
                text = value if type(value) is str else spelled(value)
                if text is not None and fits(text):
                    break
            else:
                return False
        return True

    return holds


def http_condition(selector: Http, point: Point) -> Condition:
    """Compile an `http` selector for the door of an HTTP client, which tells method and URL of a request."""
    transport = point.transport
    assert transport is not None  # noqa: S101 - only a door is woven for such a rule
    asked, parameters = transport.method_and_url, point.parameters
    method, fits = selector.method.upper(), text_glob(selector.url).fits

    def holds(arguments: tuple[Any, ...]) -> bool:
        given, url = asked(parameters, arguments)
        return method in ("*", given.upper()) and fits(url.partition("?")[0])

    return holds
