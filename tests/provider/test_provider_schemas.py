"""Random values fit the schema that they are made for."""

import random

import jsonschema
import pytest

from autochron.provider.generators import instance

NODE = {"type": "object", "properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}, "required": ["n"]}
OPTIONAL = {
    "type": "object",
    "required": ["next"],
    "properties": {"next": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}},
}

FITTING = {
    "an integer": {"type": "integer"},
    "at most, below 0": {"type": "integer", "maximum": -5},
    "below 0": {"type": "integer", "exclusiveMaximum": 0},
    "at most 0": {"type": "integer", "maximum": 0},
    "at least": {"type": "integer", "minimum": 2000},
    "above": {"type": "integer", "exclusiveMinimum": 2.5, "maximum": 4},
    "both": {"type": "integer", "minimum": 3, "exclusiveMinimum": 3, "maximum": 4.5},
    "one integer": {"type": "integer", "minimum": 0.5, "maximum": 1.5},
    "a number": {"type": "number"},
    "between 0 and 1": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "between close bounds": {"type": "number", "exclusiveMinimum": 0.001, "exclusiveMaximum": 0.004},
    "between bounds below 0": {"type": "number", "minimum": -0.004, "maximum": -0.001},
    "a number at most": {"type": "number", "maximum": -7.25},
    "a number below 0": {"type": "number", "exclusiveMaximum": 0},
    "the root": NODE,
    "the root, or null": OPTIONAL,
    "a name with a slash": {"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "integer", "minimum": 9}}},
    "an array of the root": {"type": "array", "items": {"$ref": "#"}},
}


@pytest.mark.parametrize("schema", FITTING.values(), ids=FITTING)
def test_a_value_fits_its_schema(schema):
    for seed in range(200):
        jsonschema.validate(instance(schema, random.Random(seed)), schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}},
        {"allOf": [{"$ref": "#"}]},
        {"type": "object", "required": ["a", "b"], "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}},
    ],
)
def test_a_schema_that_nothing_fits_ends(schema):
    instance(schema, random.Random(0))


def test_a_common_schema_gives_what_it_always_gave():
    schema = {
        "type": "object",
        "required": ["n", "x", "names"],
        "properties": {
            "n": {"type": "integer", "minimum": 1, "maximum": 9},
            "x": {"type": "number"},
            "names": {"type": "array", "items": {"type": "string"}},
        },
    }
    assert instance(schema, random.Random(7)) == {
        "n": 6,
        "x": 947.87,
        "names": ["candid", "steady bridge river", "jolly zesty fresh"],
    }
