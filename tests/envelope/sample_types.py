"""Value types of every kind, at module level, so that the codec can name them."""

from __future__ import annotations

import enum
from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import attrs
import msgspec
import pydantic


class Side(enum.Enum):
    BUY = "buy"
    SELL = "sell"


class Rank(enum.IntEnum):
    LOW = 1


class Permission(enum.Flag):
    READ = 1
    WRITE = 2


@dataclass
class Quote:
    symbol: str
    price: Any = 1.0
    computed: int = field(init=False, default=3)

    def __post_init__(self) -> None:
        if self.symbol == "forbidden":
            raise AssertionError("__post_init__ ran")


@dataclass(frozen=True)
class FrozenBase:
    symbol: str
    price: Any = 1.0


@dataclass(frozen=True)
class Frozen(FrozenBase):
    note: Any = None


@dataclass(frozen=True, slots=True)
class Slotted:
    a: Any
    b: Any = None


class Packet:
    """A class with slots, compared by them, with its own constructor."""

    __slots__ = ("content", "goal")

    def __init__(self, goal: str, /, content: Any) -> None:
        self.goal = goal
        self.content = content

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Packet) and (self.goal, self.content) == (other.goal, other.content)

    __hash__ = None  # type: ignore[assignment]


class Link:
    """A class with slots, compared by them, of which one is a cache."""

    __slots__ = ("_parsed", "text")

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Link) and self.text == other.text

    __hash__ = None  # type: ignore[assignment]


@attrs.define
class Attrs:
    a: Any
    b: Any = 2


@attrs.frozen(slots=False)
class FrozenAttrs:
    a: Any


Point = namedtuple("Point", "x y")


class TypedPoint(NamedTuple):
    x: Any
    y: Any = 0


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow", arbitrary_types_allowed=True)
    a: Any
    b: Any = 2
    _secret: Any = pydantic.PrivateAttr(default=None)


T = TypeVar("T")


class Box(pydantic.BaseModel, Generic[T]):
    item: T


class Strict(pydantic.BaseModel):
    n: int

    def __init__(self, **data: Any) -> None:
        if data.get("n") == 0:
            raise AssertionError("__init__ ran")
        super().__init__(**data)


class Struct(msgspec.Struct):
    a: Any
    b: Any = 2


class MyStr(str):
    __slots__ = ("note",)


class MyInt(int):
    pass


class MyFloat(float):
    pass


class MyList(list):
    def append(self, item: object) -> None:
        raise AssertionError("append ran")


class MyDict(dict):
    def __setitem__(self, key: object, value: object) -> None:
        raise AssertionError("__setitem__ ran")


class MyTuple(tuple):  # noqa: SLOT001 - the tests need a tuple with a dictionary
    pass


class MySet(set):
    pass


class MyOrdered(OrderedDict):
    pass


class Picky(Exception):
    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code


class Plain:
    pass


@dataclass
class Lost:
    gone: int
    kept: int


class LostModel(pydantic.BaseModel):
    gone: int
    kept: int
