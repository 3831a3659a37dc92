"""Messages of protocol buffers as JSON that a person can read and edit, and from which equal messages are made again.

A message is written by its descriptor: only fields that are set, by their names; enumerations by name; bytes in base64;
maps as objects, or as pairs where their keys are no strings. Fields that the type does not have stand under `$unknown`, by
their numbers. Nothing is kept as bytes that may be text, so that secrets are found. No class of the program has a say in it,
and protobuf's own JSON form is not used, since it drops unknown fields in silence.

protobuf is not imported for it: a program that has messages has it.
"""

from __future__ import annotations

import binascii
import math
import sys
from collections.abc import Callable
from typing import Any

from msgspec.json import encode

from autochron.envelope import protobuf_fields
from autochron.errors import CodecError

UNKNOWN = "$unknown"
"""The key of fields that a message's type does not have; no field can be named so."""

_FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def name_of(message: Any) -> str:
    """Return the full name of a message's type: `xai_api.GetChatCompletionResponse`."""
    return str(message.DESCRIPTOR.full_name)


def to_bytes(message: Any) -> bytes:
    """Return the bytes of a message, which are the same for equal messages of one program."""
    content: bytes = message.SerializeToString(deterministic=True)
    return content


def to_tree(message: Any) -> dict[str, Any]:
    """Return the fields of a message that are set, as JSON data; also those that its type does not have."""
    content = to_bytes(message)
    tree = _known(message)
    return tree if to_bytes(_filled(type(message)(), tree)) == content else _whole(message)


def to_json(message: Any) -> bytes:
    """Return the same as JSON text."""
    return encode(to_tree(message))


def tagged(message: Any) -> dict[str, Any]:
    """Return a message as a tagged object of the codec: its type and its fields."""
    return {"$message": name_of(message), "fields": to_tree(message)}


def untagged(node: dict[str, Any]) -> Any:
    """Return the message of a tagged object.

    Raises:
        CodecError: this program has no such type, or the data is not of it.
    """
    return rebuild(node["$message"], node["fields"])


def read(name: str, content: bytes) -> dict[str, Any] | None:
    """Return the tree of a message of a type; None where this program has no such type, or the bytes are not of it."""
    try:
        message = _new(name)
        message.MergeFromString(content)
        return to_tree(message)
    except Exception:  # protobuf has several implementations, each with errors of its own
        return None


def rebuild(name: object, tree: object) -> Any:
    """Make a message of its JSON data.

    Raises:
        CodecError: this program has no such type, or the data is not of it.
    """
    message = _new(name)
    try:
        return _filled(message, tree)
    except CodecError:
        raise
    except Exception as error:  # as above
        raise CodecError(f"a stored {name} can't be made again ({error}); was the trace edited?") from None


def _new(name: object) -> Any:
    """Return an empty message of a type that the program has imported."""
    pool, factory = (
        sys.modules.get(f"google.protobuf.{module}") for module in ("descriptor_pool", "message_factory")
    )
    if pool is None or factory is None:
        raise CodecError(f"{name} was recorded, but protobuf isn't imported; import it before the replay")
    try:
        return factory.GetMessageClass(pool.Default().FindMessageTypeByName(name))()
    except Exception:
        raise CodecError(f"{name} was recorded, and no module of this program defines it now") from None


# --- from messages -------------------------------------------------------------------------------------------------


def _known(message: Any) -> dict[str, Any]:
    return {field.name: _written(field, value, _known) for field, value in message.ListFields()}


def _whole(message: Any) -> dict[str, Any]:
    """Return the tree of a message, with fields that the type lacks: those of a server that is newer than the SDK."""
    fields = message.ListFields()
    tree = {field.name: _written(field, value, _whole) for field, value in fields}
    rest = type(message)()
    rest.CopyFrom(message)
    for field, _ in fields:
        rest.ClearField(field.name)
    unknown = to_bytes(rest)
    return {**tree, UNKNOWN: protobuf_fields.read(unknown)} if unknown else tree


def _written(field: Any, value: Any, tree: Callable[[Any], Any]) -> Any:
    if _is_map(field):
        of_value = field.message_type.fields_by_name["value"]
        pairs = [(key, _scalar_or_message(of_value, value[key], tree)) for key in value]
        pairs.sort()
        if all(type(key) is str and key[:1] != "$" for key, _ in pairs):
            return dict(pairs)
        return [list(pair) for pair in pairs]
    if _is_repeated(field):
        return [_scalar_or_message(field, item, tree) for item in value]
    return _scalar_or_message(field, value, tree)


def _scalar_or_message(field: Any, value: Any, tree: Callable[[Any], Any]) -> Any:
    if field.message_type is not None:
        return tree(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return value if known is None else known.name
    if isinstance(value, bytes):
        return binascii.b2a_base64(value, newline=False).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _is_repeated(field: Any) -> bool:
    # `label` is deprecated in later releases, and earlier ones have nothing else.
    is_repeated = getattr(field, "is_repeated", None)
    return bool(field.label == field.LABEL_REPEATED if is_repeated is None else is_repeated)


def _is_map(field: Any) -> bool:
    kind = field.message_type
    return _is_repeated(field) and kind is not None and bool(kind.GetOptions().map_entry)


# --- to messages ---------------------------------------------------------------------------------------------------


def _filled(message: Any, tree: Any) -> Any:
    fields = message.DESCRIPTOR.fields_by_name
    for name, value in tree.items():
        if name == UNKNOWN:
            message.MergeFromString(protobuf_fields.write(value))
            continue
        field = fields.get(name)
        if field is None:
            raise CodecError(
                f"{message.DESCRIPTOR.full_name} has no field {name} any more; record the trace again"
            )
        if _is_map(field):
            _fill_map(field, getattr(message, name), value)
        elif field.message_type is not None and _is_repeated(field):
            for item in value:
                _filled(getattr(message, name).add(), item)
        elif field.message_type is not None:
            getattr(message, name).SetInParent()
            _filled(getattr(message, name), value)
        elif _is_repeated(field):
            getattr(message, name).extend(_scalar(field, item) for item in value)
        else:
            setattr(message, name, _scalar(field, value))
    return message


def _fill_map(field: Any, target: Any, value: Any) -> None:
    of_value = field.message_type.fields_by_name["value"]
    for key, item in value.items() if isinstance(value, dict) else value:
        if of_value.message_type is not None:
            _filled(target[key], item)
        else:
            target[key] = _scalar(of_value, item)


def _scalar(field: Any, value: Any) -> Any:
    if field.enum_type is not None:
        return field.enum_type.values_by_name[value].number if isinstance(value, str) else value
    if field.type == field.TYPE_BYTES:
        return binascii.a2b_base64(value)
    if field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
        return _FLOATS[value] if isinstance(value, str) else float(value)
    return value
