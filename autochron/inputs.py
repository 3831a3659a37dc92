"""What of a crossing is its input, for whoever records it and for whoever compares it with a record."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Raw
from msgspec.json import decode, encode

from autochron._runtime.growing_bodies import Latest
from autochron.crossing.arguments import capture
from autochron.envelope import bodies, codec
from autochron.envelope.canonical import canonical
from autochron.envelope.growing import Growing
from autochron.http import exchange
from autochron.http.exchange import Wire
from autochron.model import BoundaryRule
from autochron.redaction.json_paths import drop_paths, keep_paths, redact_paths

if TYPE_CHECKING:
    from autochron.crossing.crossing import Crossing
    from autochron.http.asgi import Incoming
    from autochron.redaction.redactor import Redactor
    from autochron.weaving.gate import Point

Reader = Callable[[tuple[Any, ...]], tuple[tuple[str, ...], tuple[Any, ...]]]

LARGE = 2048
"""Bytes of an input from which on the next one is written by `Growing`."""

_MAX_LANES = 64
"""Lanes of one boundary whose last inputs are kept in memory."""


class Inputs:
    """What of a definition's arguments is the input: its parameters without the receiver, or the captured paths.

    Attributes:
        caught: the index of `**kwargs`; -1 where there is none.
        deferred: whether the input is left to the HTTP exchanges beneath, if there are any.
        whole: whether all arguments are input.
        read: from the bound arguments to (names, values); a captured path that isn't there is in neither.
        changing: does the same for what a rule's `changes` lead to; None where all arguments may change.
        large: whether one was so large that the next is written by `growing`.
    """

    __slots__ = ("_growing", "caught", "changing", "deferred", "globals", "large", "read", "whole")

    def __init__(self, crossing: Crossing[Any]) -> None:
        point, rule = crossing.point, crossing.rule
        caught = point.variadic[1]
        self._growing: Latest[str, Growing] = Latest(_MAX_LANES)
        self.globals: Any = False
        """The globals and cells that the definition names; False until they are looked for, None where there are none."""
        self.large = False
        self.caught = -1 if caught is None else point.parameters.index(caught)
        self.deferred = (
            point.transport is not None
            or rule.codec == "http"
            or (rule.codec == "auto" and rule.pack is not None and rule.kind == "model")
        )
        self.read: Reader
        self.changing: Reader | None = None if rule.changes is None else capture(rule.changes, point)
        self.whole = False
        names = point.parameters
        has_receiver = is_method(point)
        if rule.capture:
            self.read = capture(rule.capture, point)
        elif rule.outcome is not None and point.replaced:  # what is the outcome is no input
            kept = [index for index in range(int(has_receiver), len(names)) if index not in point.replaced]
            names = tuple(names[index] for index in kept)
            self.read = lambda arguments: (names, tuple([arguments[index] for index in kept]))
        elif has_receiver:
            names = names[1:]
            self.read = lambda arguments: (names, arguments[1:])
        else:
            self.whole = True
            self.read = lambda arguments: (names, arguments)

    def growing(self, lane: str) -> Growing:
        """Return what writes the inputs of a lane, at the cost of what is new in them."""
        growing = self._growing.get(lane)
        if growing is None:
            growing = Growing()
            self._growing.put(lane, growing)
        return growing


def is_method(point: Point) -> bool:
    """Return whether the first parameter of a definition is its receiver, which is no input."""
    return point.parameters[:1] in {("self",), ("cls",), ("mcs",)} and "." in point.qualname


def call_input(point: Point, arguments: tuple[Any, ...], request: Incoming | None) -> bytes:
    """Write the input of a call that has a trace of its own; of an HTTP request its method, path and query."""
    pairs = [*zip(point.parameters, arguments, strict=False)][is_method(point) :]
    if request is not None:
        pairs = [
            (name, request.head() if name == request.parameter else value)
            for name, value in pairs
            if name not in request.beside
        ]
    return canonical([name for name, _ in pairs], [value for _, value in pairs])


def masked_call_input(
    redactor: Redactor, body: bytes, parameter: str | None
) -> tuple[bytes, tuple[str, ...]]:
    """Mask the input of a call, and list the paths that were masked; `parameter` holds its HTTP request, if it has one."""
    masked, paths = redactor.mask_outcome(body)
    if parameter is None:
        return masked, paths
    fields = decode(masked, type=dict[str, Raw])
    request = decode(fields[parameter], type=dict[str, Any])
    query = redactor.mask_url(f"?{request['query']}")[1:]
    if query == request["query"]:
        return masked, paths
    fields[parameter] = Raw(encode({**request, "query": query}, order="sorted"))
    return encode(fields, order="sorted"), (*paths, f"{parameter}.query")


def with_request_body(body: bytes, parameter: str, content: bytes) -> bytes:
    """Add the stored body of an HTTP request to the input of a call; it is known when the call has ended."""
    fields = decode(body, type=dict[str, Raw])
    request = decode(fields[parameter], type=dict[str, Raw])
    return encode({**fields, parameter: {**request, "body": Raw(content)}}, order="sorted")


def inputs_of(crossing: Crossing[Any]) -> Inputs:
    """Return how a crossing's input is read: decided once for a rule at a definition."""
    boundary = crossing.boundary
    inputs: Inputs | None = boundary.inputs
    if inputs is None:
        inputs = boundary.inputs = Inputs(crossing)
    return inputs


def shaped_input(body: bytes, rule: BoundaryRule, *, from_wire: bool) -> bytes:
    """Keep and mask of an input what its rule says; what is read from arguments was kept as they were read."""
    if rule.capture and from_wire:
        body = keep_paths(body, rule.capture)
    return redact_paths(body, rule.redact) if rule.redact else body


def comparable_pair(raw: bytes, masked: bytes, rule: BoundaryRule, *, from_wire: bool) -> tuple[bytes, bytes]:
    """Return an input as it is and as it is masked, both with only what a replay compares."""
    if rule.capture and from_wire:
        raw = keep_paths(raw, rule.capture)  # the other was kept when it was shaped
    return (
        (drop_paths(raw, rule.volatile), drop_paths(masked, rule.volatile))
        if rule.volatile
        else (raw, masked)
    )


OUTCOME = "outcome"
"""In `volatile` of a rule with `observe`: what of the outcome is not compared, and all of it where it stands alone."""


def observed(rule: BoundaryRule, value: Any) -> bytes:
    """Write what a call gave that is only compared; what is not compared is not written."""
    return b"null" if OUTCOME in rule.volatile else codec.encode(value).body


def sent_form(value: Any, thrown: BaseException | None) -> bytes:
    """Write what the consumer of a stream sent or threw into it."""
    return canonical(("sent",), (value,)) if thrown is None else canonical(("thrown",), (thrown,))


_BODY = b'{"body":'


def request_input(wire: Wire) -> bytes:
    """Return the input of a model crossing as the provider gets it: method, path and body."""
    head = _head(wire)
    content = wire.content
    if not content:
        return head
    return b"".join((_BODY, json_or_stored(content), b",", head[1:]))


def request_body(body: bytes, wire: Wire) -> bytes | None:
    """Return the request's body as it stands in the input of a crossing; None where that was shaped otherwise."""
    rest = b"," + _head(wire)[1:]
    return body[len(_BODY) : -len(rest)] if body.startswith(_BODY) and body.endswith(rest) else None


def _head(wire: Wire) -> bytes:
    return encode({"method": wire.method, "path": exchange.path_of(wire.url)})


_COMPACT = re.compile(rb'[\[{](?:[\[{]|"[^"\\]{0,64}":[^\s])').match
"""Whether JSON is written without spaces, as its beginning tells."""


def json_or_stored(content: bytes) -> bytes:
    """Return a request's body as compact JSON if it is JSON, else as a stored body."""
    if content[:1] in {b"{", b"["}:
        try:
            if _COMPACT(content) and b"\n" not in content:
                decode(content, type=Raw)  # whether it is JSON at all, in a third of the time
                return content
            return encode(decode(content))
        except ValueError:
            pass
    return bodies.store_body(content, "")
