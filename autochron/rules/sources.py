"""Read `[[source]]` tables: calls of the user's own code or libraries whose value the program doesn't determine."""

from __future__ import annotations

from autochron.model import CATEGORIES, SourceRule
from autochron.rules.ambients import read_category
from autochron.rules.selectors import is_dotted
from autochron.rules.tables import Table, TableKey

KEYS = {
    "call": TableKey(
        "text",
        "the call by its dotted name, such as `acme.clock.now`; `acme.Client.*` stands for all methods",
        is_required=True,
    ),
    "category": TableKey("text", "what its value depends on", CATEGORIES, is_required=True),
    "reaches": TableKey("text", "the known call that it makes, such as `time.time`"),
    "determined_by": TableKey("text", "the keyword that determines its value, such as `seed`"),
    "position": TableKey(
        "integer", "the position of that argument, from 0, if it may be passed without the keyword"
    ),
    "only_with": TableKey("text", "the keyword without which it asks for nothing"),
    "harmless": TableKey("texts", "first arguments with which it asks for nothing"),
    "opens": TableKey("flag", "whether what it returns is read later, as a file is"),
    "example": TableKey("text", "code that calls it, in which `autochron check` has to find it"),
}


def read_source(table: Table) -> SourceRule:
    """Read a `[[source]]` table."""
    table.check_keys(KEYS)
    call = table.required("call", "write its dotted name, such as `acme.clock.now`")
    if not is_dotted(call.removesuffix(".*")) or "." not in call:
        table.refuse("call", f"`call` `{call}` is not a dotted name, such as `acme.clock.now`")
    if "position" in table and "determined_by" not in table:
        table.refuse("position", "`position` goes with `determined_by`; write the keyword as well")
    return SourceRule(
        calls=(call,),
        category=read_category(table),
        reaches=_reached(table),
        determined_by=_keyword(table, "determined_by"),
        position=_position(table),
        only_with=_keyword(table, "only_with"),
        harmless=table.texts("harmless"),
        opens=table.flag("opens"),
        example=table.text("example"),
        place=table.place,
    )


def _reached(table: Table) -> str | None:
    reached = table.text("reaches")
    if reached is not None and not is_dotted(reached):
        table.refuse("reaches", f"`reaches` `{reached}` is not a dotted name, such as `time.time`")
    return reached


def _keyword(table: Table, key: str) -> str | None:
    name = table.text(key)
    if name is not None and not name.isidentifier():
        table.refuse(key, f"`{key}` `{name}` is not the name of an argument, such as `seed`")
    return name


def _position(table: Table) -> int | None:
    position = table.values.get("position")
    if position is None:
        return None
    if type(position) is not int or position < 0:
        table.refuse("position", f"`position` must be an integer from 0, and is `{position}`")
    return position
