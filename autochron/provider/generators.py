"""Generators of random words, ids and values for a JSON schema. The caller passes the seeded source of randomness."""

import json
import math
import random
import re
from typing import Any, TypeVar

from autochron.provider.conversation import Json

_WORDS = tuple(
    "amber brisk candid delta early fresh gentle harbour ideal jolly keen lively mellow noble open "  # noqa: SIM905
    "plain quiet river steady timber useful vivid warm yellow zesty order parcel letter bridge garden".split()
)
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_MAX_DEPTH = 6
_WIDTH = 1000
"""The width of a range of numbers that has one bound."""

_Bound = TypeVar("_Bound", int, float)


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
    return _instance(schema, schema, rng, ())


def _instance(schema: Json, root: Json, rng: random.Random, path: tuple[int, ...]) -> object:
    """Return a random value that fits a part of a schema.

    Args:
        schema: the part.
        root: the whole schema.
        rng: the source of randomness.
        path: the ids of the parts around it, from the outside in. One may occur again, since schemas are recursive.
    """
    schema = _resolve(schema, root)
    if len(path) > _MAX_DEPTH + 1 and id(schema) in path:
        return None  # a schema that requires itself, which no finite value fits
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    inner_path = (*path, id(schema))
    for key in ("anyOf", "oneOf"):
        if key in schema:
            options = schema[key]
            option = _finite(options, root, inner_path) if len(path) > _MAX_DEPTH else rng.choice(options)
            return _instance(option, root, rng, inner_path)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = rng.choice(kind)
    if kind == "object":
        return _object(schema, root, rng, inner_path)
    if kind == "array":
        return _array(schema, root, rng, inner_path)
    return _scalar(str(kind), schema, rng)


def _finite(options: list[Json], root: Json, path: tuple[int, ...]) -> Json:
    """Return the last option that begins nothing again: schema generators put the null of an optional field there."""
    return next(
        (option for option in reversed(options) if id(_resolve(option, root)) not in path), options[-1]
    )


def _resolve(schema: Json, root: Json) -> Json:
    """Return what a schema refers to; an empty schema where references lead back to themselves."""
    seen: set[int] = set()
    while "$ref" in schema or len(schema.get("allOf", ())) == 1:
        if id(schema) in seen:
            return {}
        seen.add(id(schema))
        schema = _referred(str(schema["$ref"]), root) if "$ref" in schema else schema["allOf"][0]
    return schema


def _referred(reference: str, root: Json) -> Json:
    """Return the part of the whole schema that a reference names, such as `#/$defs/Item`; an empty one if there is none."""
    target: Any = root
    for part in reference.removeprefix("#").split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        target = target.get(name, {}) if isinstance(target, dict) else {}
    return target if isinstance(target, dict) and reference.startswith("#") else {}


def _object(schema: Json, root: Json, rng: random.Random, path: tuple[int, ...]) -> Json:
    required = schema.get("required", ())
    properties = {}
    for name, property_schema in schema.get("properties", {}).items():
        if name in required or (len(path) <= _MAX_DEPTH + 1 and rng.random() < 0.5):
            properties[name] = _instance(property_schema, root, rng, path)
    return properties


def _array(schema: Json, root: Json, rng: random.Random, path: tuple[int, ...]) -> list[object]:
    low = int(schema.get("minItems", 0))
    high = max(low, min(int(schema.get("maxItems", low + 3)), low + 3))
    size = low if len(path) > _MAX_DEPTH + 1 else rng.randint(low, high)
    return [_instance(schema.get("items", {}), root, rng, path) for _ in range(size)]


def _scalar(kind: str, schema: Json, rng: random.Random) -> object:
    match kind:
        case "integer":
            return _integer(schema, rng)
        case "number":
            return _number(schema, rng)
        case "boolean":
            return rng.random() < 0.5
        case "null":
            return None
        case _:
            return _string(schema, rng)


def _integer(schema: Json, rng: random.Random) -> int:
    lows = [math.ceil(schema["minimum"])] if "minimum" in schema else []
    lows += [math.floor(schema["exclusiveMinimum"]) + 1] if "exclusiveMinimum" in schema else []
    highs = [math.floor(schema["maximum"])] if "maximum" in schema else []
    highs += [math.ceil(schema["exclusiveMaximum"]) - 1] if "exclusiveMaximum" in schema else []
    low, high = _range(lows, highs)
    return rng.randint(low, max(low, high))


def _number(schema: Json, rng: random.Random) -> float:
    exclusive = [schema[key] for key in ("exclusiveMinimum", "exclusiveMaximum") if key in schema]
    lows = [schema[key] for key in ("minimum", "exclusiveMinimum") if key in schema]
    highs = [schema[key] for key in ("maximum", "exclusiveMaximum") if key in schema]
    low, high = _range(lows, highs)
    drawn: float = rng.uniform(low, max(low, high))
    # Two decimals, as most amounts have, unless that leaves the range.
    for value in (round(drawn, 2), drawn):
        if low <= value <= high and value not in exclusive:
            return value
    return float((low + high) / 2)


def _range(lows: list[_Bound], highs: list[_Bound]) -> tuple[_Bound, _Bound]:
    """Return the least and the greatest value by some bounds; without bounds, 0 to 1000."""
    if lows:
        low = max(lows)
        return low, min(highs, default=low + _WIDTH)
    high = min(highs, default=_WIDTH)
    return (0 if high > 0 else high - _WIDTH), high


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
