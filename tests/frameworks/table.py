"""Read `frameworks.toml`, which says which frameworks are tried, in which versions, and what works of each."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PYTHONS = ("3.11", "3.12")
"""The versions on which a framework is tried. On 3.11 tools are found by name only."""


class TableError(ValueError):
    """The table is malformed."""


@dataclass(frozen=True)
class Framework:
    """A framework, or an SDK of models, and the programs that it is tried with.

    Attributes:
        name: the distribution.
        version: its version.
        family: the pack that takes its model calls.
        programs: the files in `programs/`, without `.py`. Each has a case in `cases/NAME.py`.
        says: what works, and what is refused; a line of the table in docs/how-to/frameworks.md.
        needs: packages to install beside it, with versions.
        extras: its own extras.
        python: the versions of Python on which it is tried.
        environment: variables for each run, such as those that switch telemetry off.
        grpc: whether its model is called by gRPC; the provider then speaks it, too.
        models_apart: whether another process calls the model, so that the calls are no crossings of their own.
        smoke: whether each build tries it, with what requirements-packs.txt installs.
    """

    name: str
    version: str
    family: str
    programs: tuple[str, ...]
    says: str
    needs: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    python: tuple[str, ...] = PYTHONS
    environment: dict[str, str] = field(default_factory=dict)
    grpc: bool = False
    models_apart: bool = False
    smoke: bool = False

    @property
    def requirements(self) -> tuple[str, ...]:
        """The pinned packages of its venv."""
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        return (f"{self.name}{extras}=={self.version}", *self.needs)


def read_frameworks(path: Path = HERE / "frameworks.toml") -> dict[str, Framework]:
    """Return the frameworks by name, in the order of the file.

    Raises:
        TableError: an entry lacks a key, or has one that is unknown.
    """
    tables = tomllib.loads(path.read_text(encoding="utf-8"))["framework"]
    return {name: _framework(name, table) for name, table in tables.items()}


def _framework(name: str, table: dict[str, Any]) -> Framework:
    fields = Framework.__dataclass_fields__
    if unknown := table.keys() - (fields.keys() - {"name"}):
        raise TableError(f"framework {name} has an unknown key: {', '.join(sorted(unknown))}")
    if missing := {"version", "family", "programs", "says"} - table.keys():
        raise TableError(f"framework {name} lacks {', '.join(sorted(missing))}")
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    if "\n" in values["says"].strip():
        raise TableError(f"framework {name}: `says` is a line of a table, so it can't have several lines")
    return Framework(name, **values)
