"""Values of many kinds whose hooks note that they ran, and many ways to hand them over to a recorded function."""

import collections
import collections.abc
import dataclasses
import decimal
import enum
import fractions
import functools
import gc
import io
import os
import pathlib
import types
import typing

NOTES = []
HELD = {}
HOOKS = """
len iter eq ne lt le gt ge hash bool repr str contains getitem setitem delitem call index int float complex format sizeof
getstate dir copy deepcopy reversed length_hint bytes missing add radd or ror and sub trunc round
""".split()
OF_NO_BASE = {
    "__len__": 1, "__bool__": True, "__contains__": False, "__index__": 7, "__int__": 7, "__float__": 7.0, "__sizeof__": 64,
    "__length_hint__": 1, "__repr__": "", "__str__": "", "__format__": "", "__dir__": [], "__iter__": iter(()),
    "__getstate__": {},
}  # fmt: skip


def note(what):
    NOTES.append(what)


def noting(*bases):
    """Return a class whose hooks note their name, and then do what the base's hook does."""

    def hook(name):
        def run(self, *args):
            note(name)
            if name == "__hash__":
                return id(self)
            base_hook = getattr(bases[0], name, None) if bases else None
            return base_hook(self, *args) if base_hook is not None else OF_NO_BASE.get(name, NotImplemented)

        return run

    def get(self, name):
        note(f"get {name}")
        return (bases or (object,))[0].__getattribute__(self, name)

    def missing(self, name):
        note(f"missing {name}")
        raise AttributeError(name)

    def class_of(self):
        note("__class__")
        return type(self)

    names = [f"__{hook_name}__" for hook_name in HOOKS]
    space = {name: hook(name) for name in names if not bases or hasattr(bases[0], name)}
    space |= {
        "__getattribute__": get,
        "__getattr__": missing,
        "__class__": property(class_of),
        "__module__": __name__,
    }
    name = f"Noting{bases[0].__name__.title()}" if bases else "Noting"
    return globals().setdefault(name, type(name, bases, space))


class Proxy:
    """A proxy for another object, as libraries have them."""

    def __init__(self, held):
        object.__setattr__(self, "_held", held)

    def __getattr__(self, name):
        note(f"proxy {name}")
        return getattr(object.__getattribute__(self, "_held"), name)

    @property
    def __class__(self):
        note("__class__")
        return type(object.__getattribute__(self, "_held"))

    @property
    def __dict__(self):
        note("__dict__")
        return {}

    def __iter__(self):
        note("iter")
        return iter(object.__getattribute__(self, "_held"))

    def __len__(self):
        note("len")
        return len(object.__getattribute__(self, "_held"))


class Lazy:
    """A class with properties and descriptors, and no other attributes."""

    class Column:
        def __get__(self, instance, owner):
            note("column")
            return 5

        def __set__(self, instance, value):
            note("set column")

    column = Column()

    def __init__(self):
        self.__dict__["column"] = 3

    @property
    def total(self):
        note("total")
        return 1

    def __getattr__(self, name):
        note(f"lazy {name}")
        raise AttributeError(name)


class Slotted:
    """Has an empty slot."""

    __slots__ = ("empty", "full")

    def __init__(self):
        self.full = 1

    def __getattr__(self, name):
        note(f"slotted {name}")
        raise AttributeError(name)


class Meta(type):
    """A metaclass that overrides checks and iteration of its classes."""

    def __getattribute__(cls, name):
        note(f"meta {name}")
        return type.__getattribute__(cls, name)

    def __instancecheck__(cls, value):
        note("instancecheck")
        return False

    def __subclasscheck__(cls, other):
        note("subclasscheck")
        return False

    def __iter__(cls):
        note("meta iter")
        return iter(())

    def __bool__(cls):
        note("meta bool")
        return True


class OfMeta(metaclass=Meta):
    """A class with a metaclass."""


@dataclasses.dataclass
class Record:
    """A dataclass whose hooks note."""

    held: typing.Any = 1

    def __eq__(self, other):
        note("record eq")
        return False

    def __hash__(self):
        note("record hash")
        return 1

    @property
    def double(self):
        note("double")
        return 2


class Level(enum.Enum):
    """A member whose hooks note."""

    LOW = 1

    def __eq__(self, other):
        note("level eq")
        return self is other

    __hash__ = enum.Enum.__hash__


class Pair(typing.NamedTuple):
    """The base of the next class."""

    first: int = 1


class NotingPair(Pair):
    """A named tuple whose hooks note."""

    def __getitem__(self, at):
        note("pair item")
        return tuple.__getitem__(self, at)

    def __iter__(self):
        note("pair iter")
        return tuple.__iter__(self)


class RefusedError(Exception):
    """An error with properties."""

    def __str__(self):
        note("error str")
        return ""

    @property
    def code(self):
        note("error code")
        return 1

    def __getattr__(self, name):
        note(f"error {name}")
        raise AttributeError(name)


class Ordered:
    """A sortable item of a set."""

    def __init__(self, at):
        self.at = at

    def __lt__(self, other):
        note("lt")
        return self.at < other.at


class Items(dict):
    """A dictionary whose keys and items differ from what it stores."""

    def __getitem__(self, key):
        note("items item")
        return dict.__getitem__(self, key)

    def keys(self):
        note("items keys")
        return dict.keys(self)

    def items(self):
        note("items items")
        return dict.items(self)


class Module(types.ModuleType):
    """A module that imports its attributes lazily."""

    def __getattr__(self, name):
        note(f"module {name}")
        raise AttributeError(name)


class Called:
    """A callable object."""

    def __call__(self, *args):
        note("called")

    def __getattr__(self, name):
        note(f"called {name}")
        raise AttributeError(name)


class Read(collections.abc.Mapping):
    """A mapping that is no dictionary."""

    def __getitem__(self, key):
        note("read item")
        return 1

    def __iter__(self):
        note("read iter")
        return iter("a")

    def __len__(self):
        note("read len")
        return 1


PROXIED = ([1], {"a": 1}, "x", int, ValueError(1), len)
VALUES = {
    "object": noting(),
    "dict": lambda: noting(dict)(a=1),
    "list": lambda: noting(list)([1]),
    "tuple": lambda: noting(tuple)((1, 2)),
    "set": lambda: noting(set)([1, 2]),
    "frozenset": lambda: noting(frozenset)([1, 2]),
    "deque": lambda: noting(collections.deque)([1]),
    "ordered dict": lambda: noting(collections.OrderedDict)(a=1),
    "default dict": lambda: noting(collections.defaultdict)(list, a=1),
    "counter": lambda: noting(collections.Counter)("ab"),
    "user dict": lambda: noting(collections.UserDict)(a=1),
    "chain map": noting(collections.ChainMap),
    "namespace": noting(types.SimpleNamespace),
    "str": lambda: noting(str)("x"),
    "int": lambda: noting(int)(3),
    "float": lambda: noting(float)(1.5),
    "bytes": lambda: noting(bytes)(b"x"),
    "bytearray": lambda: noting(bytearray)(b"x"),
    "decimal": lambda: noting(decimal.Decimal)("1.5"),
    "fraction": lambda: noting(fractions.Fraction)(1, 2),
    "path": lambda: noting(type(pathlib.Path()))("x"),
    "text file": lambda: noting(io.StringIO)("x"),
    "file": lambda: noting(io.BytesIO)(b"x"),
    "error": lambda: noting(ValueError)("x"),
    "module": lambda: noting(types.ModuleType)("x"),
    "lazy": Lazy,
    "slotted": Slotted,
    "of a metaclass": OfMeta,
    "a class of a metaclass": lambda: OfMeta,
    "record": lambda: Record(noting()()),
    "enumeration": lambda: Level.LOW,
    "named tuple": lambda: NotingPair(1),
    "refused": lambda: RefusedError(1),
    "a set of objects": lambda: {Ordered(1), Ordered(2), Ordered(3)},
    "items": lambda: Items(a=1),
    "a view of items": lambda: types.MappingProxyType(Items(a=1)),
    "late module": lambda: Module("late"),
    "mapping": Read,
    "called": Called,
    "partial": lambda: functools.partial(Called(), noting()()),
    "bound method": lambda: Proxy([]).__len__,
    **{
        f"proxy of {type(each).__name__}": functools.partial(Proxy, each)
        for each in ([1], {"a": 1}, "x", int, ValueError(1), len)
    },
}


def noted(handed):
    """Hand over each value in each way, and return the hooks that ran."""
    import asyncio

    def drive(stream):
        for _ in stream:
            pass

    async def drive_async(stream):
        async for _ in stream:
            pass

    def send(value):
        stream = handed.sent()
        next(stream)
        drive(iter(lambda: stream.send(value), None))

    def through_global(value):
        handed.SHARED = value
        handed.reads_global()

    def through_default(value):
        handed.BOX[:] = [value]
        handed.has_default()
        handed.pops()

    def run(ways, make, report):
        value = make()
        HELD["value"] = value
        for name, way in ways.items():
            gc.collect()
            NOTES.clear()
            try:
                way(value)
            except Exception as error:
                note(f"raised {type(error).__name__}")
            if NOTES:
                report[name] = tuple(NOTES)

    ways = {
        "returned": lambda _: handed.gives(),
        "taken": handed.takes,
        "taken by name": lambda value: handed.takes_named(value=value),
        "caught": lambda value: handed.catches(value, value, named=value),
        "handed back": handed.same,
        "in a list": handed.in_list,
        "in a dictionary": handed.in_dict,
        "in a tuple": handed.in_tuple,
        "taken in a list": lambda value: handed.takes([value]),
        "taken in an object": lambda value: handed.takes(handed.Holder(value)),
        "global": through_global,
        "closed over": lambda value: handed.makes(value)(),
        "taken in a closure": lambda value: handed.takes(handed.makes(value)),
        "in an error": handed.fails,
        "on an error": handed.fails_with,
        "given": lambda value: drive(handed.stream(value)),
        "sent": send,
        "of self": lambda value: handed.Holder(value).run(),
        "put into self": lambda value: handed.Holder(1).put(value),
        "awaited": lambda value: asyncio.new_event_loop().run_until_complete(handed.later(value)),
        "given later": lambda value: asyncio.new_event_loop().run_until_complete(drive_async(handed.stream_later(value))),
        "default": through_default,
        "put into an argument": lambda value: handed.puts(value, []),
    }  # fmt: skip
    gc.disable()
    report_by_kind = {}
    for kind, make in VALUES.items():
        if only := os.environ.get("ONLY"):
            if kind not in only.split(","):
                continue
        run(ways, make, report_by_kind.setdefault(kind, {}))
    return report_by_kind
