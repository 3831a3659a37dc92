"""Pairs of values with one difference each: a tool's argument in the recording, and its argument in the replay."""

import array
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import functools
import io
import pathlib
import re
import sys
import types
import uuid
import zoneinfo
from collections.abc import Callable
from typing import Any, NamedTuple

import attrs
import msgspec
import pydantic


class Color(enum.Enum):
    RED = "red"
    PINK = "pink"


class Level(enum.IntEnum):
    LOW = 1


class Access(enum.Flag):
    READ = 1
    WRITE = 2


@dataclasses.dataclass
class Order:
    item: str
    _note: str = ""


@dataclasses.dataclass
class Offer:
    item: str
    _note: str = ""


@attrs.define
class Parcel:
    item: str


@attrs.define
class Letter:
    item: str


class Point(NamedTuple):
    x: int
    y: int


class Size(NamedTuple):
    x: int
    y: int


class Model(pydantic.BaseModel):
    item: str


class Seen(pydantic.BaseModel):
    item: str
    _seen: int = pydantic.PrivateAttr(default=0)


class OtherModel(pydantic.BaseModel):
    item: str


class Struct(msgspec.Struct):
    item: str


class OtherStruct(msgspec.Struct):
    item: str


class Text(str):
    __slots__ = ("__dict__",)


class Ledger(dict):
    pass


class Basket(list):
    pass


class RefusedError(ValueError):
    pass


class Shop:
    def __init__(self, limit: Any) -> None:
        self.limit = limit

    def refund(self) -> None:
        """Do nothing."""


def with_attribute(owner: Any, name: str, value: Any) -> Any:
    """Set an attribute of an object and return the object."""
    setattr(owner, name, value)
    return owner


def make_tool(limit: Any) -> Callable[[], Any]:
    """Return a closure."""

    def tool() -> Any:
        return limit

    return tool


def with_default(limit: Any) -> Callable[..., Any]:
    """Return a function with a default."""

    def tool(most: Any = limit) -> Any:
        return most

    return tool


def advanced(iterator: Any, steps: int) -> Any:
    """Return an iterator after reading some of its items."""
    for _ in range(steps):
        next(iterator)
    return iterator


def counting(to: int) -> Any:
    """Yield numbers."""
    yield from range(to)


_opened: list[Any] = []


def opened(mode: str) -> Any:
    """Open this file."""
    _opened.append(open(__file__, mode))  # never written
    return _opened[-1]


def close_all() -> None:
    """Close the files that `opened` opened."""
    while _opened:
        _opened.pop().close()


def at(stream: Any, position: int) -> Any:
    """Return a file after moving to a position."""
    stream.seek(position)
    return stream


def nested(depth: int, last: Any) -> Any:
    """Return lists in lists."""
    value = last
    for _ in range(depth):
        value = [value]
    return value


def linked(length: int, last: Any) -> Any:
    """Return objects of the program's own, each an attribute of the one before."""
    link = last
    for _ in range(length):
        link = Shop(link)
    return link


@dataclasses.dataclass(eq=False)
class Member:
    """A member of a team. The members know one another."""

    name: str
    peers: Any = ()
    _notes: list[Any] = dataclasses.field(default_factory=list)


def team(then: int = 0, note: str = "", kind: type = list) -> Any:
    """Return three members who know one another, and one of them."""
    members = [Member(name) for name in ("Ann", "Bob", "Cy")]
    for member in members:
        member.peers = kind(members)
    members[1]._notes.append({"of": members[2], "text": note})
    return {"members": members, "then": members[then]}


def ring(length: int, last: Any) -> Any:
    """Return a list that leads to itself by way of others, one of which holds something."""
    first: list[Any] = []
    link: Any = [first, last]
    for _ in range(length):
        link = [link]
    first.append(link)
    return first


def shelf(*books: str) -> Any:
    """Return an object with a set of objects that know it."""
    shelf = Shop(0)
    shelf.limit = {Member(name, peers=shelf) for name in books}
    return shelf


def caused(cause: BaseException) -> BaseException:
    """Return an error with a cause."""
    error = RefusedError("no")
    error.__cause__ = cause
    return error


UTC = dt.UTC
_NOON = dt.datetime(2026, 10, 25, 2, 30)
_BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")

# By name: (value recorded, value replayed, text that the message contains).
PAIRS: dict[str, tuple[Callable[[], Any], Callable[[], Any], str]] = {
    # --- values that contain themselves
    "which one is met again": (lambda: team(then=0), lambda: team(then=2), "cycle"),
    "a type on a cycle": (lambda: team(kind=list), lambda: team(kind=tuple), "tuple"),
    "private state on a cycle": (lambda: team(note="a"), lambda: team(note="b"), "b"),
    "a set of parts that refer back": (lambda: shelf("a", "b", "c"), lambda: shelf("a", "b", "d"), "d"),
    "far along a ring": (lambda: ring(300, 1), lambda: ring(300, 2), "rest"),
    # --- values of different types
    "decimal and text": (lambda: decimal.Decimal("1.50"), lambda: "1.50", "Decimal"),
    "decimal and float": (lambda: decimal.Decimal("1.5"), lambda: 1.5, "1.5"),
    "decimal places": (lambda: decimal.Decimal("1.50"), lambda: decimal.Decimal("1.5"), "1.50"),
    "fraction and text": (lambda: fractions.Fraction(1, 2), lambda: "1/2", "Fraction"),
    "date and text": (lambda: dt.date(2026, 1, 2), lambda: "2026-01-02", "date"),
    "datetime and text": (lambda: _NOON, lambda: "2026-10-25T02:30:00", "datetime"),
    "time and text": (lambda: dt.time(1, 2), lambda: "01:02:00", "time"),
    "duration and text": (lambda: dt.timedelta(seconds=1), lambda: "PT1S", "timedelta"),
    "naive and aware": (lambda: _NOON, lambda: _NOON.replace(tzinfo=UTC), "2026-10-25T02:30:00"),
    "zone and offset": (
        lambda: _NOON.replace(tzinfo=_BERLIN),
        lambda: _NOON.replace(tzinfo=dt.timezone(dt.timedelta(hours=2))),
        "Europe/Berlin",
    ),
    "fold": (lambda: _NOON, lambda: _NOON.replace(fold=1), "fold"),
    "path and text": (lambda: pathlib.Path("a/b"), lambda: "a/b", "PosixPath"),
    "pure path and path": (lambda: pathlib.PurePosixPath("a"), lambda: pathlib.Path("a"), "PurePosixPath"),
    "bytes and text": (lambda: b"ab", lambda: "YWI=", "bytes"),
    "bytes and bytearray": (lambda: b"ab", lambda: bytearray(b"ab"), "bytearray"),
    "bytes and memory": (lambda: b"ab", lambda: memoryview(b"ab"), "memoryview"),
    "uuid and text": (lambda: uuid.UUID(int=5), lambda: str(uuid.UUID(int=5)), "UUID"),
    "member and value": (lambda: Color.RED, lambda: "red", "RED"),
    "another member": (lambda: Color.RED, lambda: Color.PINK, "pink"),
    "number and its member": (lambda: 1, lambda: Level.LOW, "LOW"),
    "flags": (lambda: Access.READ, lambda: Access.READ | Access.WRITE, "3"),
    "true and one": (lambda: True, lambda: 1, "true"),
    "one and one point zero": (lambda: 1, lambda: 1.0, "1.0"),
    "dataclasses": (lambda: Order("mug"), lambda: Offer("mug"), "Offer"),
    "dataclass and dict": (lambda: Order("mug"), lambda: {"item": "mug", "_note": ""}, "Order"),
    "attrs classes": (lambda: Parcel("mug"), lambda: Letter("mug"), "Letter"),
    "named tuples": (lambda: Point(1, 2), lambda: Size(1, 2), "Size"),
    "named tuple and tuple": (lambda: Point(1, 2), lambda: (1, 2), "Point"),
    "models": (lambda: Model(item="mug"), lambda: OtherModel(item="mug"), "OtherModel"),
    "model and dict": (lambda: Model(item="mug"), lambda: {"item": "mug"}, "Model"),
    "structs": (lambda: Struct("mug"), lambda: OtherStruct("mug"), "OtherStruct"),
    "list and tuple": (lambda: [1, 2], lambda: (1, 2), "tuple"),
    "list and set": (lambda: [1, 2], lambda: {1, 2}, "set"),
    "set and frozen set": (lambda: {1}, lambda: frozenset({1}), "frozenset"),
    "tuple in a set": (lambda: {(1, 2)}, lambda: {frozenset({1, 2})}, "set"),
    "list and range": (lambda: [0, 3, 1], lambda: range(3), "range"),
    "range and slice": (lambda: range(0, 3, 1), lambda: slice(0, 3, 1), "slice"),
    "list and deque": (lambda: [1], lambda: collections.deque([1]), "deque"),
    "length of a deque": (lambda: collections.deque([1], 3), lambda: collections.deque([1], 4), "3"),
    "dict and ordered": (lambda: {"a": 1}, lambda: collections.OrderedDict(a=1), "OrderedDict"),
    "order of an ordered": (
        lambda: collections.OrderedDict(a=1, b=2),
        lambda: collections.OrderedDict(b=2, a=1),
        "order",
    ),
    "dict and default": (lambda: {"a": 1}, lambda: collections.defaultdict(list, a=1), "defaultdict"),
    "what a default is": (
        lambda: collections.defaultdict(list, a=1),
        lambda: collections.defaultdict(set, a=1),
        "list",
    ),
    "dict and counter": (lambda: {"a": 1}, lambda: collections.Counter("a"), "Counter"),
    "dict and its proxy": (lambda: {"a": 1}, lambda: types.MappingProxyType({"a": 1}), "mappingproxy"),
    "namespace and dict": (lambda: types.SimpleNamespace(a=1), lambda: {"a": 1}, "SimpleNamespace"),
    "complex and list": (lambda: complex(1, 2), lambda: [1.0, 2.0], "complex"),
    "number and text as key": (lambda: {1: "a"}, lambda: {"1": "a"}, "$dict"),
    "number and true as key": (lambda: {1: "a"}, lambda: {True: "a"}, "was 1, now it is true"),
    "keys of one text": (lambda: {1: "a", "1": "b"}, lambda: {1: "c", "1": "b"}, '"a"'),
    "tuple and text as key": (lambda: {(1, 2): "a"}, lambda: {"(1, 2)": "a"}, "$dict"),
    "a forged object": (object, lambda: {"$opaque": "builtins:object"}, "now it is dict"),
    "a forged class": (lambda: Order, lambda: {"$ref": "tests.replaying.honest_values:Order"}, "dict"),
    "a forged error": (
        lambda: ValueError("a"),
        lambda: {"$error": "builtins:ValueError", "args": ["a"]},
        "ValueError",
    ),
    "a forged tree": (lambda: {"a": (1,)}, lambda: {"a": [1], "$types": {"a": "tuple"}}, "$types"),
    "half a character": (lambda: "\udc80", lambda: "\\udc80", "udc80"),
    # --- numbers that JSON does not have
    "nan and none": (lambda: [float("nan")], lambda: [None], "nan"),
    "infinities": (lambda: [float("inf")], lambda: [float("-inf")], "-inf"),
    "infinity and none": (lambda: {"a": float("inf")}, lambda: {"a": None}, "inf"),
    "zeros": (lambda: [0.0], lambda: [-0.0], "-0.0"),
    "nan and infinity": (lambda: {"a": [float("nan")]}, lambda: {"a": [float("inf")]}, "nan"),
    "large numbers": (lambda: 2**70, lambda: 2**70 + 1, str(2**70)),
    "large number and text": (lambda: 2**70, lambda: hex(2**70), "0x4"),
    "a digit far behind": (lambda: 0.1 + 0.2, lambda: 0.3, "0.30000000000000004"),
    # --- state
    "closures": (lambda: make_tool(5), lambda: make_tool(6), "limit"),
    "closures over objects": (lambda: make_tool(Shop(5)), lambda: make_tool(Shop(6)), "limit"),
    "closures over types": (lambda: make_tool((1,)), lambda: make_tool([1]), "limit"),
    "defaults": (lambda: with_default(5), lambda: with_default(6), "defaults"),
    "attributes of a function": (
        lambda: with_attribute(make_tool(1), "tries", 1),
        lambda: with_attribute(make_tool(1), "tries", 2),
        "tries",
    ),
    "functions": (lambda: make_tool, lambda: with_default, "with_default"),
    "bound methods": (lambda: Shop(5).refund, lambda: Shop(6).refund, "__self__"),
    "builtin methods": (lambda: [1].append, lambda: [2].append, "__self__"),
    "partials": (lambda: functools.partial(make_tool, 1), lambda: functools.partial(make_tool, 2), "args"),
    "partials of closures": (
        lambda: functools.partial(make_tool(1)),
        lambda: functools.partial(make_tool(2)),
        "limit",
    ),
    "an iterator's place": (
        lambda: advanced(iter([1, 2, 3]), 1),
        lambda: advanced(iter([1, 2, 3]), 2),
        "(rest)",
    ),
    "an iterator's items": (lambda: iter([1, 2]), lambda: iter([1, 3]), "(rest)"),
    "iterators of a range": (
        lambda: advanced(iter(range(9)), 1),
        lambda: advanced(iter(range(9)), 4),
        "(rest)",
    ),
    "enumerations": (lambda: enumerate([1]), lambda: enumerate([2]), "(rest)"),
    "zipped": (lambda: zip([1], [2], strict=False), lambda: zip([1], [3], strict=False), "(rest)"),
    "maps": (lambda: map(str, [1]), lambda: map(str, [2]), "(rest)"),
    "generators": (lambda: counting(3), lambda: counting(4), "to"),
    "a file's place": (lambda: at(opened("rb"), 0), lambda: at(opened("rb"), 9), "9"),
    "a file's mode": (lambda: opened("rb"), lambda: opened("rb+"), "Buffered"),
    "texts in memory": (lambda: io.StringIO("a"), lambda: io.StringIO("b"), "digest"),
    "a place in memory": (lambda: at(io.BytesIO(b"ab"), 0), lambda: at(io.BytesIO(b"ab"), 1), "position"),
    "arrays": (lambda: array.array("i", [1]), lambda: array.array("i", [2]), "digest"),
    "types of arrays": (lambda: array.array("i", [1]), lambda: array.array("q", [1]), "i"),
    "patterns": (lambda: re.compile("a"), lambda: re.compile("b"), "pattern"),
    "flags of patterns": (lambda: re.compile("a"), lambda: re.compile("a", re.IGNORECASE), "flags"),
    "texts with attributes": (
        lambda: with_attribute(Text("a"), "lang", "de"),
        lambda: with_attribute(Text("a"), "lang", "en"),
        "lang",
    ),
    "text and its subclass": (lambda: "a", lambda: Text("a"), "Text"),
    "dicts with attributes": (
        lambda: with_attribute(Ledger(a=1), "owner", 1),
        lambda: with_attribute(Ledger(a=1), "owner", 2),
        "owner",
    ),
    "list and its subclass": (lambda: [1], lambda: Basket([1]), "Basket"),
    "errors with attributes": (
        lambda: with_attribute(RefusedError("no"), "code", 1),
        lambda: with_attribute(RefusedError("no"), "code", 2),
        "code",
    ),
    "errors": (lambda: RefusedError("no"), lambda: ValueError("no"), "ValueError"),
    "causes": (lambda: caused(KeyError("a")), lambda: caused(KeyError("b")), "__cause__"),
    "files of errors": (lambda: OSError(2, "no", "a"), lambda: OSError(2, "no", "b"), "filename"),
    "groups of errors": (
        lambda: ExceptionGroup("g", [KeyError("a")]),
        lambda: ExceptionGroup("g", [KeyError("b")]),
        "args.1.0",
    ),
    "private fields": (lambda: Order("mug", "a"), lambda: Order("mug", "b"), "_note"),
    "private attributes": (
        lambda: Model(item="a"),
        lambda: with_attribute(Model(item="a"), "_seen", 1),
        "_seen",
    ),
    "objects": (lambda: Shop(1), lambda: Shop(2), "limit"),
    "objects in objects": (lambda: Shop(Shop((1,))), lambda: Shop(Shop([1])), "limit.limit"),
    # --- depth and size
    "deep lists": (lambda: nested(300, 1), lambda: nested(300, 2), "was 1, now it is 2"),
    "deep types": (lambda: nested(120, (1,)), lambda: nested(120, [1]), "(rest)"),
    "very deep lists": (
        lambda: nested(20_000, 1),
        lambda: nested(20_000, 2),
        "(rest)" if sys.version_info < (3, 14) else "was 1, now it is 2",
    ),
    "deep objects": (lambda: linked(150, 1), lambda: linked(150, 2), "(rest)"),
    "long lists": (lambda: [*range(50_000), 1], lambda: [*range(50_000), 2], "50000"),
    "long lists of types": (lambda: [*range(50_000), (1,)], lambda: [*range(50_000), [1]], "50000"),
    "large objects": (lambda: Shop([*range(9_000), 1]), lambda: Shop([*range(9_000), 2]), "(rest)"),
    "many objects": (
        lambda: [Shop(1) for _ in range(300)],
        lambda: [*(Shop(1) for _ in range(299)), Shop(2)],
        "299",
    ),
    "long texts": (lambda: "a" * 300_000 + "b", lambda: "a" * 300_000 + "c", "aab"),
}
