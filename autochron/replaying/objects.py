"""Objects that were followed step by step: made again without their `__init__`, and served by the methods of their class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from msgspec.json import encode

from autochron.crossing import streams
from autochron.envelope import admission, codec, shapes
from autochron.envelope import types as names
from autochron.errors import CodecError, OpaqueError

if TYPE_CHECKING:
    from collections.abc import Generator

    from autochron.model import Envelope
    from autochron.weaving.gate import Point


class ServedStream(Protocol):
    """The served items of a crossing that handed out an object."""

    envelope: Envelope

    def iterator(self) -> Generator[Any, Any, Any]:
        """Yield the items; it ends as the record does."""

    async def step_async(self) -> tuple[bool, BaseException | None, Any]:
        """Return (done, error, item)."""

    def thrown(self, error: BaseException) -> bool:
        """Return whether an error that is thrown into the stream leaves it."""

    def read_further(self, recorded: str) -> BaseException:
        """Return the error for reading what is not on record, having noted it."""


class _Unkept:
    """In the place of an attribute that was never kept."""

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


def made_again(serving: ServedStream, handed: dict[str, Any]) -> Any:
    """Make the object that a crossing handed out; CodecError where its class can't be followed any more."""
    name = handed["object"]
    cls = names.find(name)
    if not isinstance(cls, type) or shapes.kind_of(cls) != "none" or not streams.can_follow(cls):
        raise CodecError(f"{name} can't be followed step by step any more; record the trace again")
    reason = admission.refusal_of_type(cls)
    if reason is not None:
        raise CodecError(f"{name} can't be made from a trace: {reason}; let the boundary return plain data")
    value: Any = object.__new__(cls)
    states = handed.get("states", {})  # none of what never had an attribute
    steps = ServedSteps(serving, value, states, f"{serving.envelope.address}'s {cls.__qualname__}")
    streams.follow(value, steps)
    return value


class ServedSteps:
    """The steps of an object that is served."""

    def __init__(self, serving: ServedStream, value: Any, states: dict[str, Any], path: str) -> None:
        self._serving = serving
        self._states = states
        self._path = path
        self._items = serving.iterator()
        self._count = 0
        self.is_over = self.has_raised = False
        self.look(value, "0")

    def look(self, value: Any, at: str) -> None:
        """Bring the object to the state that it was in."""
        state = self._states.get(at)
        if state is None:
            return
        held = {}
        for name, body in state.items():
            try:
                held[name] = codec.decode(encode(body))
            except OpaqueError:
                held[name] = _Unkept(f"{self._path}.{name}")
        admission.refuse_shadowing(type(value), held)
        shapes.set_attributes(value, held)

    def enter(self, point: Point, value: Any) -> _ServedStep:
        """Begin a step."""
        return _ServedStep(self, point, value)

    def gone(self) -> None:
        """Nothing: what is not read to its end is told of when the program ends."""

    def next(self, value: Any) -> tuple[BaseException | None, Any]:
        """Return (error, item)."""
        if self.is_over:
            return self._again() or StopIteration(), None
        try:
            item = next(self._items)
        except BaseException as error:
            self.has_raised = not isinstance(error, StopIteration)
            self.over(value)
            return error, None
        self._count += 1
        self.look(value, str(self._count))
        return None, item

    async def next_async(self, value: Any) -> tuple[BaseException | None, Any]:
        """Return (error, item), for an asynchronous one."""
        if self.is_over:
            return self._again() or StopAsyncIteration(), None
        done, error, item = await self._serving.step_async()
        if done:
            self.has_raised = error is not None
            self.over(value)
            return error or StopAsyncIteration(), None
        self._count += 1
        self.look(value, str(self._count))
        return None, item

    def _again(self) -> BaseException | None:
        """Return the error for going on after an error: it is not known how the object did."""
        return self._serving.read_further("after its error") if self.has_raised else None

    def close(self, value: Any) -> None:
        """End early, or again."""
        if not self.is_over:
            self._serving.thrown(GeneratorExit())
        self.over(value)

    def over(self, value: Any) -> None:
        """Note that nothing more is to come."""
        self.is_over = True
        self.look(value, "end")


class _ServedStep:
    """One call of a served object's method. It is false, which tells woven code so."""

    __slots__ = ("_point", "_steps", "_value")

    def __init__(self, steps: ServedSteps, point: Point, value: Any) -> None:
        self._steps = steps
        self._point = point
        self._value = value

    def __bool__(self) -> bool:
        return False

    def outcome(self) -> tuple[BaseException | None, Any]:
        """Return (error, value) for a plain method; an asynchronous one may be plain and give an awaitable."""
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
            raise error
        return value
