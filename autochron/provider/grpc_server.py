"""The gRPC server of xAI's API. It alone needs grpc and the SDK's messages; both come with the extra `xai`."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

import grpc
from google.protobuf import json_format
from xai_sdk.proto import chat_pb2, deferred_pb2, tokenize_pb2

from autochron.provider import xai
from autochron.provider.request_planner import Inquiry, Plan, RequestPlanner

HOST = "localhost"
"""Not 127.0.0.1: the SDK speaks without TLS to this name only."""

_OK = 200
_SERVER_ERROR = 500
_EVENT_SHARE = 20  # each message of a stream waits this part of the latency
_CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
    503: grpc.StatusCode.UNAVAILABLE,
}


async def start(planner: RequestPlanner, port: int) -> str:
    """Start a server in the running event loop and return its address, `localhost:PORT`.

    Args:
        planner: plans the answers, also of the HTTP endpoints.
        port: the port; 0 for a free one.

    Raises:
        OSError: the port is taken.
    """
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers((_Service(planner).handler(), _tokenizer()))
    try:
        bound = server.add_secure_port(f"{HOST}:{port}", grpc.local_server_credentials())
    except RuntimeError as error:
        raise OSError(f"no gRPC server on port {port}: {error}") from error
    await server.start()
    # The server ends when it is collected.
    _servers.append(server)
    return f"{HOST}:{bound}"


_servers: list[Any] = []


class _Service:
    """The methods of `xai_api.Chat`."""

    def __init__(self, planner: RequestPlanner) -> None:
        self._planner = planner
        self._deferred: dict[str, Any] = {}
        self._asked: set[str] = set()

    def handler(self) -> grpc.GenericRpcHandler:
        """Return what answers the methods."""
        request = chat_pb2.GetCompletionsRequest.FromString
        by_id = deferred_pb2.GetDeferredRequest.FromString
        unary, stream = grpc.unary_unary_rpc_method_handler, grpc.unary_stream_rpc_method_handler
        return grpc.method_handlers_generic_handler(
            "xai_api.Chat",
            {
                "GetCompletion": unary(self._complete, request, _serialized),
                "GetCompletionChunk": stream(self._stream, request, _serialized),
                "StartDeferredCompletion": unary(self._defer, request, _serialized),
                "GetDeferredCompletion": unary(self._get_deferred, by_id, _serialized),
            },
        )

    async def _complete(self, request: Any, context: Any) -> Any:
        plan = await self._plan(xai.FORM.path, request, context)
        return json_format.ParseDict(plan.body, chat_pb2.GetChatCompletionResponse())

    async def _stream(self, request: Any, context: Any) -> AsyncIterator[Any]:
        plan = await self._plan(xai.STREAM.path, request, context)
        events = plan.events
        is_broken = bool(plan.faults & {"disconnect", "stall"})
        for event in events[: len(events) // 2] if is_broken else events:
            yield json_format.Parse(event, chat_pb2.GetChatCompletionChunk())
            await asyncio.sleep((plan.latency or 0.0) / _EVENT_SHARE)
        if is_broken:
            await _break_off(plan, context)

    async def _defer(self, request: Any, context: Any) -> Any:
        plan = await self._plan(xai.DEFERRED.path, request, context)
        answer = json_format.ParseDict(plan.body, chat_pb2.GetChatCompletionResponse())
        self._deferred[answer.id] = answer
        return deferred_pb2.StartDeferredResponse(request_id=answer.id)

    async def _get_deferred(self, request: Any, context: Any) -> Any:
        """Return a deferred answer; it is pending when it is first asked for."""
        answer: Any = self._deferred.get(request.request_id)
        if answer is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, "no such request")
        if answer.id in self._asked:
            return chat_pb2.GetDeferredCompletionResponse(
                status=deferred_pb2.DeferredStatus.DONE, response=answer
            )
        self._asked.add(answer.id)
        return chat_pb2.GetDeferredCompletionResponse(status=deferred_pb2.DeferredStatus.PENDING)

    async def _plan(self, path: str, request: Any, context: Any) -> Plan:
        """Plan an answer, and wait as long as it takes; abort the call where the plan is a refusal."""
        body = json_format.MessageToJson(request, preserving_proto_field_name=True).encode()
        headers = {key: value for key, value in context.invocation_metadata() if isinstance(value, str)}
        plan = self._planner.plan(Inquiry(path, headers, body, path))
        await asyncio.sleep(plan.latency or 0.0)
        if plan.status != _OK:
            await context.abort(_code(plan.status), plan.body["error"]["message"])
        if plan.faults & {"disconnect", "stall"} and not plan.events:
            await _break_off(plan, context)
        return plan


def _code(status: int) -> Any:
    fallback = grpc.StatusCode.INTERNAL if status >= _SERVER_ERROR else grpc.StatusCode.FAILED_PRECONDITION
    return _CODES.get(status, fallback)


async def _break_off(plan: Plan, context: Any) -> None:
    if "stall" in plan.faults:
        await asyncio.Event().wait()  # until the client cancels the call
    # Not UNAVAILABLE, after which the SDK tries again.
    await context.abort(grpc.StatusCode.ABORTED, "the connection breaks off on request")


def _serialized(message: Any) -> bytes:
    content: bytes = message.SerializeToString()
    return content


def _tokenizer() -> grpc.GenericRpcHandler:
    """Return what answers `xai_api.Tokenize`: a token for each word."""

    async def tokenize(request: Any, _context: Any) -> Any:
        tokens = [
            tokenize_pb2.Token(token_id=place, string_token=word, token_bytes=word.encode())
            for place, word in enumerate(_words(request.text))
        ]
        return tokenize_pb2.TokenizeTextResponse(tokens=tokens, model=request.model)

    method = grpc.unary_unary_rpc_method_handler(
        tokenize, tokenize_pb2.TokenizeTextRequest.FromString, _serialized
    )
    return grpc.method_handlers_generic_handler("xai_api.Tokenize", {"TokenizeText": method})


def _words(text: str) -> Iterable[str]:
    return text.split()
