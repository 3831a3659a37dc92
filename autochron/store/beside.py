"""Check what stands beside a crossing's outcome, its `meta`: reports and replays rely on the form of these fields."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import UNSET, Raw, Struct, UnsetType

from autochron._runtime.lazy import late_decoder


class _Request(Struct):
    parameter: str
    """The parameter of the handler that takes the request."""


class _Response(Struct):
    status: int
    body: Raw


class _Print(NamedTuple):
    number: int
    after: int
    text: str
    is_written: bool = False


class _Masked(Struct):
    key: str
    digests: dict[str, str | None]


class _Beside(Struct):
    """The fields that are read without a further look; others may have any form."""

    request: _Request | UnsetType = UNSET
    response: _Response | UnsetType = UNSET
    arguments: dict[str, Raw] | UnsetType = UNSET
    after: list[int] | UnsetType = UNSET
    prints: list[_Print] | UnsetType = UNSET
    printed: str | UnsetType = UNSET
    masked: _Masked | UnsetType = UNSET
    passed: str | UnsetType = UNSET


_decoder = late_decoder(_Beside)


def checked(meta: bytes) -> bytes:
    """Return the `meta` of an envelope, or raise msgspec's errors where it has another form."""
    _decoder.decode(meta)
    return meta
