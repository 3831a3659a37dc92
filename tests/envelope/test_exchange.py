"""What a client gets back of an exchange."""

from __future__ import annotations

import httpx

from autochron.envelope.doors import DOORS
from autochron.envelope.exchange import stored_exchange


def test_the_length_is_that_of_the_body_that_is_served() -> None:
    request = httpx.Request("GET", "http://x.invalid/")
    door, names = DOORS["httpx._client"], ("request",)
    wire = door.sent(names, (request,))
    door.attend(wire, httpx.Response(200, content=b'{"a":1}', request=request), lambda _: None)
    exchange = stored_exchange(wire, with_request=False)
    response = door.rebuilt(exchange, names, (request,))
    assert response.headers["content-length"] == "7"
    assert response.content == b'{"a":1}'
    wire.headers = []
    without = door.rebuilt(stored_exchange(wire, with_request=False), names, (request,))
    assert "content-length" not in without.headers
