"""Read the facts of a model call from its record: model, sampling, usage, and the tools that the model asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Raw, Struct, structs
from msgspec.json import decode

from autochron.envelope import bodies
from autochron.http import exchange
from autochron.model import (
    Exchange,
    MetaPaths,
    Outcome,
    Returned,
)
from autochron.recording.requested_tools import RequestedCall
from autochron.recording.versions import version_of
from autochron.redaction.json_paths import read_steps
from autochron.rules.paths import PathStep, parse_path

_ARGUMENTS = ("arguments", "input", "args")
"""Fields that hold the arguments of a tool call, beside the field of its name."""

_IDS = ("call_id", "tool_call_id", "tool_use_id", "toolUseId", "id")
"""Fields that hold the id of a tool call, in the call or in its result, in the order in which they are tried."""

_SCHEMAS = (
    "parameters",
    "input_schema",
    "inputSchema",
    "parametersJsonSchema",
    "parameters_json_schema",
    "json",
)
"""Fields that hold the JSON schema of a tool's parameters, or an object that does."""

_LATEST = 128
"""How many of the last messages of a conversation are searched for results. Earlier requests had the others."""


_MOST_KNOWN = 1_024
"""Messages whose results are kept."""

_LONGEST_KNOWN = 16_384
"""Bytes of a message whose results are kept. A longer one may be a picture."""

_ANY = frozenset({"required", "any", "REQUIRED", "ANY", "TOOL_MODE_REQUIRED"})
"""Words by which a request makes the model call some tool."""


class DeclaredTool(Struct, frozen=True):
    """A tool that a request declares.

    Attributes:
        name: the tool.
        parameters: the names of its parameters; None if the request has no schema of them.
        required: the names of those that a call must have.
    """

    name: str
    parameters: frozenset[str] | None
    required: frozenset[str]


class CallResult(Struct, frozen=True):
    """The result of a tool call in a request.

    Attributes:
        id: the id of the call; empty if the provider gives none.
        name: the tool; empty if the request names the call by its id only.
        body: the object with the result, decoded.
    """

    id: str
    name: str
    body: dict[str, Any]


class KnownResults:
    """The results in messages that a session has sent: a conversation sends all of its messages again each time."""

    def __init__(self) -> None:
        self._results: dict[tuple[str, bytes], list[CallResult]] = {}

    def __len__(self) -> int:
        """Return how many messages are kept."""
        return len(self._results)

    def results_in(self, messages: Sequence[Raw], path: str, steps: tuple[PathStep, ...]) -> list[CallResult]:
        """Return the results in some messages, with the ids and names that they have themselves.

        Args:
            messages: the messages.
            path: where a request has its results; it goes through each message.
            steps: the path from the list of messages on.
        """
        if len(self._results) > _MOST_KNOWN:
            self._results.clear()
        results: list[CallResult] = []
        for raw in messages:
            message = bytes(raw)
            found = self._results.get((path, message))
            if found is None:
                found = _results_at([decode(raw)], steps)
                if len(message) <= _LONGEST_KNOWN:
                    self._results[path, message] = found
            results += found
        return results


class CallFacts:
    """Reads the facts of one crossing at the `meta` paths of its rule."""

    def __init__(
        self,
        paths: MetaPaths,
        body: bytes,
        outcome: Outcome,
        last: Exchange | None,
        request: bytes | None = None,
    ) -> None:
        """Make one.

        Args:
            paths: the paths of the rule.
            body: the input, masked.
            outcome: the outcome, masked.
            last: the last exchange beneath the crossing; None if there is none.
            request: the body of its first request; None reads it from the input.
        """
        self._paths = paths
        self._body = request
        self._sources: dict[str, Any] = {}
        self._request: dict[str, Raw] | None = None
        self._raw: dict[str, bytes] = {"input": body}
        if last is not None:
            self._raw["response"] = last.body
            self._sources["path"] = _numbered(last.url)
        if isinstance(outcome, Returned):
            self._raw["outcome"] = outcome.value

    @classmethod
    def of_answer(cls, paths: MetaPaths, url: str, content: Any) -> CallFacts:
        """Make one for the tools that an answer asks for.

        Args:
            paths: the paths of the rule.
            url: of the request.
            content: the body of the answer, see `bodies.read_body`.
        """
        facts = cls(paths, b"{}", Returned(), None)
        facts._sources = {"path": _numbered(url), "response": content}
        return facts

    def read(self) -> dict[str, Any]:
        """Return the model, the sampling, the usage, the tools and the SDK's version, as far as the paths find them."""
        paths = self._paths
        facts: dict[str, Any] = {}
        if model := self._first(paths.model):
            facts["model"] = model
        sampling = {
            path.rpartition(".")[2]: value for path in paths.sampling for value in self._all(path)[:1]
        }
        if sampling:
            facts["sampling"] = sampling
        if usage := self._merged(paths.usage):
            facts["usage"] = usage
        tools = [name for path in paths.tools for name in self._all(path) if isinstance(name, str) and name]
        if tools:
            facts["tools"] = tools
        if paths.sdk is not None and (version := version_of(paths.sdk)):
            facts["sdk"] = f"{paths.sdk} {version}"
        return facts

    def calls(self) -> tuple[RequestedCall, ...]:
        """Return the tool calls that the model asked for, with their arguments if those are fields beside the names."""
        requested: list[RequestedCall] = []
        for path in self._paths.tools:
            names = [name for name in self._all(path) if isinstance(name, str) and name]
            parent, _, key = path.rpartition(".")
            holders = self._all(parent) if names and "." in parent else []
            outer = parent.rpartition(".")[0]
            owners = self._all(outer) if holders and "." in outer else []
            if len(owners) != len(holders):
                owners = holders
            calls = [
                RequestedCall(
                    name,
                    next((holder[field] for field in _ARGUMENTS if field in holder), None),
                    _id_of(holder) or _id_of(owner),
                )
                for holder, owner in zip(holders, owners, strict=True)
                if isinstance(holder, dict) and isinstance(name := holder.get(key), str) and name
            ]
            requested += calls if len(calls) == len(names) else map(RequestedCall, names)
        return tuple(requested)

    def raw_declarations(self) -> list[bytes]:
        """Return the JSON of the request's fields that declare tools. It is the same for most requests of a conversation."""
        if self._request is None:
            self._request = _fields(self._body_of_request())
        fields = dict.fromkeys(parse_path(path)[1].key for path in self._paths.declared or ())
        return [bytes(self._request[field]) for field in fields if field in self._request]

    def declared(self) -> tuple[DeclaredTool, ...]:
        """Return the tools that the request declares, each name once."""
        tools: dict[str, DeclaredTool] = {}
        for path in self._paths.declared or ():
            for holder in self._all(path):
                if isinstance(holder, dict) and isinstance(name := holder.get("name"), str) and name:
                    tools.setdefault(name, DeclaredTool(name, *_parameters(holder)))
        return tuple(tools.values())

    def forced(self, declared: frozenset[str]) -> frozenset[str]:
        """Return the tools of which the model has to call one, if the request leaves it no other choice than this one.

        Args:
            declared: the names of all tools that the request declares.
        """
        values = {
            value for path in self._paths.forced or () for value in self._all(path) if type(value) is str
        }
        return declared if len(declared) == 1 and values & _ANY else declared & values

    def results(self, known: KnownResults | None = None) -> tuple[CallResult, ...]:
        """Return the results of tool calls that the request carries, among the last messages of the conversation.

        Args:
            known: the results in messages of earlier requests, which are not read again.
        """
        if self._request is None:
            self._request = _fields(self._body_of_request())
        latest: dict[str, list[Raw]] = {}
        results: list[CallResult] = []
        for path in self._paths.results or ():
            steps = parse_path(path)[1:]
            field = steps[0].key
            raw = self._request.get(field)
            if raw is None or len(steps) < 2 or bytes(memoryview(raw)[:1]) != b"[":
                continue
            if field not in latest:
                latest[field] = decode(raw, type=list[Raw])[-_LATEST:]
            if known is not None and steps[1].key == "*":
                found = known.results_in(latest[field], path, steps[1:])
                if all(result.id or result.name for result in found):
                    results += found
                    continue
            messages = [decode(message) for message in latest[field]]
            results += _named_by_order(messages, _results_at(messages, steps[1:]))
        return tuple(results)

    def _first(self, paths: tuple[str, ...]) -> Any:
        return next((value for path in paths for value in self._all(path)), None)

    def _merged(self, paths: tuple[str, ...]) -> Any:
        """Merge the last value at each path into one; earlier paths win. A stream may report its usage in parts."""
        values_by_path = {
            path: values[-1]
            for path in paths
            if (values := [part for part in self._all(path) if part is not None])
        }
        parts = list(values_by_path.values())
        if not all(isinstance(part, dict) for part in parts):
            # Plain counts, each at a path of its own, get the last part of that path as a name.
            return (
                {path.rpartition(".")[2]: part for path, part in values_by_path.items()}
                if len(values_by_path) > 1
                else parts[0]
            )
        merged: dict[str, Any] = {}
        for part in reversed(parts):
            merged |= {key: value for key, value in part.items() if value is not None or key not in merged}
        return merged

    def _all(self, path: str) -> list[Any]:
        steps = parse_path(path)
        source, field = steps[:2]
        if source.key == "request" and field.key != "*" and not source.filters:
            return self._in_request(steps[1:])
        if source.key not in self._sources:
            self._sources[source.key] = self._read(source.key)
        tree = self._sources[source.key]
        if tree is None or (
            type(tree) is dict and field.key not in tree and field.key != "*" and not source.filters
        ):
            return []  # a shortcut: most paths of a pack are for another API, or for streams
        return read_steps(self._sources, steps)

    def _read(self, source: str) -> Any:
        raw = self._body_of_request() if source == "request" else self._raw.get(source)
        if raw is None:
            return None
        return bodies.read_body(bytes(raw)) if source == "response" else decode(raw)

    def _in_request(self, steps: Sequence[PathStep]) -> list[Any]:
        """Read one field of the request without decoding the messages, which grow with the conversation."""
        if self._request is None:
            self._request = _fields(self._body_of_request())
        first = steps[0].key
        raw = self._request.get(first)
        return [] if raw is None else read_steps({first: decode(raw)}, steps)

    def _body_of_request(self) -> bytes | Raw | None:
        return _fields(self._raw["input"]).get("body") if self._body is None else self._body


def _numbered(url: str) -> dict[str, str]:
    """Return the parts of a URL's path by their number, as the steps of a path name them."""
    return {str(place): part for place, part in enumerate(_parts_of(url))}


def _parts_of(url: str) -> list[str]:
    """Return the parts of a URL's path."""
    path = exchange.path_of(url).partition("?")[0].strip("/")
    if "%" not in path:
        return path.split("/")
    from urllib.parse import unquote  # lazy: most paths have nothing quoted

    return [unquote(part) for part in path.split("/")]


def _fields(body: bytes | Raw | None) -> dict[str, Raw]:
    """Return the fields of a JSON object as raw JSON; an empty dictionary if the body is no object."""
    if body is None:
        return {}
    try:
        return decode(body, type=dict[str, Raw])
    except ValueError:
        return {}


def _id_of(holder: Any) -> str:
    """Return the id of a call or of a result; empty if it has none."""
    if not isinstance(holder, dict):
        return ""
    return next((value for field in _IDS if isinstance(value := holder.get(field), str) and value), "")


def _results_at(messages: list[Any], steps: Sequence[PathStep]) -> list[CallResult]:
    """Return the results in decoded messages, with the ids and names that they have themselves."""
    return [
        CallResult(_id_of(holder), str(holder.get("name") or holder.get("tool_name") or ""), holder)
        for holder in read_steps({"messages": messages}, (*parse_path("messages"), *steps))
        if isinstance(holder, dict)
    ]


def _named_by_order(messages: list[Any], results: list[CallResult]) -> list[CallResult]:
    """Return results with the ids of their calls.

    A message that names no call is the result of the calls that the latest message with `tool_calls` asked for, in their
    order.

    Args:
        messages: the last messages of the conversation.
        results: the results in them.
    """
    if all(result.id or result.name for result in results):
        return results
    waiting: list[Any] = []
    ids: dict[int, str] = {}
    for message in messages:
        calls = message.get("tool_calls") if isinstance(message, dict) else None
        if isinstance(calls, list) and calls:
            waiting = list(calls)
        elif waiting and any(result.body is message for result in results):
            ids[id(message)] = _id_of(waiting.pop(0))
    return [
        result if result.id or result.name else structs.replace(result, id=ids.get(id(result.body), ""))
        for result in results
    ]


def _parameters(holder: dict[str, Any]) -> tuple[frozenset[str] | None, frozenset[str]]:
    """Return the names of a declared tool's parameters, or None, and of those that are required."""
    waiting = [schema for field in _SCHEMAS if (schema := _object(holder.get(field))) is not None]
    while waiting:
        schema = waiting.pop(0)
        properties = schema.get("properties")
        if isinstance(properties, dict):
            required = schema.get("required")
            names = required if isinstance(required, list) else ()
            return frozenset(properties), frozenset(name for name in names if isinstance(name, str))
        waiting += [inner for field in _SCHEMAS if (inner := _object(schema.get(field))) is not None]
    return None, frozenset()


def _object(value: Any) -> dict[str, Any] | None:
    """Return an object, which may be JSON in a text, as some APIs write a schema; None for any other value."""
    if isinstance(value, str) and value[:1] == "{":
        try:
            value = decode(value)
        except ValueError:
            return None
    return value if isinstance(value, dict) else None
