"""Replacement code for a function that may be woven, which crosses the same point."""

from __future__ import annotations

from types import CodeType, FunctionType

from autochron.errors import WeavingError
from autochron.weaving.gate import Point
from autochron.weaving.splice import splice
from autochron.weaving.weave import has_woven


def woven_like(function: FunctionType, code: CodeType) -> CodeType:
    """Return new code for a function's `__code__`, woven as the function's present code is.

    Args:
        function: a function, woven or not.
        code: the unwoven code of its changed source.

    Raises:
        WeavingError: the code has other free variables, or something inside the function is woven. Then its module has to be
            loaded anew.
    """
    present = function.__code__
    if code.co_freevars != present.co_freevars:
        raise WeavingError(f"{present.co_qualname} would have other closure variables")
    points = [constant for constant in present.co_consts if type(constant) is Point]
    inner = [constant for constant in present.co_consts if type(constant) is CodeType]
    if (
        any(has_woven(constant) for constant in inner)
        or (has_woven(present) and not points)
        or len(points) > 1
    ):
        raise WeavingError(f"something inside {present.co_qualname} is woven")
    return splice(code, points[0]) if points else code
