"""Check the form of an envelope's `meta` when it is read: reports and replays rely on these fields."""

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


class _MetaFields(Struct):
    """The fields that readers use unchecked; any other field may have any form."""

    request: _Request | UnsetType = UNSET
    response: _Response | UnsetType = UNSET
    arguments: dict[str, Raw] | UnsetType = UNSET
    after: list[int] | UnsetType = UNSET
    prints: list[_Print] | UnsetType = UNSET
    printed: str | UnsetType = UNSET
    masked: _Masked | UnsetType = UNSET
    passed: str | UnsetType = UNSET


_decoder = late_decoder(_MetaFields)


def checked(meta: bytes) -> bytes:
    """Return the `meta` of an envelope as it is, if its fields have the right form.

    Raises:
        msgspec.MsgspecError: a field has another form, or `meta` is no JSON object.
    """
    _decoder.decode(meta)
    return meta
