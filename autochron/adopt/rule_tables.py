"""Make the `[[boundary]]` tables that do what the marks did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from autochron._runtime.unpatched import os
from autochron.adopt.import_names import ImportNames
from autochron.adopt.reading import FunctionMark, SdkMark
from autochron.errors import AdoptionError
from autochron.model import BoundaryRule, Rules
from autochron.rules.editing import NewTable
from autochron.rules.packs import pack_folder
from autochron.rules.tables import parse_toml
from autochron.rules.text import read_text

_CHAT = {"openai": "openai.chat", "anthropic": "anthropic.messages"}
"""The rule of a pack for the one method that Chronicle wraps."""


def rule_tables(
    marks: Iterable[FunctionMark], sdks: Iterable[SdkMark], rules: Rules | None, root: str
) -> list[NewTable]:
    """Return a table for each marked function and each wrapped library, without those that the rules have already.

    Args:
        marks: the marked functions.
        sdks: the wrapped clients.
        rules: the present rules; None where there are none.
        root: the folder that names of modules start from.

    Raises:
        AdoptionError: the rules have another table for the same function.
    """
    marks = list(marks)
    naming = ImportNames({mark.definition.path for mark in marks}, root)
    present = () if rules is None else tuple(rule for rule in rules.boundaries if rule.pack is None)
    tables: dict[object, NewTable] = {}
    for mark in marks:
        for module in naming.names(mark.definition.path):
            selector = f"{module}:{mark.definition.qualname}"
            if not _is_present(mark, selector, present):
                tables[mark.definition, module] = _table(mark, selector)
    for sdk in sdks:
        table = _table_of_pack(sdk)
        targets = table.pop("target")
        if not any(rule.name == sdk.name and str(rule.selector) in targets for rule in present):
            tables[sdk.pack] = NewTable(
                "boundary",
                (
                    ("name", sdk.name),
                    ("kind", "model"),
                    ("target", targets),
                    ("codec", "http"),
                    *table.items(),
                ),
            )
    return list(tables.values())


def _is_present(mark: FunctionMark, selector: str, present: tuple[BoundaryRule, ...]) -> bool:
    """Return whether the rules have the table of a mark.

    Raises:
        AdoptionError: they have another one for the same function.
    """
    for rule in present:
        if str(rule.selector) == selector:
            if (rule.name, rule.kind, rule.capture) == (mark.name, mark.kind, mark.capture):
                return True
            raise AdoptionError(
                f"{mark.definition.real}:{mark.line}: `{mark.definition.qualname}` is marked as `{mark.name}`, and "
                f"{rule.place} has another rule for it, `{rule.name}`; keep one of the two. Nothing was changed"
            )
    return False


def _table(mark: FunctionMark, selector: str) -> NewTable:
    fields: list[tuple[str, object]] = [("name", mark.name), ("kind", mark.kind), ("define", selector)]
    if mark.capture:
        fields.append(("capture", list(mark.capture)))
    return NewTable("boundary", tuple(fields))


def _table_of_pack(sdk: SdkMark) -> dict[str, Any]:
    """Return the table of a pack for a client's model calls, without its id, name and kind."""
    shown = f"{sdk.pack}.toml"
    _, values = parse_toml(shown, read_text(os.path.join(pack_folder(), shown), shown))
    table: Mapping[str, Any] = next(each for each in values["boundary"] if each["id"] == _CHAT[sdk.pack])
    return {key: value for key, value in table.items() if key not in {"id", "name", "kind"}}
