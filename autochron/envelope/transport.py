"""Requests and responses of httpx and httpx2, which exceptions of SDKs refer to, as data.

What a finished response shows is written: status, headers, decoded content, request, history, elapsed time. Streams,
and extensions other than version and reason, belong to a connection that is gone.
"""

# ruff: noqa: SLF001 - the constructors would decode the content again, so it is set past them

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from msgspec import Raw
from msgspec.json import encode

from autochron.envelope import bodies
from autochron.errors import CodecError


def describe(name: str, value: Any, write: Callable[[Any], Any]) -> dict[str, Any]:
    """Write an object of the library as a tagged object.

    Args:
        name: `URL`, `Headers`, `Request` or `Response`.
        value: the object.
        write: returns the tree of a value that it holds.
    """
    tag = {"$http": f"{type(value).__module__.partition('.')[0]}:{name}"}
    if name == "URL":
        return {**tag, "url": str(value)}
    if name == "Headers":
        return {**tag, "headers": _headers(value)}
    if name == "Request":
        return {
            **tag,
            "method": value.method,
            "url": str(value.url),
            "headers": _headers(value.headers),
            "content": _content(value),
        }
    return {**tag, **_describe_response(value, write)}


def _describe_response(value: Any, write: Callable[[Any], Any]) -> dict[str, Any]:
    own = vars(value)
    written: dict[str, Any] = {
        "status": value.status_code,
        "headers": _headers(value.headers),
        "content": _content(value),
    }
    for key in ("http_version", "reason_phrase"):
        if isinstance(value.extensions.get(key), bytes):
            written[key] = value.extensions[key].decode("latin-1")
    if own.get("_request") is not None:
        written["request"] = write(own["_request"])
    if own.get("next_request") is not None:
        written["next_request"] = write(own["next_request"])
    if own.get("history"):
        written["history"] = [write(item) for item in own["history"]]
    if "_elapsed" in own:
        written["elapsed"] = write(own["_elapsed"])
    if isinstance(own.get("_encoding"), str):
        written["encoding"] = own["_encoding"]
    if isinstance(own.get("default_encoding"), str):
        written["default_encoding"] = own["default_encoding"]
    return written


def _headers(headers: Any) -> Any:
    """Write headers as an object of name to value, or to a list of values: redaction goes by the names."""
    written: dict[str, Any] = {}
    for name, value in headers.raw:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        if key not in written:
            written[key] = text
        elif isinstance(written[key], list):
            written[key].append(text)
        else:
            written[key] = [written[key], text]
    return written


def _content(value: Any) -> Any:
    """Write the content that was read, as a stored body; null where it was never read."""
    content = getattr(value, "_content", None)
    if content is None:
        return None
    if not content:
        return ""
    return Raw(bodies.store_body(content, value.headers.get("content-type", "")))


def rebuild(node: dict[str, Any], read: Callable[[Any], Any]) -> Any:
    """Make the object again with its library's own classes.

    Args:
        node: the tagged object.
        read: returns the value of a tree.

    Raises:
        CodecError: the library isn't imported, or the class is none of the four.
    """
    library_name, _, name = node["$http"].partition(":")
    library = sys.modules.get(library_name) if library_name in ("httpx", "httpx2") else None
    if library is None:
        raise CodecError(
            f"{node['$http']} was recorded, but {library_name} isn't imported; import it before the replay"
        )
    space = vars(library)
    if name == "URL":
        return space["URL"](node["url"])
    if name == "Headers":
        return space["Headers"](_pairs(node["headers"]))
    if name == "Request":
        return _rebuild_request(space, node)
    if name == "Response":
        return _rebuild_response(space, node, read)
    raise CodecError(f"{node['$http']} is none of the classes that are kept")


def _pairs(headers: Any) -> list[tuple[bytes, bytes]]:
    pairs: list[tuple[bytes, bytes]] = []
    for name, value in headers.items():
        values = value if isinstance(value, list) else [value]
        pairs.extend((name.encode("latin-1"), str(item).encode("latin-1")) for item in values)
    return pairs


def _stored(content: Any) -> bytes:
    return b"" if content == "" else bodies.restore_body(encode(content))


def _rebuild_request(space: dict[str, Any], node: dict[str, Any]) -> Any:
    content = node["content"]
    request = space["Request"](
        node["method"], node["url"], content=_stored(content) if content is not None else b""
    )
    request.headers = space["Headers"](_pairs(node["headers"]))
    if content is None:
        del request._content
    return request


def _rebuild_response(space: dict[str, Any], node: dict[str, Any], read: Callable[[Any], Any]) -> Any:
    request = read(node["request"]) if "request" in node else None
    response = space["Response"](node["status"], request=request, content=b"")
    # The constructor would decode the content once more, as `content-encoding` says.
    response.headers = space["Headers"](_pairs(node["headers"]))
    response.extensions = {
        key: node[key].encode("latin-1") for key in ("http_version", "reason_phrase") if key in node
    }
    if node["content"] is None:
        del response._content
    else:
        response._content = _stored(node["content"])
    response.is_closed = response.is_stream_consumed = True
    response.history = [read(item) for item in node.get("history", ())]
    response.next_request = read(node.get("next_request"))
    if "elapsed" in node:
        response.elapsed = read(node["elapsed"])
    if "encoding" in node:
        response._encoding = node["encoding"]
    if "default_encoding" in node:
        response.default_encoding = node["default_encoding"]
    return response
