"""Requests and responses of httpx and httpx2, which SDK exceptions carry, as data.

What a finished response shows is kept: status, headers, decoded content, request, history, time. Streams and
extensions other than version and reason belong to a connection that is gone.
"""

# ruff: noqa: SLF001 - their constructors would decode the content again, so it is set behind them

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from msgspec import Raw
from msgspec.json import encode

from autochron.envelope import bodies
from autochron.errors import CodecError


def describe(name: str, value: Any, write: Callable[[Any], Any]) -> dict[str, Any]:
    """Write one of the library's objects as a tagged object."""
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
    """Write headers as an object of name to value, or to values: redaction goes by the name."""
    found: dict[str, Any] = {}
    for name, value in headers.raw:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        if key not in found:
            found[key] = text
        elif isinstance(found[key], list):
            found[key].append(text)
        else:
            found[key] = [found[key], text]
    return found


def _content(value: Any) -> Any:
    """Write the content that was read, as a stored body; null where it never was."""
    content = getattr(value, "_content", None)
    if content is None:
        return None
    if not content:
        return ""
    return Raw(bodies.store_body(content, value.headers.get("content-type", "")))


def rebuild(node: dict[str, Any], read: Callable[[Any], Any]) -> Any:
    """Make the object again with its library's own classes."""
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
    found: list[tuple[bytes, bytes]] = []
    for name, values in headers.items():
        several = values if isinstance(values, list) else [values]
        found.extend((name.encode("latin-1"), str(value).encode("latin-1")) for value in several)
    return found


def _stored(content: Any) -> bytes:
    return b"" if content == "" else bodies.restore_body(encode(content))


def _rebuild_request(space: dict[str, Any], node: dict[str, Any]) -> Any:
    content = node["content"]
    made = space["Request"](
        node["method"], node["url"], content=_stored(content) if content is not None else b""
    )
    made.headers = space["Headers"](_pairs(node["headers"]))
    if content is None:
        del made._content
    return made


def _rebuild_response(space: dict[str, Any], node: dict[str, Any], read: Callable[[Any], Any]) -> Any:
    request = read(node["request"]) if "request" in node else None
    made = space["Response"](node["status"], request=request, content=b"")
    # Set afterwards: the constructor would decode the content once more, as `content-encoding` says.
    made.headers = space["Headers"](_pairs(node["headers"]))
    made.extensions = {
        key: node[key].encode("latin-1") for key in ("http_version", "reason_phrase") if key in node
    }
    if node["content"] is None:
        del made._content
    else:
        made._content = _stored(node["content"])
    made.is_closed = made.is_stream_consumed = True
    made.history = [read(item) for item in node.get("history", ())]
    made.next_request = read(node.get("next_request"))
    if "elapsed" in node:
        made.elapsed = read(node["elapsed"])
    if "encoding" in node:
        made._encoding = node["encoding"]
    if "default_encoding" in node:
        made.default_encoding = node["default_encoding"]
    return made
