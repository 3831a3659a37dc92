"""Parse the text of a pack."""

from __future__ import annotations

from autochron.model import ContextRule, Pack
from autochron.rules.boundaries import read_boundaries, read_changes
from autochron.rules.lines import KeyPath
from autochron.rules.tables import Table, TableKey, parse_toml

FILE_KEYS = {
    "pack": TableKey("table", "the library", table="pack", is_required=True),
    "boundary": TableKey("tables", "the boundaries of the library", table="boundary"),
    "context": TableKey("tables", "what tools may change of the library's own objects", table="context"),
    "example": TableKey("tables", "what the tests of the pack try", table="example"),
}
PACK_KEYS = {
    "name": TableKey("text", "the name of the pack, which is that of its file", is_required=True),
    "modules": TableKey("texts", "the modules whose import takes up the pack"),
    "distribution": TableKey("text", "the name of the library on the package index", is_required=True),
    "tested": TableKey("texts", "the versions that the pack was tested with"),
    "credentials": TableKey(
        "texts", "environment variables that the library requires; a replay sets placeholders"
    ),
    "environment": TableKey("texts", "environment variables that change where or what the library calls"),
    "telemetry": TableKey("texts", "modules of the library that send telemetry"),
    "bookkeeping": TableKey("texts", "modules of the library that write caches and records of runs"),
}
CONTEXT_KEYS = {
    "class": TableKey("text", "the class of the objects, as MODULE:NAME", is_required=True),
    "changes": TableKey("texts", "paths into such an object", is_required=True),
}


def read_pack(name: str, file: str, text: str) -> Pack:
    """Parse the text of a pack.

    Args:
        name: the pack's name.
        file: the file's name, for messages.
        text: the file's text.

    Raises:
        RuleError: the text is not valid.
    """
    source, values = parse_toml(file, text, _tables(text))
    top = Table(source, (), values, "the pack")
    top.check_keys(FILE_KEYS)
    about = top.table("pack", "[pack]")
    about.check_keys(PACK_KEYS)
    if about.required("name", "it is the file's name") != name:
        about.refuse("name", f"`name` is `{about.values['name']}`, and the file's name says `{name}`")
    rules = [read_boundaries(table, name) for table in top.tables("boundary", "[[boundary]]")]
    ids = [rules_of_table[0].id for rules_of_table in rules]
    for index, rule_id in enumerate(ids):
        if rule_id in ids[:index]:
            first = source.place(("boundary", ids.index(rule_id)))
            source.refuse(("boundary", index, "id"), f"`id` `{rule_id}` is taken by the rule at {first}")
    return Pack(
        name=name,
        modules=about.texts("modules"),
        distribution=about.required("distribution", "it is the name of the library on the package index"),
        tested=about.texts("tested"),
        credentials=about.texts("credentials"),
        environment=about.texts("environment"),
        telemetry=about.texts("telemetry"),
        bookkeeping=about.texts("bookkeeping"),
        contexts=tuple(_context(table) for table in top.tables("context", "[[context]]")),
        boundaries=tuple(rule for rules_of_table in rules for rule in rules_of_table),
    )


def _context(table: Table) -> ContextRule:
    table.check_keys(CONTEXT_KEYS)
    return ContextRule(table.required("class", "write it as MODULE:NAME"), read_changes(table) or ())


def _tables(text: str) -> dict[KeyPath, int]:
    """Return the line of each rule of a pack.

    Not by `find_lines`, which would take a third of the time that a pack costs. In our packs no string has a line that starts
    like a header; a test compares the results.
    """
    headers = (line for line, content in enumerate(text.split("\n"), 1) if content.startswith("[[boundary]]"))
    return {("boundary", index): line for index, line in enumerate(headers)}
