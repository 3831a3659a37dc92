"""`when`: conditions on the bound arguments of a call, compiled once for each definition."""

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
    """Compile a rule's `when`; return None where it has none.

    Args:
        pairs: (path, glob). The condition holds if each path has a scalar whose spelling in rules fits its glob. None
            is no scalar.
        point: the definition whose arguments the paths start from.
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
    """Compile an `http` selector for a method of an HTTP client, which knows method and URL of each request."""
    transport = point.transport
    assert transport is not None  # noqa: S101 - `http` rules match only methods of HTTP clients
    read_request, parameters = transport.method_and_url, point.parameters
    wanted, fits = selector.method.upper(), text_glob(selector.url).fits

    def holds(arguments: tuple[Any, ...]) -> bool:
        method, url = read_request(parameters, arguments)
        return wanted in ("*", method.upper()) and fits(url.partition("?")[0])

    return holds
