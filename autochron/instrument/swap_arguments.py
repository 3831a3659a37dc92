"""Find out how the replacement of a function is called with the arguments of that function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autochron.weaving.gate import Point


def call_arguments(
    replacement: Callable[..., Any], point: Point, arguments: tuple[Any, ...]
) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional and keyword arguments of a call of a replacement.

    Arguments are passed by name if the replacement takes them so: tools are called by name, and its parameters may have
    another order. Otherwise they are passed in the order of the old function's parameters.

    Args:
        replacement: the function to call.
        point: the old function.
        arguments: the values of the old function's parameters.

    Raises:
        TypeError: the replacement takes them in neither way.
    """
    import inspect  # lazy: 10 ms, and child processes import this module

    by_parameter = dict(zip(point.parameters, arguments, strict=False))
    more_values, more_keywords = (by_parameter.pop(name) if name else () for name in point.variadic)
    values = [*by_parameter.values(), *more_values]
    try:
        signature = inspect.signature(replacement)
    except (TypeError, ValueError):  # a callable in C without a signature
        return values, dict(more_keywords)
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    leading = kinds.count(inspect.Parameter.POSITIONAL_ONLY)
    keyword_only = {
        name: value
        for name, value in by_parameter.items()
        if name in signature.parameters and signature.parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
    }
    by_name = (values[:leading], dict(list(by_parameter.items())[leading:]) | dict(more_keywords))
    by_place = (
        [*(value for name, value in by_parameter.items() if name not in keyword_only), *more_values],
        keyword_only | dict(more_keywords),
    )
    failure: TypeError | None = None
    for call in (by_place,) if more_values else (by_name, by_place):
        try:
            signature.bind(*call[0], **call[1])
        except TypeError as error:
            failure = error
        else:
            return call
    raise TypeError(str(failure))
