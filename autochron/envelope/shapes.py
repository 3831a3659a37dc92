"""What kind of value a class makes, told from the class alone, and where its instances keep their state.

Libraries are recognised by what they leave on a class, or through `sys.modules`; none is imported for it.
"""

from __future__ import annotations

import collections
import enum
import sys
import types
from typing import Any, Literal, TypeAlias

import msgspec

from autochron._class_table import ClassTable

Kind: TypeAlias = Literal[
    "exception",
    "enum",
    "pydantic",
    "struct",
    "record",
    "namedtuple",
    "sequence",
    "container",
    "http",
    "namespace",
    "none",
]

# The nearest of these in a class's order of resolution is what holds its content; subclasses before bases.
CONTAINERS: tuple[type, ...] = (
    collections.OrderedDict,
    collections.Counter,
    collections.defaultdict,
    collections.deque,
    dict,
    list,
    tuple,
    set,
    frozenset,
    str,
    int,
    float,
    complex,
    bytes,
    bytearray,
)
_HEAP_TYPE = 1 << 9
_SLOT = types.MemberDescriptorType
_HTTP = ("Request", "Response", "URL", "Headers")


_kinds: ClassTable[Kind] = ClassTable()
_slots: ClassTable[tuple[tuple[str, Any], ...]] = ClassTable()


def kind_of(cls: type) -> Kind:
    """Tell how an instance is stored; `none` is no value type."""
    return _kinds.find(cls, _kind_of)


def _kind_of(cls: type) -> Kind:
    if issubclass(cls, BaseException):
        return "exception"
    if issubclass(cls, enum.Enum):
        return "enum"
    if is_pydantic(cls):
        return "pydantic"
    if issubclass(cls, msgspec.Struct):
        return "struct"
    if http_class(cls):
        return "http"
    if cls is types.SimpleNamespace:
        return "namespace"
    return _container_kind(cls)


def _container_kind(cls: type) -> Kind:
    base = container_base(cls)
    if base is tuple and is_namedtuple(cls):
        return "namedtuple"
    if base is tuple and hasattr(cls, "n_sequence_fields"):
        return "sequence"
    if base is not None:
        return "container" if _python_made(cls, base) else "none"
    if is_record(cls) or _is_slotted(cls):
        return "record" if _python_made(cls, object) else "none"
    return "none"


def is_pydantic(cls: type) -> bool:
    """Tell whether it is a pydantic (version 2) model."""
    module = sys.modules.get("pydantic.main")
    model = getattr(module, "BaseModel", None)
    return isinstance(model, type) and issubclass(cls, model)


def is_record(cls: type) -> bool:
    """Tell whether it is a dataclass or an attrs class."""
    return isinstance(getattr(cls, "__dataclass_fields__", None), dict) or isinstance(
        getattr(cls, "__attrs_attrs__", None), tuple
    )


def field_names(cls: type) -> frozenset[str]:
    """Name the fields of a dataclass, of an attrs class or of one with slots."""
    return frozenset(
        [
            *getattr(cls, "__dataclass_fields__", ()),
            *(field.name for field in getattr(cls, "__attrs_attrs__", ())),
            *(name for name, _ in slots_of(cls)),
        ]
    )


def _is_slotted(cls: type) -> bool:
    """Tell whether it is a value type without being declared one: equal by what stands in slots, which are all public.

    What is private may be a cache, and is then neither compared nor rebuilt.
    """
    equal: Any = cls.__eq__
    if equal is object.__eq__ or cls.__dictoffset__:
        return False
    bases = cls.__mro__[:-1]
    names = [name for base in bases for name, _ in slots_of(base)]
    return bool(names) and not any(name.startswith("_") for name in names)


def runs_code(cls: type) -> bool:
    """Tell whether `getattr` of a record's fields would run code of the program, or of SQLAlchemy."""
    if not is_record(cls):
        return False
    read: Any = cls.__getattribute__
    if read is not object.__getattribute__ or hasattr(cls, "__getattr__"):
        return True
    fields = [*getattr(cls, "__dataclass_fields__", ())]
    fields += [field.name for field in getattr(cls, "__attrs_attrs__", ())]
    for name in fields:
        held = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
        if type(held) is not _SLOT and hasattr(type(held), "__get__") and hasattr(type(held), "__set__"):
            return True
    return False


def is_namedtuple(cls: type) -> bool:
    """Tell whether it is a named tuple, of either maker."""
    fields = getattr(cls, "_fields", None)
    return isinstance(fields, tuple) and all(isinstance(name, str) for name in fields)


def http_class(cls: type) -> str:
    """Give `Request`, `Response`, `URL` or `Headers` for that class of httpx or httpx2 itself, else ''."""
    for library in ("httpx", "httpx2"):
        module = sys.modules.get(library)
        if module is not None:
            for name in _HTTP:
                if vars(module).get(name) is cls:
                    return name
    return ""


def container_base(cls: type) -> type | None:
    """Give the builtin container or scalar that a class extends."""
    for base in cls.__mro__:
        if base in CONTAINERS:
            return base
    return None


def _python_made(cls: type, base: type) -> bool:
    """Tell whether all before a base was written in Python: C types keep state that we can't see."""
    for ancestor in cls.__mro__:
        if ancestor is base:
            return True
        if not ancestor.__flags__ & _HEAP_TYPE:
            return ancestor is object or ancestor in CONTAINERS
    return True


def slots_of(cls: type) -> tuple[tuple[str, Any], ...]:
    """Give (name, descriptor) for the slots that Python classes declare, bases first."""
    return _slots.find_lasting(cls, _slots_of)


def _slots_of(cls: type) -> tuple[tuple[str, Any], ...]:
    found: dict[str, Any] = {}
    for ancestor in reversed(cls.__mro__):
        space = vars(ancestor)
        if "__slots__" in space and not ancestor.__module__.startswith("pydantic."):
            found.update((name, value) for name, value in space.items() if type(value) is _SLOT)
    return tuple(found.items())


def attributes(value: Any, slots: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    """Read the instance's own attributes: slots that are set, then its dictionary. No property runs."""
    found: dict[str, Any] = {}
    for name, slot in slots:
        try:
            found[name] = slot.__get__(value)
        except AttributeError:
            continue
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return found
    if isinstance(own, dict):
        found.update(own)
    return found


def set_attributes(value: Any, state: dict[str, Any]) -> None:
    """Write attributes past any `__setattr__` of the class."""
    if not state:
        return
    slots = dict(slots_of(type(value)))
    own: Any = None
    for name, item in state.items():
        if name in slots:
            slots[name].__set__(value, item)
            continue
        if own is None:
            own = object.__getattribute__(value, "__dict__")
        own[name] = item
