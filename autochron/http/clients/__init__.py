"""The doors of HTTP clients, by the module that defines them: what is an HTTP client's own stands here and nowhere else.

A client gets a door by a class that reads its requests and responses and makes a response of a record
(`envelope.exchange.Door`). A door imports no client: it is asked only where one is at work. Nor is a door imported before
its client is: each is the `DOOR` of a module beside this one.
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
}
"""Each request of these clients goes through one of the definitions that its door names."""


def door_of(module: str) -> Door:
    """Return the door of the client that a module defines, one of `DOORS`."""
    door: Door = import_module(f"{__name__}.{DOORS[module]}").DOOR
    return door
