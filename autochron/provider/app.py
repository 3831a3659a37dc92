"""The endpoints: HTTP in, the desk's plan out, with the faults that the plan holds."""

import asyncio
import json
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from autochron.provider import bedrock, chat, google, messages, mistral, ollama, responses
from autochron.provider.desk import Desk, Inquiry, Plan
from autochron.provider.settings import Settings
from autochron.provider.wire import error_body

_OPENAI = (chat.FORM, responses.FORM)
_OTHERS = (messages.FORM, ollama.FORM, mistral.FORM, google.FORM, google.STREAM, *bedrock.FORMS)
_FORMS = {form.path: form for form in (*_OPENAI, *_OTHERS)}
_PLAIN = ("/v1/embeddings", "/v1/files")
_GZIP = 31  # zlib's window bits for a gzip wrapper
_EVENT_SHARE = 20  # each event of a stream waits this part of the latency


class PlannedResponse(Response):
    """A plan on its way out. Whole answers and streams differ in their chunks only."""

    def __init__(self, plan: Plan) -> None:
        """Lay out the headers; the body is sent in `__call__`, where faults can break it off."""
        super().__init__(status_code=plan.status)
        self._plan = plan
        self._chunks = list(plan.events) or [json.dumps(plan.body).encode()]
        if "gzip" in plan.faults:
            self._chunks = list(_gzipped(self._chunks))
        # Not init_headers(): it adds the length of an empty body, which would end a stream at once.
        headers = _headers(plan, sum(map(len, self._chunks)))
        self.raw_headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the plan, or as much of it as its faults allow."""
        plan, streamed = self._plan, bool(self._plan.events)
        latency = plan.latency or 0.0
        await asyncio.sleep(latency)
        if "stall" in plan.faults and not streamed:
            await _left(receive)
            return
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for chunk in self._cut():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            if streamed:
                await asyncio.sleep(latency / _EVENT_SHARE)
        if "stall" in plan.faults:
            await _left(receive)
        elif "disconnect" not in plan.faults:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        # Else return with the body unfinished: the server then closes the connection.

    def _cut(self) -> list[bytes]:
        if not self._plan.faults & {"disconnect", "stall"}:
            return self._chunks
        if self._plan.events:
            return self._chunks[: len(self._chunks) // 2]
        return [self._chunks[0][: len(self._chunks[0]) // 2]]


def build(settings: Settings) -> Starlette:
    """Make the application."""
    desk = Desk(settings, _FORMS)

    def endpoint(form: str) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            body, path = await request.body(), request.url.path
            return PlannedResponse(desk.plan(Inquiry(path, request.headers, body, form, request.path_params)))

        return answer

    async def stats(_: Request) -> Response:
        return JSONResponse(desk.stats().to_data())

    async def reset(_: Request) -> Response:
        desk.reset()
        return JSONResponse(desk.stats().to_data())

    async def missing(request: Request, _: Exception) -> Response:
        path = request.url.path
        return JSONResponse(error_body(path, 404, f"no such endpoint: {request.method} {path}"), 404)

    async def broken(request: Request, error: Exception) -> Response:
        return JSONResponse(
            error_body(request.url.path, 500, f"a fault of the provider's own: {error!r}"), 500
        )

    endpoints = [Route(path, endpoint(path), methods=["POST"]) for path in (*_FORMS, *_PLAIN)]
    counters = [Route("/stats", stats, methods=["GET"]), Route("/reset", reset, methods=["POST"])]
    handlers: dict[Any, Any] = {404: missing, 405: missing, 500: broken}
    return Starlette(routes=[*endpoints, *counters], exception_handlers=handlers)


def _headers(plan: Plan, size: int) -> Mapping[str, str]:
    ids = {"x-request-id": plan.request_id, "request-id": plan.request_id}
    body = {**plan.headers, "content-type": plan.media}
    if not plan.events:
        body["content-length"] = str(size)
    if "gzip" in plan.faults:
        body["content-encoding"] = "gzip"
    # Clients that don't know the header in milliseconds get the least that the standard one can say.
    wait = (
        {}
        if plan.retry_after_ms is None
        else {"retry-after-ms": str(plan.retry_after_ms), "retry-after": "1"}
    )
    return {**body, **ids, **wait}


def _gzipped(chunks: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(wbits=_GZIP)
    for chunk in chunks:
        yield packer.compress(chunk) + packer.flush(zlib.Z_SYNC_FLUSH)
    yield packer.flush()


async def _left(receive: Receive) -> None:
    """Wait until the client goes away."""
    while (await receive())["type"] != "http.disconnect":
        pass
