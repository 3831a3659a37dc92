"""Generators of random words, ids and values for a JSON schema. The caller passes the seeded source of randomness."""

import json
import random
import re
from typing import Any

from autochron.provider.conversation import Json

_WORDS = tuple(
    "amber brisk candid delta early fresh gentle harbour ideal jolly keen lively mellow noble open "  # noqa: SIM905
    "plain quiet river steady timber useful vivid warm yellow zesty order parcel letter bridge garden".split()
)
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_MAX_DEPTH = 6


def words(rng: random.Random, low: int = 3, high: int = 8) -> str:
    """Return some random words, at least `low` and at most `high`."""
    return " ".join(rng.choices(_WORDS, k=rng.randint(low, high)))


def sentence(rng: random.Random) -> str:
    """Return one or two random sentences."""
    return " ".join(f"{words(rng, 4, 12).capitalize()}." for _ in range(rng.randint(1, 2)))


def token(rng: random.Random, digits: int = 24) -> str:
    """Return a random hexadecimal id."""
    return f"{rng.getrandbits(4 * digits):0{digits}x}"


def pieces(text: str, rng: random.Random) -> list[str]:
    """Split a text into random pieces of 1 to 12 characters, as a stream sends them."""
    parts: list[str] = []
    while text:
        size = rng.randint(1, 12)
        parts.append(text[:size])
        text = text[size:]
    return parts


def fill(text: str, user: str, rng: random.Random) -> str:
    """Replace the placeholders of a script in a text. Other text in braces stays as it is.

    Args:
        text: the text of the script; see `script`.
        user: the last user message, from which `{number}` is taken.
        rng: the source of randomness.
    """

    def replace(match: re.Match[str]) -> str:
        inner = match.group(1)
        if inner == "random":
            return words(rng)
        if inner == "id":
            return token(rng, 12)
        if inner == "number":
            number = re.search(r"\d+", user)
            return number.group() if number else "0"
        return rng.choice(inner.split("|")) if "|" in inner else match.group()

    return _PLACEHOLDER.sub(replace, text)


def fill_json(text: str, user: str, rng: random.Random) -> str:
    """Replace the placeholders within the strings of a JSON text; if it is malformed, anywhere in the text."""
    try:
        value = json.loads(text)
    except ValueError:
        return fill(text, user, rng)
    return json.dumps(_fill_value(value, user, rng))


def _fill_value(value: object, user: str, rng: random.Random) -> object:
    match value:
        case str():
            return fill(value, user, rng)
        case list():
            return [_fill_value(item, user, rng) for item in value]
        case {"$int": str(digits), **rest} if not rest:
            return int(fill(digits, user, rng))
        case dict():
            return {key: _fill_value(item, user, rng) for key, item in value.items()}
        case _:
            return value


def instance(schema: Json, rng: random.Random) -> object:
    """Return a random value that fits a JSON schema. It knows the keywords that tools and structured outputs use."""
    return _instance(schema, schema, rng, 0)


def _instance(schema: Json, root: Json, rng: random.Random, depth: int) -> object:
    schema = _resolve(schema, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            options = schema[key]
            # At the greatest depth take the last option: schema generators put the null of an optional field there.
            return _instance(options[-1] if depth > _MAX_DEPTH else rng.choice(options), root, rng, depth + 1)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = rng.choice(kind)
    if kind == "object":
        return _object(schema, root, rng, depth)
    if kind == "array":
        return _array(schema, root, rng, depth)
    return _scalar(str(kind), schema, rng)


def _resolve(schema: Json, root: Json) -> Json:
    while "$ref" in schema or len(schema.get("allOf", ())) == 1:
        if "$ref" not in schema:
            schema = schema["allOf"][0]
            continue
        target: Any = root
        for part in str(schema["$ref"]).removeprefix("#/").split("/"):
            target = target.get(part, {}) if isinstance(target, dict) else {}
        schema = target
    return schema


def _object(schema: Json, root: Json, rng: random.Random, depth: int) -> Json:
    required = schema.get("required", ())
    properties = {}
    for name, property_schema in schema.get("properties", {}).items():
        if name in required or (depth <= _MAX_DEPTH and rng.random() < 0.5):
            properties[name] = _instance(property_schema, root, rng, depth + 1)
    return properties


def _array(schema: Json, root: Json, rng: random.Random, depth: int) -> list[object]:
    low = int(schema.get("minItems", 0))
    high = max(low, min(int(schema.get("maxItems", low + 3)), low + 3))
    size = low if depth > _MAX_DEPTH else rng.randint(low, high)
    return [_instance(schema.get("items", {}), root, rng, depth + 1) for _ in range(size)]


def _scalar(kind: str, schema: Json, rng: random.Random) -> object:
    low = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
    high = max(low, schema.get("maximum", schema.get("exclusiveMaximum", low + 1001) - 1))
    match kind:
        case "integer":
            return rng.randint(int(low), int(high))
        case "number":
            return round(rng.uniform(low, high), 2)
        case "boolean":
            return rng.random() < 0.5
        case "null":
            return None
        case _:
            return _string(schema, rng)


def _string(schema: Json, rng: random.Random) -> str:
    day = f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    formats = {
        "date": day,
        "date-time": f"{day}T{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:00Z",
        "email": f"{rng.choice(_WORDS)}@example.com",
        "uri": f"https://example.com/{rng.choice(_WORDS)}",
        "uuid": f"{token(rng, 8)}-{token(rng, 4)}-4{token(rng, 3)}-8{token(rng, 3)}-{token(rng, 12)}",
    }
    text = formats.get(str(schema.get("format")), words(rng, 1, 3))
    return text.ljust(int(schema.get("minLength", 0)), "x")[: schema.get("maxLength")]
