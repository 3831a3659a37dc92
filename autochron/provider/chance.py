"""Chance: words, ids and values for a JSON schema, all drawn from a generator that the caller seeds."""

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
_DEEPEST = 6


def words(rng: random.Random, low: int = 3, high: int = 8) -> str:
    """Draw a few words."""
    return " ".join(rng.choices(_WORDS, k=rng.randint(low, high)))


def sentence(rng: random.Random) -> str:
    """Draw a sentence or two."""
    return " ".join(f"{words(rng, 4, 12).capitalize()}." for _ in range(rng.randint(1, 2)))


def token(rng: random.Random, digits: int = 24) -> str:
    """Draw a hexadecimal id."""
    return f"{rng.getrandbits(4 * digits):0{digits}x}"


def pieces(text: str, rng: random.Random) -> list[str]:
    """Cut a text into the uneven pieces that a stream sends."""
    cut: list[str] = []
    while text:
        size = rng.randint(1, 12)
        cut.append(text[:size])
        text = text[size:]
    return cut


def fill(text: str, user: str, rng: random.Random) -> str:
    """Replace a script's placeholders; braces that are none stay as they are."""

    def one(match: re.Match[str]) -> str:
        inner = match.group(1)
        if inner == "random":
            return words(rng)
        if inner == "id":
            return token(rng, 12)
        if inner == "number":
            number = re.search(r"\d+", user)
            return number.group() if number else "0"
        return rng.choice(inner.split("|")) if "|" in inner else match.group()

    return _PLACEHOLDER.sub(one, text)


def fill_json(text: str, user: str, rng: random.Random) -> str:
    """Replace placeholders within the strings of a JSON text; in one that is malformed, anywhere."""
    try:
        value = json.loads(text)
    except ValueError:
        return fill(text, user, rng)
    return json.dumps(_filled(value, user, rng))


def _filled(value: object, user: str, rng: random.Random) -> object:
    match value:
        case str():
            return fill(value, user, rng)
        case list():
            return [_filled(item, user, rng) for item in value]
        case {"$int": str(digits), **rest} if not rest:
            return int(fill(digits, user, rng))
        case dict():
            return {key: _filled(item, user, rng) for key, item in value.items()}
        case _:
            return value


def instance(schema: Json, rng: random.Random) -> object:
    """Draw a value that fits a JSON schema: the part of it that tools and structured outputs use."""
    return _instance(schema, schema, rng, 0)


def _instance(schema: Json, root: Json, rng: random.Random, depth: int) -> object:
    schema = _resolved(schema, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            options = schema[key]
            # Too deep: the last option, which is where generators put the null of an optional recursion.
            return _instance(options[-1] if depth > _DEEPEST else rng.choice(options), root, rng, depth + 1)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = rng.choice(kind)
    if kind == "object":
        return _object(schema, root, rng, depth)
    if kind == "array":
        return _array(schema, root, rng, depth)
    return _scalar(str(kind), schema, rng)


def _resolved(schema: Json, root: Json) -> Json:
    while "$ref" in schema or len(schema.get("allOf", ())) == 1:
        if "$ref" not in schema:
            schema = schema["allOf"][0]
            continue
        found: Any = root
        for part in str(schema["$ref"]).removeprefix("#/").split("/"):
            found = found.get(part, {}) if isinstance(found, dict) else {}
        schema = found
    return schema


def _object(schema: Json, root: Json, rng: random.Random, depth: int) -> Json:
    required = schema.get("required", ())
    chosen = {}
    for name, inner in schema.get("properties", {}).items():
        if name in required or (depth <= _DEEPEST and rng.random() < 0.5):
            chosen[name] = _instance(inner, root, rng, depth + 1)
    return chosen


def _array(schema: Json, root: Json, rng: random.Random, depth: int) -> list[object]:
    low = int(schema.get("minItems", 0))
    high = max(low, min(int(schema.get("maxItems", low + 3)), low + 3))
    size = low if depth > _DEEPEST else rng.randint(low, high)
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
