"""The kind of value that a class makes, judged by the class alone, and where its instances keep their state.

Libraries are recognised by what they leave on a class, or through `sys.modules`. None is imported for it.
"""

from __future__ import annotations

import collections
import enum
import sys
import types
from typing import Any, Literal, TypeAlias, cast

import msgspec

from autochron._runtime.bare import bases_of, class_attribute, dictionary_of, space_of, text
from autochron._runtime.class_table import ClassTable

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
    "message",
    "namespace",
    "none",
]

# The first of these in a class's MRO has its content. Subclasses stand before their bases.
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
_flags_of: Any = type.__dict__["__flags__"].__get__
_dictoffset_of: Any = type.__dict__["__dictoffset__"].__get__
_SLOT = types.MemberDescriptorType
_HTTP = ("Request", "Response", "URL", "Headers")


_kinds: ClassTable[Kind] = ClassTable()
_slots: ClassTable[tuple[tuple[str, Any], ...]] = ClassTable()


def kind_of(cls: type) -> Kind:
    """Return how the instances of a class are stored; `none` means that it is no value type."""
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
    if is_message(cls):
        return "message"
    if cls is types.SimpleNamespace:
        return "namespace"
    return _container_kind(cls)


def _container_kind(cls: type) -> Kind:
    base = container_base(cls)
    if base is tuple and is_namedtuple(cls):
        return "namedtuple"
    if base is tuple and class_attribute(cls, "n_sequence_fields") is not None:
        return "sequence"
    if base is not None:
        return "container" if _python_made(cls, base) else "none"
    if is_record(cls) or _is_slotted(cls):
        return "record" if _python_made(cls, object) else "none"
    return "none"


def pydantic_names(cls: Any) -> frozenset[str]:
    """Return the names of a model's fields, and of all that its class and its bases define."""
    fields = class_attribute(cls, "__pydantic_fields__")
    if type(fields) is not dict:  # before pydantic 2.10
        fields = class_attribute(cls, "model_fields")
    names = fields if type(fields) is dict else ()
    return frozenset({*names, *(name for base in bases_of(cls) for name in space_of(base))})


def is_pydantic(cls: type) -> bool:
    """Return whether a class is a model of pydantic (version 2)."""
    module = sys.modules.get("pydantic.main")
    model = getattr(module, "BaseModel", None)
    return isinstance(model, type) and issubclass(cls, model)


def is_message(cls: type) -> bool:
    """Return whether a class is one of messages of protocol buffers."""
    base = getattr(sys.modules.get("google.protobuf.message"), "Message", None)
    return isinstance(base, type) and issubclass(cls, base) and class_attribute(cls, "DESCRIPTOR") is not None


def is_record(cls: type) -> bool:
    """Return whether a class is a dataclass or an attrs class."""
    return isinstance(class_attribute(cls, "__dataclass_fields__"), dict) or isinstance(
        class_attribute(cls, "__attrs_attrs__"), tuple
    )


def field_names(cls: type) -> frozenset[str]:
    """Return the names of the fields of a dataclass, of an attrs class or of a class with slots."""
    return frozenset([*_declared(cls), *(name for name, _ in slots_of(cls))])


def _declared(cls: type) -> list[str]:
    attrs = class_attribute(cls, "__attrs_attrs__") or ()
    return [*(class_attribute(cls, "__dataclass_fields__") or ()), *(field.name for field in attrs)]


def _is_slotted(cls: type) -> bool:
    """Return whether a class is a value type without being declared one: equal by its slots, which are all public.

    A private slot may be a cache, and then it is neither compared nor rebuilt.
    """
    if class_attribute(cls, "__eq__") is space_of(object)["__eq__"] or _dictoffset_of(cls):
        return False
    bases = bases_of(cls)[:-1]
    names = [name for base in bases for name, _ in slots_of(base)]
    return bool(names) and not any(name.startswith("_") for name in names)


def runs_code(cls: type) -> bool:
    """Return whether msgspec would run code of the program or of SQLAlchemy to read an instance's fields or items."""
    if issubclass(cls, (set, frozenset)):
        return any(type(class_attribute(cls, name)) is types.FunctionType for name in ("__iter__", "__len__"))
    if not is_record(cls):
        return False
    read = class_attribute(cls, "__getattribute__")
    if read is not space_of(object)["__getattribute__"] or class_attribute(cls, "__getattr__") is not None:
        return True
    for name in _declared(cls):
        attribute = class_attribute(cls, name)
        if (
            type(attribute) is not _SLOT
            and hasattr(type(attribute), "__get__")
            and hasattr(type(attribute), "__set__")
        ):
            return True
    return False


def is_namedtuple(cls: type) -> bool:
    """Return whether a class is a named tuple, made by `collections` or by `typing`."""
    fields = class_attribute(cls, "_fields")
    return isinstance(fields, tuple) and all(isinstance(name, str) for name in fields)


def http_class(cls: type) -> str:
    """Return `Request`, `Response`, `URL` or `Headers` if a class is exactly that one of httpx or httpx2, else ''."""
    for library in ("httpx", "httpx2"):
        module = sys.modules.get(library)
        if module is not None:
            for name in _HTTP:
                if vars(module).get(name) is cls:
                    return name
    return ""


def container_base(cls: type) -> type | None:
    """Return the builtin container or scalar that a class extends; None where there is none."""
    for base in bases_of(cls):
        if _is_one_of(base, CONTAINERS):
            return cast("type", base)
    return None


def _is_one_of(cls: type, candidates: tuple[type, ...]) -> bool:
    """Return whether a class is one of some, by identity: a metaclass may define `__eq__` and `__hash__`."""
    return any(cls is candidate for candidate in candidates)


def _python_made(cls: type, base: type) -> bool:
    """Return whether all classes before a base in the MRO are written in Python: those in C may have hidden state."""
    for ancestor in bases_of(cls):
        if ancestor is base:
            return True
        if not _flags_of(ancestor) & _HEAP_TYPE:
            return ancestor is object or _is_one_of(ancestor, CONTAINERS)
    return True


struct_fields: Any = vars(type(msgspec.Struct))["__struct_fields__"].__get__
"""Returns the names of a msgspec Struct's fields, past any attribute of the class."""


def slots_of(cls: type) -> tuple[tuple[str, Any], ...]:
    """Return (name, descriptor) for each slot that a class or its bases written in Python declare, bases first."""
    return _slots.find_lasting(cls, _slots_of)


def _slots_of(cls: type) -> tuple[tuple[str, Any], ...]:
    slots: dict[str, Any] = {}
    for ancestor in reversed(bases_of(cls)):
        space = space_of(ancestor)
        if "__slots__" in space and not text(ancestor, "__module__").startswith("pydantic."):
            slots.update((name, value) for name, value in space.items() if type(value) is _SLOT)
    return tuple(slots.items())


def attributes(value: Any, slots: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    """Return an instance's own attributes: the slots that are set, then its dictionary. It runs no property.

    Args:
        value: the instance.
        slots: those of its class, see `slots_of`.
    """
    state: dict[str, Any] = {}
    for name, slot in slots:
        try:
            state[name] = slot.__get__(value)
        except AttributeError:
            continue
    own = dictionary_of(value)
    if own is not None:
        state.update(dict.items(own))
    return state


def set_attributes(value: Any, state: dict[str, Any]) -> None:
    """Set attributes without calling the class's `__setattr__`."""
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
