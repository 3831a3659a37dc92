"""Read one `[[boundary]]` table."""

from __future__ import annotations

from itertools import product
from typing import Any, cast

from autochron.model import KINDS, BoundaryRule, CallSelector, Http, Kind, MetaPaths
from autochron.rules.calls import call_pattern
from autochron.rules.names import Field, name_template
from autochron.rules.nearest import hint
from autochron.rules.paths import is_plain, parse_path
from autochron.rules.selectors import SELECTORS, read_selectors
from autochron.rules.tables import Table, TableKey

CODECS = ("auto", "http", "value", "channel", "dialog")
KEYS = {
    "name": TableKey(
        "text",
        "the name of the crossings: a text, or a template such as `{__name__}` or `{order_id}`",
        is_required=True,
    ),
    "kind": TableKey("text", "what crosses there", KINDS, is_required=True),
    **SELECTORS,
    "exclude": TableKey("texts", "name globs of definitions that `define` leaves out"),
    "within": TableKey(
        "text", "where `call` looks: a module glob, or a module glob and the name glob of a definition"
    ),
    "when": TableKey(
        "conditions", "globs by path into the arguments; a call that they don't fit is no crossing"
    ),
    "capture": TableKey("texts", "paths of the arguments that are the recorded input; by default all"),
    "redact": TableKey("texts", "paths whose values are masked"),
    "volatile": TableKey("texts", "paths that are not compared"),
    "meta": TableKey("table", "where the model, its sampling and its usage are", table="meta"),
    "changes": TableKey(
        "texts", "paths of the objects in the arguments that a call may change; by default all"
    ),
    "codec": TableKey("text", "how the outcome is kept", CODECS),
    "observe": TableKey("flag", "whether the body runs in every replay, and is only compared"),
    "state": TableKey("text", "the name of a state that tools share; live ones need the earlier ones of it"),
    "argument": TableKey("text", "the parameter whose callable is woven, in place of the function itself"),
    "outcome": TableKey("text", "`argument:NAME`: what is recorded and served is this argument"),
}
ID = TableKey("text", "the id by which `disable` names the rule", is_required=True)
"""The key `id`, which only a pack's rules have."""
_META_PATH = "the paths to it, such as `request.model`, `response.usage` or `input.name`"
META_KEYS = {
    "model": TableKey("text or texts", f"the model: {_META_PATH}"),
    "sampling": TableKey("text or texts", f"the sampling parameters: {_META_PATH}"),
    "usage": TableKey("text or texts", f"the usage: {_META_PATH}"),
    "tools": TableKey("text or texts", f"the tools that the model asks for: {_META_PATH}"),
    "declared": TableKey("text or texts", f"the tools that a request declares: {_META_PATH}"),
    "results": TableKey("text or texts", f"the results of tool calls that a request carries: {_META_PATH}"),
    "forced": TableKey("text or texts", f"the tool that a request makes the model call: {_META_PATH}"),
    "inside": TableKey(
        "text or texts", "the tools that ran at the other end of a stream, such as `item.tool`"
    ),
    "sdk": TableKey("text", "the distribution whose version is recorded"),
}
_META_ROOTS = ("request", "response", "path", "input", "outcome", "item")


def read_boundaries(table: Table, pack: str | None = None) -> list[BoundaryRule]:
    """Read one table; it has several rules, all with one id, if its target or its `when` is a list.

    Args:
        table: the table.
        pack: name of the pack that it belongs to; None for a project's table.
    """
    table.check_keys(KEYS | {"id": ID} if pack else KEYS)
    selectors = read_selectors(table)
    common = _common(table, pack)
    if isinstance(selectors[0], Http):
        for key in ("argument", "outcome"):
            if key in table:
                table.refuse(key, f"`{key}` needs a call's arguments, which a rule with `http` doesn't have")
    if isinstance(selectors[0], CallSelector):
        for key in ("argument", "outcome"):
            if key in table:
                table.refuse(key, f"`{key}` belongs to a definition; select that with `target`")
        _check_bound(table, selectors[0], common["name"])
    if "observe" in table and "outcome" in table:
        table.refuse(
            "observe", "`observe` leaves everything as it is, and `outcome` replaces an argument; keep one"
        )
    return [
        BoundaryRule(selector=selector, when=when, **common)
        for selector, when in product(selectors, _conditions(table))
    ]


_OF_CALLS = ("__name__", "__qualname__", "__module__", "model", "caller")


def _check_bound(table: Table, call: CallSelector, name: str) -> None:
    """Refuse a name that uses a metavariable that the pattern doesn't bind."""
    bound_names = (*call_pattern(call.pattern).metavariables, *_OF_CALLS)
    for field in name_template(name).parts:
        if isinstance(field, Field) and field.root not in bound_names:
            table.refuse(
                "name",
                f"`name` uses `{{{field.root}}}`, which `{call.pattern}` doesn't bind"
                f"{hint(bound_names, field.root)}; bind it with `${field.root}`",
            )


def _common(table: Table, pack: str | None) -> dict[str, Any]:
    """Read the fields that all rules of one table share."""
    place = table.place
    name = table.required("name", 'give one, such as name = "{__name__}"')
    table.parsed("name", name, name_template)
    kind = table.required("kind", "it is one of `model`, `tool`, `router`, `ambient`")
    return {
        "id": table.required("id", "a pack's rules need one each") if pack else str(place),
        "name": name,
        "kind": cast("Kind", table.choice("kind", KINDS, kind)),
        "place": place,
        "pack": pack,
        "capture": _paths(table, "capture"),
        "changes": read_changes(table),
        "redact": _paths(table, "redact"),
        "volatile": _paths(table, "volatile"),
        "meta": _meta(table.table("meta", "meta")),
        "codec": table.choice("codec", CODECS, table.text("codec") or "auto"),
        "observe": table.flag("observe"),
        "state": _state(table),
        "argument": _argument(table),
        "outcome": _outcome(table),
    }


def _conditions(table: Table) -> list[tuple[tuple[str, str], ...]]:
    """Read `when`, one condition for each rule.

    A list of tables means that any of them has to fit, and a list of globs means the same. Both become several rules.
    """
    if type(table.values.get("when")) is not list:
        return _condition(table.table("when", "when"))
    tables = table.tables("when", "{ path = glob }")
    if not all(condition_table.values for condition_table in tables) or not tables:
        table.refuse("when", "`when` has a table without a condition" if tables else "`when` is empty")
    return [condition for condition_table in tables for condition in _condition(condition_table)]


def _condition(when: Table) -> list[tuple[tuple[str, str], ...]]:
    alternatives: list[list[tuple[str, str]]] = []
    for path, value in when.values.items():
        try:
            parse_path(path)
        except ValueError as error:
            when.refuse(path, f"`when` path `{path}` {error}")
        for glob in when.texts(path, single=True):
            if not glob or "**" in glob:
                wrong = "holds `**`; `*` is any text already" if glob else "is empty"
                when.refuse(path, f"`when` glob `{glob}` {wrong}")
        if value == []:
            when.refuse(path, f"`when` has no glob for `{path}`")
        alternatives.append([(path, glob) for glob in when.texts(path, single=True)])
    return list(product(*alternatives))


def _paths(table: Table, key: str) -> tuple[str, ...]:
    paths = table.texts(key)
    for path in paths:
        table.parsed(key, path, parse_path)
    return paths


def read_changes(table: Table) -> tuple[str, ...] | None:
    """Read the paths to what a call may change.

    Each must lead to one object: with several the replay could not know which one to change.
    """
    for path in _paths(table, "changes"):
        if not is_plain(parse_path(path)):
            table.refuse("changes", f"`changes` `{path}` must lead to one object: no `*`, no filter")
    return table.texts("changes") if "changes" in table else None


def _meta(table: Table) -> MetaPaths:
    table.check_keys(META_KEYS)
    paths: dict[str, tuple[str, ...]] = {}
    for key in [key for key in META_KEYS if key != "sdk" and key in table]:
        paths[key] = table.texts(key, single=True)
        for path in paths[key]:
            steps = table.parsed(key, path, parse_path)
            if steps[0].key not in _META_ROOTS or len(steps) < 2:
                roots = ", ".join(f"`{root}.`" for root in _META_ROOTS)
                table.refuse(key, f"`{key}` `{path}` must start with one of {roots}")
    return MetaPaths(**paths, sdk=table.text("sdk"))


def _state(table: Table) -> str | None:
    return table.required("state", "name the state that tools share") if "state" in table else None


def _argument(table: Table) -> str | None:
    path = table.text("argument")
    if path is not None and not all(name.isidentifier() for name in path.split(".")):
        table.refuse("argument", f"`argument` `{path}` is not the name of a parameter, or a path into one")
    return path


def _outcome(table: Table) -> str | None:
    text = table.text("outcome")
    if text is None:
        return None
    prefix, colon, name = text.partition(":")
    if prefix != "argument" or not colon or not name.isidentifier():
        close = f"; nearest is `argument:{text}`" if text.isidentifier() else ""
        table.refuse("outcome", f"`outcome` `{text}` is not of the form argument:name{close}")
    return text
