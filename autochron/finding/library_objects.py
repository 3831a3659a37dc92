"""Read the objects that libraries make of a program's functions: tools by a decorator or a constructor, toolkits, agents.

No code of the program or of the library runs: attributes are read from dictionaries and slots.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from autochron._runtime.bare import dictionary_of, slot
from autochron.envelope import shapes

_SEPARATORS = re.compile(r"\W+")
_PLAIN = frozenset({bool, bytes, float, frozenset, int, list, set, tuple, type(None)})
"""Types of values without attributes."""


def attributes_of(value: Any) -> dict[str, Any]:
    """Return the attributes of an object; the private ones of a pydantic model, too."""
    attributes = shapes.attributes(value, shapes.slots_of(type(value)))
    private = slot(value, "__pydantic_private__") if shapes.is_pydantic(type(value)) else None
    return attributes | private if type(private) is dict else attributes


def names_told(attributes: dict[str, Any]) -> Iterator[str]:
    """Yield the names that an object tells of what it is: in its attributes, or in a description that it holds."""
    for key, value in attributes.items():
        kind = type(value)
        if kind is str:
            if type(key) is str and key.rstrip("_").endswith("name"):
                yield value
            continue
        if kind in _PLAIN:
            continue
        inner = value if type(value) is dict else dictionary_of(value)
        name = inner.get("name") if type(inner) is dict else None
        if type(name) is str:
            yield name


def closure_of(function: FunctionType) -> Iterator[Any]:
    """Yield the values of the variables that a nested function has of its outer functions."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # it has no value yet
            continue


def as_identifier(name: str) -> str:
    """Return a name as frameworks write it for a model: `Search the news` becomes `search_the_news`."""
    if not (name.isascii() and name.isidentifier()):
        name = _SEPARATORS.sub("_", name)
    return name.strip("_").lower()
