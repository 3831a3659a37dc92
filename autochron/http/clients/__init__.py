"""Find the door of an HTTP client. Doors are the only code that knows a particular client.

A door (`http.exchange.Door`) reads a client's requests and responses, and makes a response from a record. It is the
`DOOR` of a module in this package. A door does not import its client: it is used only once the program has imported the
client. Nor is a door imported before that.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autochron.http.exchange import Door

DOORS: dict[str, str] = {
    "httpx._client": "httpx",
    "httpx2._client": "httpx",
    "aiohttp.client": "aiohttp",
    "botocore.httpsession": "botocore",
    "grpc._channel": "grpc",
    "grpc.aio._channel": "grpc",
}
"""By module of a client: the module of its door."""


def door_of(module: str) -> Door:
    """Return the door of the client that a module defines; the module is a key of `DOORS`."""
    door: Door = import_module(f"{__name__}.{DOORS[module]}").DOOR
    return door
