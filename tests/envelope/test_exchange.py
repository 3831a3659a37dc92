"""What a client gets back of an exchange."""

from __future__ import annotations

import httpx

from autochron.envelope.exchange import Wire, attend, rebuilt, stored_exchange


def test_the_length_is_that_of_the_body_that_is_served() -> None:
    request = httpx.Request("GET", "http://x.invalid/")
    wire = Wire(request)
    attend(wire, httpx.Response(200, content=b'{"a":1}', request=request), lambda _: None)
    exchange = stored_exchange(wire, with_request=False)
    response = rebuilt(exchange, request, stream=False)
    assert response.headers["content-length"] == "7"
    assert response.content == b'{"a":1}'
    wire.headers = []
    without = rebuilt(stored_exchange(wire, with_request=False), request, stream=False)
    assert "content-length" not in without.headers
