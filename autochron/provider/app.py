"""The HTTP endpoints: each passes its request to the planner and sends the plan, with the plan's faults."""

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

from autochron.provider import bedrock, chat, cohere, google, groq, messages, mistral, ollama, responses, xai
from autochron.provider.request_planner import Inquiry, Plan, RequestPlanner
from autochron.provider.settings import Settings
from autochron.provider.wire import error_body

_OPENAI = (chat.FORM, responses.FORM)
_OTHERS = (
    *(messages.FORM, ollama.FORM, mistral.FORM, groq.FORM, cohere.FORM),
    *(google.FORM, google.STREAM, *bedrock.FORMS),
)
_FORMS = {form.path: form for form in (*_OPENAI, *_OTHERS)}
_PLAIN = ("/v1/embeddings", "/v1/files")
_GZIP = 31  # zlib's window bits for a gzip wrapper
_EVENT_SHARE = 20  # each event of a stream waits this part of the latency


class PlannedResponse(Response):
    """A response that sends a plan. Whole answers and streams differ only in their chunks."""

    def __init__(self, plan: Plan) -> None:
        """Prepare the headers and chunks. `__call__` sends the body, where a fault can break it off."""
        super().__init__(status_code=plan.status)
        self._plan = plan
        self._chunks = list(plan.events) or [json.dumps(plan.body).encode()]
        if "gzip" in plan.faults:
            self._chunks = list(_gzipped(self._chunks))
        # Not init_headers(): it adds the length of an empty body, which would end a stream at once.
        headers = _headers(plan, sum(map(len, self._chunks)))
        self.raw_headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the plan, or the part of it that its faults allow."""
        plan, is_stream = self._plan, bool(self._plan.events)
        latency = plan.latency or 0.0
        await asyncio.sleep(latency)
        if "stall" in plan.faults and not is_stream:
            await _wait_for_disconnect(receive)
            return
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for chunk in self._chunks_to_send():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            if is_stream:
                await asyncio.sleep(latency / _EVENT_SHARE)
        if "stall" in plan.faults:
            await _wait_for_disconnect(receive)
        elif "disconnect" not in plan.faults:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        # Else return with the body unfinished: the server then closes the connection.

    def _chunks_to_send(self) -> list[bytes]:
        if not self._plan.faults & {"disconnect", "stall"}:
            return self._chunks
        if self._plan.events:
            return self._chunks[: len(self._chunks) // 2]
        return [self._chunks[0][: len(self._chunks[0]) // 2]]


def planner_of(settings: Settings) -> RequestPlanner:
    """Return the planner of a provider, for all wire forms."""
    return RequestPlanner(settings, {**_FORMS, **{form.path: form for form in xai.FORMS}})


def build(planner: RequestPlanner) -> Starlette:
    """Return the application with all endpoints of a provider that speak HTTP."""

    def endpoint(form: str) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            body, path = await request.body(), request.url.path
            return PlannedResponse(
                planner.plan(Inquiry(path, request.headers, body, form, request.path_params))
            )

        return answer

    async def stats(_: Request) -> Response:
        return JSONResponse(planner.stats().to_data())

    async def reset(_: Request) -> Response:
        planner.reset()
        return JSONResponse(planner.stats().to_data())

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
    # Clients that don't know the header in milliseconds get the shortest time of the standard one, a second.
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


async def _wait_for_disconnect(receive: Receive) -> None:
    """Wait until the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
