"""Other code for a function that may be woven: it crosses what it crossed before."""

from __future__ import annotations

from types import CodeType, FunctionType

from autochron.errors import WeavingError
from autochron.weaving.gate import Point
from autochron.weaving.splice import splice
from autochron.weaving.weave import has_woven


def woven_like(function: FunctionType, code: CodeType) -> CodeType:
    """Return the code of a changed source, woven as a function's own is: to be set as its `__code__`.

    Raises:
        WeavingError: that takes a module that is loaded anew: it has other free variables, or something inside it is woven.
    """
    own = function.__code__
    if code.co_freevars != own.co_freevars:
        raise WeavingError(f"{own.co_qualname} would have other variables of what encloses it")
    points = [each for each in own.co_consts if type(each) is Point]
    inner = [each for each in own.co_consts if type(each) is CodeType]
    if any(has_woven(each) for each in inner) or (has_woven(own) and not points) or len(points) > 1:
        raise WeavingError(f"something inside {own.co_qualname} is woven")
    return splice(code, points[0]) if points else code
