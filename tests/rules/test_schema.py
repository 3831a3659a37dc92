"""The JSON schema of `autochron.toml` agrees with the loader: on the keys, on those that are required, and on the types."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
import tomli
import tomlkit

from autochron.cli.rules import rules as command
from autochron.diagnostics.initial_rules import InitialTool, initial_text
from autochron.diagnostics.project_survey import Survey
from autochron.errors import RuleError
from autochron.rules.loading import load_rules
from autochron.rules.packs import pack_texts
from autochron.rules.schema import pack_schema, rule_schema
from tests.rules.test_one_check_of_rules import GOOD

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = rule_schema()
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)

TABLES = {
    "": {"version": 1},
    "boundary": {"name": "n", "kind": "tool", "define": "a:*"},
    "ambient": {"kind": "ambient", "call": "time.time", "site": "a.py:1"},
    "meta": {"model": "request.model"},
    "trace": {"target": "a:b"},
    "source": {"call": "acme.now", "category": "clock", "determined_by": "seed"},
    "ignore": {"call": "time.time", "site": "a.py:1", "reason": "r"},
    "snapshot": {"path": "a.db"},
    "effect": {"program": "git", "reason": "r"},
    "output": {"pattern": "took [0-9]+ s", "reason": "r"},
    "redact": {"names": ["account"]},
}
"""A valid table of each kind."""

DEFINITIONS = {name: name for name in TABLES if name} | {"boundary": "definition"}
KEYS = {name: SCHEMA["definitions"][DEFINITIONS[name]]["properties"] for name in TABLES if name} | {
    "": SCHEMA["properties"]
}
"""By the name of a table: the schemas of its keys."""

SELECTORS = ("target", "define", "decorated", "call", "http")


def document(name, table):
    """Return a rule file with one table."""
    match name:
        case "":
            return table
        case "ambient":
            return {"version": 1, "boundary": [table]}
        case "meta":
            return {"version": 1, "boundary": [{**TABLES["boundary"], "meta": table}]}
        case "redact":
            return {"version": 1, "redact": table}
        case _:
            return {"version": 1, name: [table]}


@pytest.fixture
def refusal(tmp_path):
    def load(content):
        """Return why the loader refuses a rule file; None if it does not."""
        path = tmp_path / "autochron.toml"
        path.write_text(content if isinstance(content, str) else tomlkit.dumps(content), encoding="utf-8")
        try:
            load_rules(path)
        except RuleError as error:
            return error.message
        return None

    return load


def test_the_schema_is_one_of_draft_7_and_its_examples_hold():
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    jsonschema.Draft7Validator.check_schema(pack_schema())
    for name, table in TABLES.items():
        VALIDATOR.validate(document(name, table))


def test_the_command_prints_the_schema(capsys):
    assert command(["--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA


# --- rule files that are there ----------------------------------------------------------------------------------------------


def toml_blocks():
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for number, text in enumerate(
            re.findall(r"^```toml\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
        ):
            yield pytest.param(text, id=f"{page.relative_to(ROOT)}-{number}")


@pytest.mark.parametrize("text", list(toml_blocks()))
def test_the_examples_of_the_documentation_fit(text):
    VALIDATOR.validate(tomli.loads(text))


@pytest.mark.parametrize(
    "path", sorted((ROOT / "incidents").glob("*/autochron.toml")), ids=lambda path: path.parent.name
)
def test_the_rules_of_the_incidents_fit(path):
    VALIDATOR.validate(tomli.loads(path.read_text("utf-8")))


@pytest.mark.parametrize("name", sorted(pack_texts()))
def test_each_pack_fits_the_schema_of_packs(name):
    content = tomli.loads(Path(pack_texts()[name].file).read_text("utf-8"))
    jsonschema.Draft7Validator(pack_schema()).validate(content)
    assert not VALIDATOR.is_valid(content)


@pytest.mark.parametrize("selectors", GOOD.values(), ids=GOOD)
def test_rules_that_the_loader_accepts_fit(selectors, refusal):
    boundaries = "".join(
        f'[[boundary]]\nname = "n"\nkind = "tool"\n{selector.format(package="shop")}\n'
        for selector in selectors
    )
    assert refusal(f"version = 1\n{boundaries}") is None
    VALIDATOR.validate(tomli.loads(f"version = 1\n{boundaries}"))


def test_what_init_writes_fits():
    survey = Survey(packs={"openai": "a.py:1"}, programs=(), project=("src",), tools={})
    tools = [InitialTool("refund", "declared at a.py:2", (("shop:refund", "shop.py:1"),))]
    VALIDATOR.validate(tomli.loads(initial_text(survey, tools)))
    VALIDATOR.validate(tomli.loads(initial_text(survey, [])))


# --- agreement with the loader ----------------------------------------------------------------------------------------------

ALL_KEYS = sorted({key for keys in KEYS.values() for key in keys} | {"id", "unknown", "pack", "example"})


@pytest.mark.parametrize("name", TABLES)
def test_the_schema_has_the_keys_that_the_loader_accepts_and_no_others(name, refusal):
    accepted = set()
    for key in ALL_KEYS:
        # A key is checked before its value. An ambient table is known by its kind and its site.
        table = {key: "x"} | ({"kind": "ambient", "site": "a.py:1"} if name == "ambient" else {})
        message = refusal(document(name, table))
        if message is None or f"has no key `{key}`" not in message:
            accepted.add(key)
    assert accepted == set(KEYS[name])


@pytest.mark.parametrize("name", TABLES)
def test_the_schema_requires_the_keys_that_the_loader_requires(name, refusal):
    table = TABLES[name]
    for key in table:
        content = document(name, {other: value for other, value in table.items() if other != key})
        if name == "ambient" and key in {"kind", "site"}:
            continue  # then it is a table of another kind, whose keys these are not
        assert (refusal(content) is None) == VALIDATOR.is_valid(content), key


VALUES = {
    "text": "a:b",
    "integer": 7,
    "float": 1.5,
    "flag": True,
    "texts": ["a:b"],
    "integers": [1],
    "nothing": [],
    "table": {"a": "b"},
    "list in table": {"a": ["b"]},
    "number in table": {"a": 1},
    "tables": [{"a": "b"}],
}
"""Values of all types."""


def is_of_wrong_type(errors):
    """Return whether a schema refuses a value for its type: of several that are allowed, each has to refuse it."""

    def is_one(error):
        branches = {inner.schema_path[0] for inner in error.context or ()}
        return error.validator == "type" or (
            bool(branches)
            and all(
                is_of_wrong_type([inner for inner in error.context if inner.schema_path[0] == branch])
                for branch in branches
            )
        )

    return any(map(is_one, errors))


def base_for(name, key):
    """Return a valid table to which a key can be added."""
    table = dict(TABLES[name])
    if name == "boundary" and key in (*SELECTORS, "within"):
        del table["define"]
    if key == "within":
        table["call"] = "a(...)"
    if name == "effect" and key in {"host", "path"}:
        del table["program"]
    return table


@pytest.mark.parametrize("name", TABLES)
def test_the_schema_has_the_types_that_the_loader_accepts(name, refusal):
    wrong = {}
    for key, schema in KEYS[name].items():
        for label, value in VALUES.items():
            if name == "ambient" and key == "kind":
                continue  # another kind, of whatever type, makes it a table of another kind
            message = refusal(document(name, base_for(name, key) | {key: value})) or ""
            refused = re.search(rf"`{key}` must (be|hold)|`a` must (be|hold)", message) is not None
            resolver = jsonschema.Draft7Validator({**schema, "definitions": SCHEMA["definitions"]})
            by_schema = is_of_wrong_type(list(resolver.iter_errors(value)))
            if refused != by_schema:
                wrong[f"{key} = {label}"] = (message, by_schema)
    assert wrong == {}


def test_one_selector_is_required_and_its_companions_stay_with_it():
    base = {"name": "n", "kind": "tool"}
    fits = {
        " ".join(keys): VALIDATOR.is_valid(document("boundary", base | dict.fromkeys(keys, "a:b")))
        for keys in (
            (),
            ("target",),
            ("define",),
            ("target", "define"),
            ("call", "within"),
            ("define", "within"),
        )
    }
    assert fits == {
        "": False, "target": True, "define": True, "target define": False, "call within": True, "define within": False,
    }  # fmt: skip
    assert not VALIDATOR.is_valid(document("boundary", base | {"target": "a:b", "exclude": ["c"]}))


def test_names_of_packs_and_ids_of_rules_are_known():
    assert VALIDATOR.is_valid({"version": 1, "packs": ["auto", "openai"], "disable": ["openai.images"]})
    assert not VALIDATOR.is_valid({"version": 1, "packs": ["opena"]})
    assert not VALIDATOR.is_valid({"version": 1, "disable": ["openai.imagery"]})
    assert not VALIDATOR.is_valid({"version": 2})
