"""HTTP bodies as JSON text that a person can read and edit, and from which the original bytes can be restored.

A body is stored in the first of these forms that restores it exactly:

- `null`: empty;
- `{"json": value, "style": "compact"}`: JSON, and its layout;
- `{"events": [{"event": "delta", "data": {…}}, …]}`: server-sent events; data that is a JSON object or array is written
  as such;
- `{"lines": [{…}, …]}`: JSON lines; a line that is no JSON object or array is written as text;
- `{"frames": [{"headers": {…}, "payload": {…}}, …]}`: an event stream of Amazon; a payload that is a JSON object is
  written as such, any other as a stored body;
- `{"messages": [{…}, …], "type": "xai_api.Sample"}`: messages of gRPC, by the full name of their type;
- `{"text": "…"}`: other UTF-8 text;
- `{"base64": "…"}`: all other bytes.
"""

from __future__ import annotations

import binascii
import io
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from autochron._runtime.lazy import late_decoder
from autochron.errors import CodecError

_to_json = msgspec.json.Encoder().encode
_from_json = msgspec.json.Decoder().decode


MESSAGES = "application/grpc+proto"
"""The content type of messages of gRPC. Its parameter `message` is the full name of their type."""

COMPACT = "compact"
"""The layout of msgspec. All other layouts are in `styles`."""
_JSON_LINES = frozenset(
    {"application/x-ndjson", "application/ndjson", "application/jsonl", "application/json-lines"}
)
_ERRORS = (ValueError, UnicodeError, RecursionError, msgspec.MsgspecError)


class _Stored(Struct, forbid_unknown_fields=True):
    """A stored body in any of its forms."""

    json: Raw | UnsetType = UNSET
    style: str = COMPACT
    tail: str = ""
    events: list[Any] | UnsetType = UNSET
    newline: str = "\n"
    lines: list[Any] | UnsetType = UNSET
    frames: list[Any] | UnsetType = UNSET
    messages: list[Any] | UnsetType = UNSET
    type: str = ""
    text: str | UnsetType = UNSET
    base64: str | UnsetType = UNSET


_stored = late_decoder(_Stored)


def store_body(content: bytes, content_type: str = "") -> bytes:
    """Write a body as JSON text.

    Args:
        content: the body, decoded as its `content-encoding` says.
        content_type: the header; it selects the form.
    """
    if not content:
        return b"null"
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "text/event-stream":
        stored = _store_events(content)
    elif kind in _JSON_LINES:
        stored = _store_lines(content)
    elif kind == "application/vnd.amazon.eventstream":
        stored = _store_frames(content)
    elif kind == MESSAGES:
        stored = _store_messages(content, content_type.partition("message=")[2])
    elif content[:1] in b"{[" or "json" in kind:
        stored = _store_json(content)
    else:
        stored = None
    if stored is None:
        stored = _store_text(content)
    return stored


def restore_body(stored: bytes) -> bytes:
    """Return the original bytes of a stored body.

    Raises:
        CodecError: it has none of the forms.
    """
    if stored == b"null":
        return b""
    try:
        body = _stored.decode(stored)
        if isinstance(body.json, Raw):
            return _lay_out(bytes(body.json), body.style) + body.tail.encode()
        if isinstance(body.events, list):
            return _restore_events(body.events, body.newline, body.tail)
        if isinstance(body.lines, list):
            return _restore_lines(body.lines, body.style)
        if isinstance(body.frames, list):
            return _restore_frames(body.frames, body.style) + binascii.a2b_base64(body.tail)
        if isinstance(body.messages, list):
            return _restore_messages(body.messages, body.type)
        if isinstance(body.text, str):
            return body.text.encode()
        if isinstance(body.base64, str):
            return binascii.a2b_base64(body.base64, strict_mode=True)
    except (*_ERRORS, KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise CodecError(f"a stored body can't be restored ({error}); was the trace edited?") from None
    raise CodecError(
        "a stored body has none of json, events, lines, frames, messages, text and base64; was the trace edited?"
    )


def _lay_out(text: bytes, style: str) -> bytes:
    """Return JSON text in a style. Each style is written by the library whose parser it was checked with."""
    if style == COMPACT:
        return _to_json(_from_json(text))
    from autochron.envelope.styles import STYLES, parse  # lazy: `json`, which takes 1 ms, and few bodies need

    return STYLES[style](parse(text))


def _write(value: Any, style: str) -> bytes:
    if style == COMPACT:
        return _to_json(value)
    from autochron.envelope.styles import STYLES  # lazy: as above

    return STYLES[style](value)


def _candidates(content: bytes) -> Iterable[str]:
    """Guess the style from the first characters, so that rarely more than one is tried."""
    ascii_first = b"\\u" in content
    if content[1:4] == b"\n  " or content[1:2] == b"\n":
        names = ["indent-4", "indent-2"] if content[2:6] == b"    " else ["indent-2"]
    elif b'": ' in content[:200] or b", " in content[:50]:
        names = ["spaced"]
    else:
        names = ["compact-python"]
    for name in names:
        plain = name.removesuffix("-python")
        yield from (f"{plain}-ascii", name) if ascii_first else (name, f"{plain}-ascii")


def _store_json(content: bytes) -> bytes | None:
    trimmed = content.rstrip(b"\r\n")
    styled = _style_of(trimmed)
    if styled is None:
        return None
    style, text = styled
    tail = content[len(trimmed) :]
    ending = b"," + _to_json({"tail": tail.decode()})[1:] if tail else b"}"
    return b'{"json":' + text + b',"style":"' + style.encode() + b'"' + ending


def _style_of(content: bytes) -> tuple[str, bytes] | None:
    """Return (style, compact JSON text) if one style gives exactly these bytes."""
    try:
        if _to_json(_from_json(content)) == content:
            return COMPACT, content
        from autochron.envelope.styles import STYLES, parse  # lazy: as above

        value = parse(content)
        for style in _candidates(content):
            if STYLES[style](value) == content:
                text = STYLES["compact-python"](value)
                _from_json(text)
                return style, text
    except _ERRORS:
        return None
    return None


def _store_text(content: bytes) -> bytes:
    try:
        return _to_json({"text": content.decode()})
    except UnicodeDecodeError:
        return _to_json({"base64": binascii.b2a_base64(content, newline=False).decode()})


# --- JSON lines ----------------------------------------------------------------------------------------------------


def _store_lines(content: bytes) -> bytes | None:
    try:
        lines = content.decode().split("\n")
    except UnicodeDecodeError:
        return None
    styled = [_style_of(line.encode()) if line[:1] in ("{", "[") else None for line in lines]
    style = next((match[0] for match in styled if match is not None), COMPACT)
    written = _to_json(
        {
            "lines": [
                line if match is None or match[0] != style else Raw(match[1])
                for line, match in zip(lines, styled, strict=True)
            ],
            "style": style,
        }
    )
    return written if restore_body(written) == content else None


def _restore_lines(lines: list[Any], style: str) -> bytes:
    return b"\n".join(line.encode() if isinstance(line, str) else _write(line, style) for line in lines)


# --- frames --------------------------------------------------------------------------------------------------------


def _store_frames(content: bytes) -> bytes | None:
    from autochron.envelope.frames import read_frames  # lazy: few clients speak so

    try:
        frames, tail = read_frames(content)
    except ValueError:
        return None
    styled = [_style_of(payload) if payload[:1] == b"{" else None for _, payload in frames]
    style = next((match[0] for match in styled if match is not None), COMPACT)
    stored: dict[str, Any] = {
        "frames": [
            {"headers": headers, "payload": Raw(match[1])}
            if match is not None and match[0] == style
            else {"headers": headers, "body": Raw(store_body(payload))}
            for (headers, payload), match in zip(frames, styled, strict=True)
        ],
        "style": style,
    }
    if tail:
        stored["tail"] = binascii.b2a_base64(tail, newline=False).decode()
    written = _to_json(stored)
    return written if restore_body(written) == content else None


def _restore_frames(frames: list[Any], style: str) -> bytes:
    from autochron.envelope.frames import write_frames  # lazy: as above

    return write_frames(
        (
            frame["headers"],
            _write(frame["payload"], style) if "payload" in frame else restore_body(_to_json(frame["body"])),
        )
        for frame in frames
    )


# --- messages of gRPC ----------------------------------------------------------------------------------------------


def _store_messages(content: bytes, name: str) -> bytes | None:
    from autochron.envelope import grpc_frames, protobuf  # lazy: few clients speak so

    try:
        contents = grpc_frames.read_frames(content)
    except ValueError:
        return None
    trees = [protobuf.read(name, message) for message in contents]
    if None in trees:
        return None
    written = _to_json({"messages": trees, "type": name})
    return written if restore_body(written) == content else None


def _restore_messages(trees: list[Any], name: str) -> bytes:
    from autochron.envelope import grpc_frames, protobuf  # lazy: as above

    return grpc_frames.write_frames(protobuf.to_bytes(protobuf.rebuild(name, tree)) for tree in trees)


# --- server-sent events --------------------------------------------------------------------------------------------


def _store_events(content: bytes) -> bytes | None:
    """Write events one by one, so that a long stream is copied once; return None for text that is no UTF-8.

    Each event is stored so that `_restore_events` gives back exactly its text.
    """
    newline = b"\r\n" if b"\r\n" in content else b"\n"
    end = newline * 2
    # `getvalue` hands over its buffer without a copy. A list of parts would need the memory twice when it is joined.
    written = io.BytesIO()
    written.write(b'{"events":[')
    start = 0
    try:
        while (stop := content.find(end, start)) >= 0:
            if start:
                written.write(b",")
            written.write(_to_json(_event(content[start:stop].decode(), newline.decode())))
            start = stop + len(end)
        tail = content[start:].decode()
    except UnicodeDecodeError:
        return None
    rest: dict[str, str] = {}
    if newline != b"\n":
        rest["newline"] = newline.decode()
    if tail:
        rest["tail"] = tail
    written.write(b"]," + _to_json(rest)[1:] if rest else b"]}")
    return written.getvalue()


def _event(block: str, newline: str) -> Any:
    """Write one event as an object of its fields, or as its text where that would not be exact."""
    event: dict[str, Any] = {}
    for line in block.split(newline):
        name, colon, value = line.partition(": ")
        if not colon or not name or name in event or name == "style":
            return block
        event[name] = value
    data = event.get("data", "")
    if data[:1] in ("{", "["):
        styled = _style_of(data.encode())
        if styled is None:
            return event
        style, text = styled
        if style == COMPACT or _field(_from_json(text), style) == data:
            event["data"] = Raw(text)
            if style != COMPACT:
                event["style"] = style
    return event


def _restore_events(events: list[Any], newline: str, tail: str) -> bytes:
    parts = []
    for event in events:
        if isinstance(event, str):
            parts.append(event)
            continue
        style = event.get("style", COMPACT)
        lines = [f"{name}: {_field(value, style)}" for name, value in event.items() if name != "style"]
        parts.append(newline.join(lines))
    return ((newline * 2).join([*parts, tail])).encode()


def _field(value: Any, style: str) -> str:
    return value if isinstance(value, str) else _write(value, style).decode()


# --- reading -------------------------------------------------------------------------------------------------------


def read_content(content: bytes, content_type: str = "") -> Any:
    """Return the content of a body as `read_body` does, without storing it first.

    Args:
        content: the body, decoded as its `content-encoding` says.
        content_type: the header.
    """
    if content_type.partition(";")[0].strip().lower() == "application/json":
        try:
            read = _from_json(content)
        except _ERRORS:
            pass  # what is no JSON is read as its stored form is
        else:
            if isinstance(read, (dict, list)):  # a lone value with blanks around it is stored as a text
                return read
    return read_body(store_body(content, content_type))


def read_body(stored: bytes) -> Any:
    """Return the content of a stored body as data; None where it has none.

    The body is read as an SDK would read it, whatever form it is stored in: JSON in a `text`, too, and events without
    the usual blanks.

    Returns:
        A JSON value, `{"events": [{"event": …, "data": …}, …]}`, `{"lines": […]}`, `{"frames": [{"payload": …}, …]}` or
        `{"messages": […]}`.
    """
    try:
        body = _from_json(stored)
    except msgspec.DecodeError:
        return None
    if not isinstance(body, dict):
        return None
    if "json" in body:
        return body["json"]
    if "events" in body:
        return {
            "events": [
                read for event in [*body["events"], body.get("tail", "")] for read in _read_event(event)
            ]
        }
    if "lines" in body:
        return {"lines": [_parsed(line) if isinstance(line, str) else line for line in body["lines"]]}
    if "frames" in body:
        return {"frames": body["frames"]}
    if "messages" in body:
        return {"messages": body["messages"]}
    text = body.get("text", "")
    if text.startswith(("data:", "event:", "id:", ":")):
        return {"events": _read_event(text)}
    return _parsed(text.strip())


def _read_event(event: Any) -> list[Any]:
    """Return an event with its data parsed where it is JSON; several events where they were stored as one text."""
    if isinstance(event, dict):
        return [{**event, "data": _parsed(event["data"])} if isinstance(event.get("data"), str) else event]
    events = []
    for block in event.replace("\r\n", "\n").split("\n\n"):
        fields: dict[str, Any] = {}
        for line in block.split("\n"):
            name, _, value = line.partition(":")
            text = value.removeprefix(" ")
            fields[name] = f"{fields[name]}\n{text}" if name == "data" and name in fields else text
        fields.pop("", None)
        if fields:
            events.append({**fields, "data": _parsed(fields.get("data", ""))})
    return events


def _parsed(text: str) -> Any:
    """Parse an object or an array; return any other text as it is."""
    if text[:1] not in ("{", "["):
        return text
    try:
        return _from_json(text)
    except (msgspec.DecodeError, UnicodeError):
        return text
