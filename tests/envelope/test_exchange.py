"""What an HTTP client receives when an exchange is served."""

from __future__ import annotations

import pytest

from autochron.http.clients import door_of
from autochron.http.exchange import stored_exchange
from tests.late import LateLibrary, httpx, httpx2

pytestmark = pytest.mark.sdks
httpcore, httpcore2 = map(LateLibrary, ("httpcore", "httpcore2"))


def test_the_content_length_is_that_of_the_served_body() -> None:
    request = httpx.Request("GET", "http://x.invalid/")
    door, names = door_of("httpx._client"), ("request",)
    wire = door.sent(names, (request,))
    door.attend(wire, httpx.Response(200, content=b'{"a":1}', request=request), lambda _: None)
    exchange = stored_exchange(wire, with_request=False)
    response = door.rebuilt(exchange, names, (request,))
    assert response.headers["content-length"] == "7"
    assert response.content == b'{"a":1}'
    wire.headers = []
    without = door.rebuilt(stored_exchange(wire, with_request=False), names, (request,))
    assert "content-length" not in without.headers


def test_an_error_of_one_client_is_raised_as_the_error_of_a_similar_client() -> None:
    def record(library, core):
        request = library.Request("GET", "http://x.invalid/")
        wire = door.sent(names, (request,))
        wire.error = library.ConnectError("no route", request=request)
        wire.error.__cause__ = core.ConnectError("beneath")
        return request, stored_exchange(wire, with_request=False)

    door, names = door_of("httpx2._client"), ("request",)
    old, new = record(httpx, httpcore), record(httpx2, httpcore2)
    for request, exchange, library, core in (
        (*old, httpx, httpcore),
        (new[0], old[1], httpx2, httpcore2),
        (old[0], new[1], httpx, httpcore),
    ):
        error = door.ended(exchange, names, (request,))
        assert (type(error), str(error)) == (library.ConnectError, "no route")
        assert (type(error.__cause__), type(error.request)) == (core.ConnectError, library.Request)
