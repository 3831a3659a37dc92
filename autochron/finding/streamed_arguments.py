"""Join the arguments of tool calls that a stream sends in parts.

OpenAI's chat completions send each call under an `index`, first with its id and then with parts of `function.arguments`.
Anthropic sends each block of an answer under an `index`, first the block with the call's id and then parts as `partial_json`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import structs

from autochron.recording.requested_tools import RequestedCall, walk


def with_arguments(calls: Sequence[RequestedCall], content: Any) -> tuple[RequestedCall, ...]:
    """Return the calls with the arguments that a stream sent in parts.

    Args:
        calls: the calls of one answer.
        content: the answer, see `bodies.read_body`. If it is no stream, the calls stay as they are.
    """
    if not any(call.id and not call.arguments for call in calls):
        return tuple(calls)
    events = content.get("events") if isinstance(content, dict) else None
    texts = _texts(events) if isinstance(events, list) else {}
    return tuple(
        structs.replace(call, arguments=texts[call.id]) if not call.arguments and texts.get(call.id) else call
        for call in calls
    )


def _texts(events: list[Any]) -> dict[str, str]:
    """Return the arguments of each call as JSON text, by the call's id."""
    ids: dict[int, str] = {}
    texts: dict[str, str] = {}
    for index, call_id, part in _parts(events):
        if call_id:
            ids[index] = call_id
        if part and index in ids:
            texts[ids[index]] = texts.get(ids[index], "") + part
    return texts


def _parts(events: list[Any]) -> Iterator[tuple[int, str, str]]:
    """Yield (index, id of the call or an empty text, part of its arguments) for all that belongs to calls."""
    for member in (member for event in events for member in walk(event)):
        if not isinstance(member, dict) or type(member.get("index")) is not int:
            continue
        function, block, delta = member.get("function"), member.get("content_block"), member.get("delta")
        if isinstance(function, dict):
            yield member["index"], _text(member.get("id")), _text(function.get("arguments"))
        elif isinstance(block, dict):
            yield member["index"], _text(block.get("id")), ""
        elif isinstance(delta, dict) and "partial_json" in delta:
            yield member["index"], "", _text(delta["partial_json"])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
