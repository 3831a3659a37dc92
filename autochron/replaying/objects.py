"""Serving of iterators and objects that were followed step by step.

Objects are rebuilt without `__init__`; the methods of their class run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from msgspec.json import encode

from autochron._runtime.own_frames import drop_frame, unchanged
from autochron.crossing import streams
from autochron.envelope import admission, codec, shapes
from autochron.envelope import types as names
from autochron.errors import CodecError, OpaqueError

if TYPE_CHECKING:
    from collections.abc import Generator

    from autochron.model import Envelope
    from autochron.weaving.gate import Point


class ServedStream(Protocol):
    """The served items of a crossing that returned a followed object.

    Attributes:
        envelope: the record of the crossing.
    """

    envelope: Envelope

    def iterator(self) -> Generator[Any, Any, Any]:
        """Yield the items, and end as the record does."""

    async def step_async(self) -> tuple[bool, BaseException | None, Any]:
        """Return (done, error, item)."""

    def thrown(self, error: BaseException) -> bool:
        """Return whether an error that is thrown into the stream leaves it."""

    def read_further(self, recorded: str) -> BaseException:
        """Note that the stream is read further than in the recording, and return the error for it."""


class ServedItems:
    """Yields the items of an iterator that could go on after an error. That is refused: no such step is recorded."""

    __slots__ = ("_has_raised", "_items", "_serving")

    def __init__(self, serving: ServedStream) -> None:
        self._serving = serving
        self._items = serving.iterator()
        self._has_raised = False

    def __iter__(self) -> ServedItems:
        return self

    def __next__(self) -> Any:
        if self._has_raised:
            raise self._serving.read_further("after its error")
        try:
            return next(self._items)
        except BaseException as error:
            drop_frame(error)
            self._has_raised = not issubclass(type(error), StopIteration)
            raise


class _Unkept:
    """Stands for an attribute whose value was not recorded. Each use of it raises OpaqueError."""

    def __init__(self, path: str) -> None:
        object.__setattr__(self, "_path", path)

    def __getattr__(self, name: str) -> Any:
        raise _absent(self)

    def __call__(self, *_args: Any, **_kwargs: Any) -> Any:
        raise _absent(self)

    def __enter__(self) -> Any:
        raise _absent(self)

    def __exit__(self, *_error: object) -> None:
        raise _absent(self)

    def __iter__(self) -> Any:
        raise _absent(self)

    def __next__(self) -> Any:
        raise _absent(self)

    def __len__(self) -> int:
        raise _absent(self)

    def __bool__(self) -> bool:
        raise _absent(self)

    def __getitem__(self, _key: Any) -> Any:
        raise _absent(self)


def _absent(absent: _Unkept) -> OpaqueError:
    path = object.__getattribute__(absent, "_path")
    return OpaqueError(f"{path} was recorded without its content; make the crossing live")


def rebuild_object(serving: ServedStream, facts: dict[str, Any]) -> Any:
    """Rebuild the object that a crossing returned, so that its methods serve the recorded items.

    Args:
        serving: the served items.
        facts: the entry `handed` of the envelope's `meta`: the object's class, and its states by step.

    Raises:
        CodecError: the class can't be followed any more, or must not be rebuilt from a trace.
    """
    name = facts["object"]
    cls = names.find(name)
    if not isinstance(cls, type) or shapes.kind_of(cls) != "none" or not streams.can_follow(cls):
        raise CodecError(f"{name} can't be followed step by step any more; record the trace again")
    reason = admission.refusal_of_type(cls)
    if reason is not None:
        raise CodecError(f"{name} can't be made from a trace: {reason}; let the boundary return plain data")
    value: Any = object.__new__(cls)
    states = facts.get("states", {})  # an object without attributes has none
    steps = ServedSteps(serving, value, states, f"{serving.envelope.address}'s {cls.__qualname__}")
    streams.follow(value, steps)
    return value


class ServedSteps:
    """The steps of a served object. A step is one call of a method that reads or closes it.

    Attributes:
        is_over: whether no more items are to come.
        has_raised: whether the object ended with an error.
    """

    def __init__(self, serving: ServedStream, value: Any, states: dict[str, Any], path: str) -> None:
        """Bring the object to its first state.

        Args:
            serving: the served items.
            value: the object.
            states: its recorded attributes, by the number of items that it had returned; `end` for those at its end.
            path: its name in errors.
        """
        self._serving = serving
        self._states = states
        self._path = path
        self._items = serving.iterator()
        self._count = 0
        self.is_over = self.has_raised = False
        self.set_state(value, "0")

    def set_state(self, value: Any, position: str) -> None:
        """Set the attributes of the object that were recorded at a position, if any were.

        Args:
            value: the object.
            position: the number of items that it had returned, as text; `end` at its end.
        """
        state = self._states.get(position)
        if state is None:
            return
        attributes = {}
        for name, body in state.items():
            try:
                attributes[name] = codec.decode(encode(body))
            except OpaqueError:
                attributes[name] = _Unkept(f"{self._path}.{name}")
        admission.refuse_shadowing(type(value), attributes)
        shapes.set_attributes(value, attributes)

    def enter(self, point: Point, value: Any) -> _ServedStep:
        """Begin a step of the object: a call of the method at the point."""
        return _ServedStep(self, point, value)

    def gone(self) -> None:
        """Do nothing: an object that was not read to its end is noted at the end of the program."""

    def next(self, value: Any) -> tuple[BaseException | None, Any]:
        """Return (error, item) of the next step."""
        if self.is_over:
            return self._error_after_error() or StopIteration(), None
        try:
            item = next(self._items)
        except BaseException as error:
            drop_frame(error)
            self.has_raised = not isinstance(error, StopIteration)
            self.over(value)
            return error, None
        self._count += 1
        self.set_state(value, str(self._count))
        return None, item

    async def next_async(self, value: Any) -> tuple[BaseException | None, Any]:
        """Return (error, item) of the next step of an asynchronous object."""
        if self.is_over:
            return self._error_after_error() or StopAsyncIteration(), None
        done, error, item = await self._serving.step_async()
        if done:
            self.has_raised = error is not None
            self.over(value)
            return error or StopAsyncIteration(), None
        self._count += 1
        self.set_state(value, str(self._count))
        return None, item

    def _error_after_error(self) -> BaseException | None:
        """Return the error for a step after an error; None if there was no error. No such step is recorded."""
        return self._serving.read_further("after its error") if self.has_raised else None

    def close(self, value: Any) -> None:
        """Close the object. It may have ended already."""
        if not self.is_over:
            self._serving.thrown(GeneratorExit())
        self.over(value)

    def over(self, value: Any) -> None:
        """Note that the object has ended, and set its last state."""
        self.is_over = True
        self.set_state(value, "end")


class _ServedStep:
    """One call of a served object's method. Its truth value is false, by which woven code knows not to run the method."""

    __slots__ = ("_point", "_steps", "_value")

    def __init__(self, steps: ServedSteps, point: Point, value: Any) -> None:
        self._steps = steps
        self._point = point
        self._value = value

    def __bool__(self) -> bool:
        return False

    def outcome(self) -> tuple[BaseException | None, Any]:
        """Return (error, value) for a plain method. A plain `__anext__` or `aclose` returns an awaitable."""
        if self._point.step in ("__anext__", "aclose"):
            return None, self._awaitable()
        if self._point.step == "close":
            self._steps.close(self._value)
            return None, None
        return self._steps.next(self._value)

    async def outcome_async(self) -> tuple[BaseException | None, Any]:
        """Return (error, value) for a coroutine method."""
        if self._point.step in streams.ENDS:
            self._steps.close(self._value)
            return None, None
        return await self._steps.next_async(self._value)

    async def _awaitable(self) -> Any:
        error, value = await self.outcome_async()
        if error is not None:
            with unchanged(error):
                raise error
        return value
