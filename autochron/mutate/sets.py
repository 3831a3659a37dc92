"""The named sets of operators, which are data in `mutation/operators.toml`."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from autochron.errors import UsageError
from autochron.extras import extra
from autochron.rules.nearest import hint

Places: TypeAlias = Literal["body", "thresholds"]
"""What a set changes: `body`, the target's body; `thresholds`, the constants and defaults that the target uses."""

_PACKAGE = Path(__file__).parent.parent


class OperatorSet(Struct, frozen=True):
    """Operators that are tried together.

    Attributes:
        name: the name of the set.
        about: its purpose.
        operators: the names of the operators, in the order in which they are tried.
        places: what they change.
    """

    name: str
    about: str
    operators: tuple[str, ...]
    places: Places = "body"


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    about: str
    operators: tuple[str, ...] = ()
    extends: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    places: Places = "body"


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    version: Literal[1]
    set: tuple[_Table, ...]


def set_names() -> tuple[str, ...]:
    """Return the names of all sets."""
    return tuple(_tables())


def operator_set(name: str) -> OperatorSet:
    """Return a set by its name.

    Raises:
        MissingExtraError: cosmic-ray is not installed.
        UsageError: there is no such set.
    """
    if name not in _tables():
        raise UsageError(f"there is no operator set `{name}`{hint(set_names(), name)}")
    table = _tables()[name]
    return OperatorSet(table.name, table.about, _members(table), table.places)


def set_file() -> Path:
    """Return the path of the file with the sets: in the package, or beside it in a checkout."""
    shipped = _PACKAGE / "mutate" / "data" / "operators.toml"
    return shipped if shipped.is_file() else _PACKAGE.parent / "mutation" / "operators.toml"


@lru_cache(maxsize=1)
def _tables() -> dict[str, _Table]:
    read = msgspec.toml.decode(set_file().read_bytes(), type=_File)
    return {table.name: table for table in read.set}


def _members(table: _Table) -> tuple[str, ...]:
    """Return the operators of a set and of the sets that it extends, each once, in the order of `operator_names`."""
    with extra("mutate", "mutation"):
        # Lazy: cosmic-ray is an extra, and the names of the sets are known without it.
        from autochron.mutate.operators import nearest_operator, operator_names
    taken = {name for extended in table.extends for name in _members(_tables()[extended])}
    for pattern in table.operators:
        matching = {name for name in operator_names() if fnmatchcase(name, pattern)}
        if not matching:
            raise UsageError(
                f"{set_file().name}: no operator fits `{pattern}` of the set `{table.name}`; {nearest_operator(pattern)}"
            )
        taken |= matching
    left_out = {name for name in taken for pattern in table.without if fnmatchcase(name, pattern)}
    return tuple(name for name in operator_names() if name in taken - left_out)
