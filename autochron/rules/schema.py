"""The JSON schema of `autochron.toml`, by which editors complete and check it; made of the keys that the loader knows.

It is of draft 7, which Taplo and Even Better TOML read. It says which keys there are, which have to be there, and of which
type their values are. What a value means, such as whether a pattern is valid, is for the loader to check.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

from autochron.rules import ambients, boundaries, packfile, redaction, rulefile, sources
from autochron.rules.packs import load_pack, pack_index
from autochron.rules.selectors import SELECTORS
from autochron.rules.tables import TableKey

Json: TypeAlias = dict[str, Any]

_TEXT: Json = {"type": "string"}
_TEXT_OR_TEXTS: Json = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}
_CONDITION: Json = {"type": "object", "additionalProperties": _TEXT_OR_TEXTS}

_TABLES: Mapping[str, Mapping[str, TableKey]] = {
    "meta": boundaries.META_KEYS,
    "trace": rulefile.TRACE_KEYS,
    "source": sources.KEYS,
    "ignore": rulefile.IGNORE_KEYS,
    "snapshot": rulefile.SNAPSHOT_KEYS,
    "effect": rulefile.EFFECT_KEYS,
    "output": rulefile.OUTPUT_KEYS,
    "redact": redaction.REDACT_KEYS,
    "pack": packfile.PACK_KEYS,
    "context": packfile.CONTEXT_KEYS,
}
"""The tables that have one form."""


def rule_schema() -> Json:
    """Return the schema of a project's rule file."""
    schema = _table(rulefile.KEYS)
    properties = schema["properties"]
    properties["version"] |= {"minimum": 1, "maximum": rulefile.VERSION}
    properties["packs"]["items"] = {"type": "string", "enum": [rulefile.AUTO, *pack_index()]}
    ids = [rule.id for name in pack_index() for rule in load_pack(name).boundaries]
    properties["disable"]["items"] = {"type": "string", "enum": list(dict.fromkeys(ids))}
    return _document("autochron.toml", "What autochron records and replays.", schema, boundaries.KEYS)


def pack_schema() -> Json:
    """Return the schema of a shipped pack."""
    keys = boundaries.KEYS | {"id": boundaries.ID}
    about = "The rules of autochron for one library."
    return _document("a pack of autochron", about, _table(packfile.FILE_KEYS), keys)


def _document(title: str, about: str, schema: Json, keys: Mapping[str, TableKey]) -> Json:
    """Return a schema with the definitions that it refers to.

    Args:
        title: the title.
        about: the description.
        schema: the schema of the whole file.
        keys: the keys of a boundary.
    """
    definitions = {
        **{name: _table(table) for name, table in _TABLES.items()},
        "boundary": {"anyOf": [{"$ref": "#/definitions/definition"}, {"$ref": "#/definitions/ambient"}]},
        "definition": {
            **_table(keys),
            **_one_of(SELECTORS),
            "dependencies": {"exclude": ["define"], "within": ["call"]},
        },
        "ambient": _table(ambients.KEYS),
        "example": {"type": "object"},
    }
    definitions["effect"] |= _one_of(rulefile.EFFECT_SUBJECTS)
    definitions["source"]["properties"]["position"] |= {"minimum": 0}
    definitions["source"] |= {"dependencies": {"position": ["determined_by"]}}
    definitions["ignore"] |= {"anyOf": [{"required": ["call"]}, {"required": ["category"]}]}
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": title, "description": about}
    return {**head, **schema, "definitions": {name: definitions[name] for name in _used(schema, definitions)}}


def _used(schema: Any, definitions: Json) -> list[str]:
    """Return the names of the definitions that a schema refers to, also by others."""
    names: list[str] = []
    waiting = [schema]
    while waiting:
        part = waiting.pop(0)
        if isinstance(part, dict):
            name = str(part.get("$ref", "")).rpartition("/")[2]
            if name in definitions and name not in names:
                names.append(name)
                waiting.append(definitions[name])
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return names


def _table(keys: Mapping[str, TableKey]) -> Json:
    """Return the schema of a table that has these keys and no others."""
    required = [name for name, key in keys.items() if key.is_required]
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: {**_value(key), "description": key.about} for name, key in keys.items()},
        **({"required": required} if required else {}),
    }


def _one_of(names: Collection[str]) -> Json:
    """Return the part of a schema by which a table has exactly one of some keys."""
    return {"oneOf": [{"required": [name]} for name in names]}


def _value(key: TableKey) -> Json:
    """Return the schema of a key's value."""
    text = {"type": "string", "enum": list(key.options)} if key.options else _TEXT
    reference = {"$ref": f"#/definitions/{key.table}"}
    forms: dict[str, Json] = {
        "text": text,
        "texts": {"type": "array", "items": text},
        "text or texts": _TEXT_OR_TEXTS,
        "flag": {"type": "boolean"},
        "integer": {"type": "integer"},
        "conditions": {"anyOf": [_CONDITION, {"type": "array", "items": _CONDITION}]},
        "table": {"allOf": [reference]},  # beside `$ref`, draft 7 reads no description
        "tables": {"type": "array", "items": reference},
        "flag or tables": {"anyOf": [{"type": "boolean"}, {"type": "array", "items": reference}]},
    }
    return forms[key.form]
