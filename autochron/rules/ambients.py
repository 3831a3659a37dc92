"""Read which ambient values are recorded: `ambient = [...]`, and `[[boundary]]` tables of kind `ambient` with a `site`."""

from __future__ import annotations

from autochron.model import CATEGORIES, AmbientRule, Category
from autochron.rules.names import Field, name_template
from autochron.rules.nearest import hint
from autochron.rules.selectors import is_dotted
from autochron.rules.sites import read_hash, read_site
from autochron.rules.tables import Table, TableKey

RECORDED: tuple[Category, ...] = ("clock", "random", "uuid")
"""The categories whose values are plain data, so that they can be recorded at the line that asks for them."""

KEYS = {
    "name": TableKey("text", "the name of the crossings; by default the call and the calling function"),
    "kind": TableKey("text", "`ambient`", ("ambient",), is_required=True),
    "call": TableKey("text", "the call whose values are recorded, such as `time.time`", is_required=True),
    "site": TableKey(
        "text",
        "the line that makes the call, as `path:line`, or the file with the `hash` of the line",
        is_required=True,
    ),
    "hash": TableKey(
        "text", "the hash of the line, or its first 8 digits, by which it is found where it has moved"
    ),
}


def is_ambient(table: Table) -> bool:
    """Return whether a `[[boundary]]` table is for an ambient call at one line, and not for a definition."""
    return table.values.get("kind") == "ambient" and "site" in table


def read_ambient(table: Table) -> AmbientRule:
    """Read a `[[boundary]]` table of an ambient call."""
    table.check_keys(KEYS)
    call = table.required("call", "write the call, such as `time.time`")
    bare = call.removesuffix("()")
    if not is_dotted(bare) or "." not in bare:
        table.refuse(
            "call", f"`call` `{call}` is not a dotted name, such as `time.time`, which a `site` goes with"
        )
    site = read_site(table)
    line_hash = read_hash(table)
    if ":" not in site and line_hash is None:
        table.refuse("site", f"`site` `{site}` has no line; write path:line, or give the `hash` of the line")
    name = table.text("name")
    if name is not None and (not name.strip() or _has_fields(table, name)):
        table.refuse(
            "name", f"`name` `{name}` must be a plain name: a value has no arguments to take it from"
        )
    return AmbientRule(call=bare, site=site, place=table.place, hash=line_hash, name=name)


def _has_fields(table: Table, name: str) -> bool:
    return any(isinstance(part, Field) for part in table.parsed("name", name, name_template).parts)


def read_categories(table: Table) -> tuple[Category, ...]:
    """Read the categories of which all values are recorded."""
    categories: list[Category] = []
    for index, text in enumerate(table.texts("ambient")):
        known = next((category for category in RECORDED if category == text), None)
        if known is None:
            reason = (
                "; its values can't be recorded where they are asked for: make the call a boundary"
                if text in CATEGORIES
                else ""
            )
            where = (*table.path, "ambient", index)
            table.source.refuse(where, f"`ambient` has `{text}`{hint(RECORDED, text)}{reason}")
        categories.append(known)
    return tuple(dict.fromkeys(categories))


def read_category(table: Table) -> Category:
    """Return the category that a table names. Raise RuleError if there is no such one."""
    name = table.required("category", "write one, such as `clock`")
    known = next((category for category in CATEGORIES if category == name), None)
    if known is None:
        table.refuse("category", f"`category` is `{name}`{hint(CATEGORIES, name)}")
    return known
