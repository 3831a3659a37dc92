"""Select and write the input of a crossing. Recording and replay share this module, so that their inputs are comparable."""

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
from autochron.envelope.growing import GrowingInputs
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
"""Size of an input in bytes from which on the next one of the same boundary is written by `GrowingInputs`."""

RECEIVERS = frozenset({"self", "cls", "mcs"})
"""Names of a first parameter that is the receiver of a method, which is no input."""

_MAX_LANES = 64
"""The most lanes of one boundary whose last inputs are kept in memory."""


class Inputs:
    """Selects the input of a definition's calls: its parameters without the receiver, or the paths that a rule captures.

    Attributes:
        caught: the index of `**kwargs` among the parameters; -1 where there is none.
        deferred: whether the HTTP exchanges inside the crossing replace the input, if there are any.
        globals: the globals and cells that the definition names; False until they are looked up, None where there are none.
        whole: whether all arguments are input.
        read: takes the bound arguments, and returns the names and values that are input. A captured path that is not there
            is left out.
        changing: the same for the paths of a rule's `changes`; None where all arguments may change.
        large: whether an input was so large that the next one is written by `growing`.
    """

    __slots__ = ("_growing", "caught", "changing", "deferred", "globals", "large", "read", "whole")

    def __init__(self, crossing: Crossing[Any]) -> None:
        point, rule = crossing.point, crossing.rule
        caught = point.variadic[1]
        self._growing: Latest[str, GrowingInputs] = Latest(_MAX_LANES)
        self.globals: Any = False
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
        elif rule.outcome is not None and point.replaced:  # the argument that is the outcome is no input
            kept = [index for index in range(int(has_receiver), len(names)) if index not in point.replaced]
            names = tuple(names[index] for index in kept)
            self.read = lambda arguments: (names, tuple([arguments[index] for index in kept]))
        elif has_receiver:
            names = names[1:]
            self.read = lambda arguments: (names, arguments[1:])
        else:
            self.whole = True
            self.read = lambda arguments: (names, arguments)

    def growing(self, lane: str) -> GrowingInputs:
        """Return the writer of a lane's inputs, which encodes only the parts that are new since the last one."""
        growing = self._growing.get(lane)
        if growing is None:
            growing = GrowingInputs()
            self._growing.put(lane, growing)
        return growing


def is_method(point: Point) -> bool:
    """Return whether the first parameter of a definition is a receiver such as `self`, which is no input."""
    return "." in point.qualname and bool(point.parameters) and point.parameters[0] in RECEIVERS


def call_input(point: Point, arguments: tuple[Any, ...], request: Incoming | None) -> bytes:
    """Return the canonical input of a call that has a trace of its own.

    Args:
        point: the called function.
        arguments: its bound arguments.
        request: the HTTP request that made the call, if one did. Its argument is written as method, path and query.
    """
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
    """Mask the input of a call that has a trace of its own.

    Args:
        redactor: masks the body, and the query of a request.
        body: what `call_input` returned.
        parameter: the name of the argument that is an HTTP request; None where there is none.

    Returns:
        The masked input, and the paths that were masked.
    """
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
    """Return the input of a call with the stored body of its HTTP request, which is known only when the call has ended."""
    fields = decode(body, type=dict[str, Raw])
    request = decode(fields[parameter], type=dict[str, Raw])
    return encode({**fields, parameter: {**request, "body": Raw(content)}}, order="sorted")


def inputs_of(crossing: Crossing[Any]) -> Inputs:
    """Return the `Inputs` of a crossing's boundary, which are made once for each rule at each definition."""
    boundary = crossing.boundary
    inputs: Inputs | None = boundary.inputs
    if inputs is None:
        inputs = boundary.inputs = Inputs(crossing)
    return inputs


def shaped_input(body: bytes, rule: BoundaryRule, *, from_wire: bool) -> bytes:
    """Return an input with the paths that its rule captures, and with those masked that it redacts.

    `from_wire` tells that the input comes from an HTTP request. Of arguments only the captured paths were read.
    """
    if rule.capture and from_wire:
        body = keep_paths(body, rule.capture)
    return redact_paths(body, rule.redact) if rule.redact else body


def comparable_pair(raw: bytes, masked: bytes, rule: BoundaryRule, *, from_wire: bool) -> tuple[bytes, bytes]:
    """Return the unmasked and the masked input, both without the paths that the rule calls volatile."""
    if rule.capture and from_wire:
        raw = keep_paths(raw, rule.capture)  # `shaped_input` did the same with the masked one
    return (
        (drop_paths(raw, rule.volatile), drop_paths(masked, rule.volatile))
        if rule.volatile
        else (raw, masked)
    )


OUTCOME = "outcome"
"""The first step of paths in `volatile` that are not compared in the outcome of a rule with `observe`. Alone it means all."""


def observed(rule: BoundaryRule, value: Any) -> bytes:
    """Return the stored form of the result of a rule with `observe`, which is only compared; `null` if it isn't."""
    return b"null" if OUTCOME in rule.volatile else codec.encode(value).body


def sent_form(value: Any, thrown: BaseException | None) -> bytes:
    """Return the canonical form of a value that a stream's consumer sent into it, or of the exception that it threw."""
    return canonical(("sent",), (value,)) if thrown is None else canonical(("thrown",), (thrown,))


_BODY = b'{"body":'


def request_input(wire: Wire) -> bytes:
    """Return the input of a model crossing as its provider gets it: method, path and body of the HTTP request."""
    head = _head(wire)
    content = wire.content
    if not content:
        return head
    return b"".join((_BODY, json_or_stored(content), b",", head[1:]))


def request_body(body: bytes, wire: Wire) -> bytes | None:
    """Return the part of a crossing's input that is the request's body; None where a rule has changed the input's shape."""
    rest = b"," + _head(wire)[1:]
    return body[len(_BODY) : -len(rest)] if body.startswith(_BODY) and body.endswith(rest) else None


def _head(wire: Wire) -> bytes:
    return encode({"method": wire.method, "path": exchange.path_of(wire.url)})


_COMPACT = re.compile(rb'[\[{](?:[\[{]|"[^"\\]{0,64}":[^\s])').match
"""Matches JSON whose beginning has no spaces between its tokens."""


def json_or_stored(content: bytes) -> bytes:
    """Return a request's body as compact JSON if it is JSON, else as a stored body."""
    if content[:1] in {b"{", b"["}:
        try:
            if _COMPACT(content) and b"\n" not in content:
                decode(content, type=Raw)  # checks that it is JSON, in a third of the time of decoding
                return content
            return encode(decode(content))
        except ValueError:
            pass
    return bodies.store_body(content, "")
