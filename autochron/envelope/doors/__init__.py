"""The doors of HTTP clients, by the module that defines them: what is an HTTP client's own stands here and nowhere else.

A client gets a door by a class that reads its requests and responses and makes a response of a record
(`envelope.exchange.Door`). A door imports no client: it is asked only where one is at work.
"""

from __future__ import annotations

from autochron.envelope.doors.aiohttp import Aiohttp
from autochron.envelope.doors.botocore import Botocore
from autochron.envelope.doors.httpx import Httpx
from autochron.envelope.exchange import Door

_HTTPX = Httpx()

DOORS: dict[str, Door] = {
    "httpx._client": _HTTPX,
    "httpx2._client": _HTTPX,
    "aiohttp.client": Aiohttp(),
    "botocore.httpsession": Botocore(),
}
"""Each request of these clients goes through one of the definitions that its door names."""
