"""Iterators of classes written in Python: their methods are woven, and each object that a call hands out is followed.

The object stays itself, with its type and its attributes. A class can be followed only if all its items pass through
`__next__` or `__anext__`. With an `__iter__` that is a generator some items would not be seen.
"""

from __future__ import annotations

import weakref
from types import FunctionType
from typing import TYPE_CHECKING, Any

from autochron._runtime import codeflags
from autochron._runtime.bare import class_attribute, identity
from autochron._runtime.own_frames import drop_frame
from autochron.weaving.ledger import Ledger
from autochron.weaving.weave import Mark, is_woven, weave_function

if TYPE_CHECKING:
    from autochron.ports import OpenCrossing
    from autochron.weaving.gate import Point

STEPS = ("__next__", "__anext__")
ENDS = ("close", "aclose")

_BEYOND = ("__del__", "send", "asend", "throw", "athrow")
"""Methods that would run on an object that was never initialised, or that hand out items past the steps."""

_GENERATORS = codeflags.CO_GENERATOR | codeflags.CO_ASYNC_GENERATOR

_classes: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()
_followed: dict[int, tuple[Any, Any]] = {}
"""By identity, since such objects need not be hashable: a weak reference, and the listener to each step."""


def can_follow(cls: type) -> bool:
    """Return whether the objects of a class can be followed. If so, its methods are woven."""
    is_followed = _classes.get(cls)
    if is_followed is None:
        is_followed = _classes[cls] = _is_stream(cls) and _weave(cls)
    return is_followed


def _is_stream(cls: type) -> bool:
    if not any(hasattr(cls, name) for name in STEPS) or not cls.__weakrefoffset__:
        return False
    if any(hasattr(cls, name) for name in _BEYOND):
        return False
    try:
        object.__new__(cls)  # as a replay makes one
    except TypeError:
        return False
    for name in ("__iter__", "__aiter__"):
        function = class_attribute(cls, name)
        if type(function) is FunctionType and function.__code__.co_flags & _GENERATORS:
            return False
    steps = [class_attribute(cls, name) for name in (*STEPS, *ENDS)]
    return all(type(step) is FunctionType for step in steps if step is not None)


def _weave(cls: type) -> bool:
    for name in (*STEPS, *ENDS):
        function = class_attribute(cls, name)
        if function is None:
            continue
        ledger = Ledger()
        if is_woven(function.__code__) or weave_function(function, Mark(()), ledger) is None:
            point = next(
                (const for const in function.__code__.co_consts if type(const).__name__ == "Point"), None
            )
            if point is None or point.step != name:
                return False  # the method is a boundary itself
        for point in ledger.points:
            point.step = name
    return True


def follow(value: Any, steps: Any) -> None:
    """Report the calls of an object's methods to a listener from now on, and to its `gone` that the object is gone."""
    key = identity(value)

    def collected(_value: Any) -> None:
        _followed.pop(key, None)
        steps.gone()

    _followed[key] = (weakref.ref(value, collected), steps)


def enter(point: Point, arguments: tuple[Any, ...]) -> Any:
    """Begin a call of a followed object's method; return None for any other object, and inside such a call."""
    receiver = arguments[0]
    followed = _followed.get(identity(receiver))
    if followed is None:
        return None
    reference, steps = followed
    return None if reference() is not receiver else steps.enter(point, receiver)


class LiveSteps:
    """The listener to an object whose methods run: it reports each step to the object's crossing."""

    __slots__ = ("_crossing",)

    def __init__(self, crossing: OpenCrossing) -> None:
        self._crossing = crossing

    def gone(self) -> None:
        """Report that the object is gone, if its crossing has not ended."""
        if not self._crossing.done:
            self._crossing.handler.dropped(self._crossing)

    def enter(self, point: Point, value: Any) -> _LiveStep | None:
        """Begin a step; return None inside another step, and where the crossing has ended."""
        crossing = self._crossing
        if crossing.is_stepping or (crossing.done and point.step in STEPS):
            return None
        crossing.is_stepping = True
        crossing.resumed()
        return _LiveStep(crossing, point, value)


class _LiveStep:
    """The token of one step."""

    __slots__ = ("_crossing", "_point", "_value")

    def __init__(self, crossing: OpenCrossing, point: Point, value: Any) -> None:
        self._crossing = crossing
        self._point = point
        self._value = value

    def returned(self, item: Any) -> Any:
        if self._point.function == "sync" and self._point.step in ("__anext__", "aclose"):
            return self._awaited(item)
        self._end(item, None)
        return item

    def raised(self, error: BaseException) -> None:
        self._end(None, error)

    async def _awaited(self, awaitable: Any) -> Any:
        try:
            item = await awaitable
        except BaseException as error:
            drop_frame(error)
            self._end(None, error)
            raise
        self._end(item, None)
        return item

    def _end(self, item: Any, error: BaseException | None) -> None:
        crossing, value = self._crossing, self._value
        crossing.is_stepping = False
        if self._point.step in STEPS and error is None:
            crossing.yielded(item)
            crossing.handler.looked(crossing, value)
            return
        crossing.handler.looked(crossing, value, at_end=True)
        if isinstance(error, StopIteration | StopAsyncIteration):
            crossing.ended(None)
        else:  # an error, or `close`: the object is in another state afterwards
            crossing.raised(GeneratorExit() if error is None else error)

    def yielded(self, item: Any) -> None:
        """Do nothing: a step is no generator."""

    def resumed(self, sent: Any = None, thrown: BaseException | None = None) -> None:
        """Do nothing: a step is no generator."""
