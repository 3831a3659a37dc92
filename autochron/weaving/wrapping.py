"""Wrap what has no code of its own: C callables, instances with `__call__`, descriptors, and the methods of one client.

wrapt does the wrapping. Its import takes 55 ms, so it is imported with the first such place.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from autochron._runtime.own_frames import drop_frame, unchanged
from autochron.weaving.gate import GATE, Point


def crossing_call(
    point: Point,
    function: Callable[..., Any],
    _instance: object,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call a function through the gate, as spliced code does. After the point it takes what wrapt passes to a wrapper."""
    enter = GATE[0]
    token = None if enter is None else enter(*bound(point, args, kwargs))
    if token is not None and not token:
        error, value = token.outcome()
        if error is None:
            return value
        with unchanged(error):
            raise error
    try:
        value = function(*args, **kwargs)
    except BaseException as error:
        drop_frame(error)
        if token is not None:
            token.raised(error)
        raise
    return value if token is None else token.returned(value)


def bound(point: Point, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Point, tuple[Any, ...]]:
    """Return a call's point, and the arguments in the order of its parameters.

    If no signature is known or it doesn't fit, the parameters are `args` and `kwargs`. A signature that doesn't fit need not
    mean an error: that of a callable of C may be wrong. Where it does, the callee raises a better one.
    """
    if point.signature is None:
        return point, (args, kwargs)
    try:
        arguments = point.signature.bind(*args, **kwargs)
    except TypeError:
        return _unfitting(point), (args, kwargs)
    arguments.apply_defaults()
    return point, tuple(arguments.arguments.values())


def _unfitting(point: Point) -> Point:
    """Return the point of the calls whose arguments don't fit a point's signature."""
    other = point.unfitting
    if other is None:
        # The receiver, which a call site puts before what the signature names.
        count = 0 if point.signature is None else len(point.parameters) - len(point.signature.parameters)
        other = Point(
            point.module,
            point.qualname,
            (*point.parameters[:count], "args", "kwargs"),
            point.function,
            variadic=("args", "kwargs"),
            file=point.file,
            line=point.line,
            rules=point.rules,
        )
        other.called, other.captured, other.trace = point.called, point.captured, point.trace
        point.unfitting = other
    return other


def point_for(
    function: Callable[..., Any] | None, module: str, qualname: str, rules: tuple[Any, ...]
) -> Point:
    """Return the point of a callable that has no code object.

    Args:
        function: the callable; None if its signature must not be read.
        module: name of the module that defines it.
        qualname: its qualified name.
        rules: the rules that fit it.
    """
    try:
        signature = None if function is None else inspect.signature(function)
    except Exception:  # none is known, or a `__signature__` of the program's own raised
        signature = None
    if signature is None:
        point = Point(module, qualname, ("args", "kwargs"), variadic=("args", "kwargs"), rules=rules)
    else:
        kinds = {parameter.kind: parameter.name for parameter in signature.parameters.values()}
        variadic = (kinds.get(inspect.Parameter.VAR_POSITIONAL), kinds.get(inspect.Parameter.VAR_KEYWORD))
        point = Point(module, qualname, tuple(signature.parameters), variadic=variadic, rules=rules)
    point.signature = signature
    return point


def wrap_attribute(owner: Any, name: str, point: Point) -> Callable[[], None]:
    """Replace an attribute by a wrapper that crosses `point`, and return the function that undoes it."""
    import wrapt  # lazy: 55 ms

    own_value = vars(owner).get(name, _INHERITED)
    original = getattr(owner, name) if own_value is _INHERITED else own_value
    wrapper = wrapt.FunctionWrapper(original, functools.partial(crossing_call, point))
    setattr(owner, name, wrapper)

    def undo() -> None:
        if vars(owner).get(name) is wrapper:
            if own_value is _INHERITED:
                delattr(owner, name)
            else:
                setattr(owner, name, own_value)

    return undo


_INHERITED = object()


def wrap_client(client: Any, root: str, rules: Callable[[str], tuple[Any, ...]]) -> Any:
    """Return a proxy of an object whose public methods cross a point, also those of the objects in its attributes.

    Args:
        client: any object.
        root: the object's name in paths, such as `client` in `client.orders.create`.
        rules: returns the rules for the method at a path.
    """
    points: dict[str, tuple[Any, Point]] = {}

    def point_at(path: str, method: Any) -> Point:
        # Points are kept: to read a signature takes ten times as long as the crossing.
        code = getattr(method, "__func__", None) or (type(method), getattr(method, "__name__", None))
        cached = points.get(path)
        if cached is None or cached[0] != code:
            cached = points[path] = (code, point_for(method, type(client).__module__, path, rules(path)))
        return cached[1]

    return _proxy(client, root, point_at)


def _proxy(value: Any, path: str, point_at: Callable[[str, Any], Point]) -> Any:
    return _proxy_type()(value, path, point_at)


@functools.cache
def _proxy_type() -> Any:
    """Return the class of proxies, which is defined on first use because wrapt is imported late."""
    import wrapt  # lazy: 55 ms

    class WrappedClient(wrapt.ObjectProxy[Any]):
        def __init__(self, value: Any, path: str, point_at: Callable[[str, Any], Point]) -> None:
            super().__init__(value)
            self._self_path = path
            self._self_point_at = point_at

        def __getattr__(self, name: str) -> Any:
            try:
                value = getattr(self.__wrapped__, name)
            except BaseException as error:
                drop_frame(error)
                raise
            if name.startswith("_"):
                return value
            path = f"{self._self_path}.{name}"
            if callable(value) and not isinstance(value, type):
                point = self._self_point_at(path, value)
                return wrapt.FunctionWrapper(value, functools.partial(crossing_call, point))
            return _proxy(value, path, self._self_point_at) if _is_part(value) else value

        def __enter__(self) -> Any:
            try:
                entered = self.__wrapped__.__enter__()
            except BaseException as error:
                drop_frame(error)
                raise
            return self if entered is self.__wrapped__ else entered

        async def __aenter__(self) -> Any:
            try:
                entered = await self.__wrapped__.__aenter__()
            except BaseException as error:
                drop_frame(error)
                raise
            return self if entered is self.__wrapped__ else entered

    return WrappedClient


def _is_part(value: Any) -> bool:
    """Return whether a client's attribute is an object with methods, such as `client.chat`, and not a plain setting."""
    return hasattr(value, "__dict__") and not isinstance(value, type) and type(value).__module__ != "builtins"
