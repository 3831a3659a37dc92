"""Plans that write value types of the standard library, such as moments, paths and decimals, and what errors of gRPC hold.

A new type is added here, and read in `reading`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from autochron.envelope import rpc_states
from autochron.envelope.opaque import opaque

Plan: TypeAlias = Callable[[Any, Any], Any]
"""Writes the instances of one class: from the writer and a value to the value's tree."""


def _moment(writer: Any, value: Any) -> Any:
    """Write a datetime or a time: ISO text without zone, then zone and fold where they are set."""
    tag = "$datetime" if hasattr(value, "toordinal") else "$time"
    plain = value.replace(tzinfo=None, fold=0)
    written = {tag: plain.isoformat()}
    if value.tzinfo is not None:
        written["zone"] = writer.write(value.tzinfo)
    if value.fold:
        written["fold"] = 1
    return written


def _zone(writer: Any, value: Any) -> Any:
    if type(value).__name__ == "ZoneInfo":
        return {"$zone": value.key} if value.key else opaque(value, "the zone has no key")
    arguments = value.__getinitargs__()
    offset = arguments[0]
    written: dict[str, Any] = {"$timezone": [offset.days, offset.seconds, offset.microseconds]}
    if len(arguments) > 1:
        written["name"] = writer.write(arguments[1])
    return written


def _pydantic_zone(_writer: Any, value: Any) -> Any:
    """Write the zone of a moment that pydantic parsed: a type of its own, whose offset is in whole seconds."""
    offset = value.utcoffset(None)
    return {"$timezone": [offset.days, offset.seconds, 0], "of": "pydantic_core"}


def _fraction(writer: Any, value: Any) -> Any:
    return {"$fraction": [writer.write(value.numerator), writer.write(value.denominator)]}


def _textual(tag: str) -> Plan:
    def plan(writer: Any, value: Any) -> Any:
        return {tag: writer.write(str(value))}

    return plan


def _path(writer: Any, value: Any) -> Any:
    return {"$path": writer.write(str(value)), "flavour": type(value).__name__}


LIBRARY: tuple[tuple[str, str, Plan], ...] = (
    ("datetime", "datetime", _moment),
    ("datetime", "time", _moment),
    ("datetime", "date", lambda _, value: {"$date": value.isoformat()}),
    ("datetime", "timedelta", lambda _, v: {"$timedelta": [v.days, v.seconds, v.microseconds]}),
    ("datetime", "timezone", _zone),
    ("zoneinfo", "ZoneInfo", _zone),
    ("pydantic_core", "TzInfo", _pydantic_zone),
    ("decimal", "Decimal", _textual("$decimal")),
    ("fractions", "Fraction", _fraction),
    ("uuid", "UUID", _textual("$uuid")),
    ("pathlib", "PosixPath", _path),
    ("pathlib", "WindowsPath", _path),
    ("pathlib", "PurePosixPath", _path),
    ("pathlib", "PureWindowsPath", _path),
    ("grpc._channel", "_RPCState", rpc_states.describe_state),
    ("grpc.aio._metadata", "Metadata", rpc_states.describe_metadata),
)
