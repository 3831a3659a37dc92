"""Facts of a model call, read off what was recorded: its model, sampling, usage, and the tools that the model asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Raw
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
"""What a call's arguments are held by, beside its name."""


class CallFacts:
    """Reads the facts of one crossing by the `meta` paths of its rule."""

    def __init__(
        self,
        paths: MetaPaths,
        body: bytes,
        outcome: Outcome,
        last: Exchange | None,
        request: bytes | None = None,
    ) -> None:
        self._paths = paths
        self._body = request
        self._sources: dict[str, Any] = {}
        self._request: dict[str, Raw] | None = None
        self._raw: dict[str, bytes] = {"input": body}
        if last is not None:
            self._raw["response"] = last.body
            self._sources["path"] = {str(place): part for place, part in enumerate(_parts_of(last.url))}
        if isinstance(outcome, Returned):
            self._raw["outcome"] = outcome.value

    def read(self) -> dict[str, Any]:
        """Return the model, the sampling, the usage, the tools and the SDK's version, as far as the paths lead to them."""
        paths = self._paths
        found: dict[str, Any] = {}
        if model := self._first(paths.model):
            found["model"] = model
        sampling = {
            path.rpartition(".")[2]: value for path in paths.sampling for value in self._all(path)[:1]
        }
        if sampling:
            found["sampling"] = sampling
        if usage := self._merged(paths.usage):
            found["usage"] = usage
        tools = [name for path in paths.tools for name in self._all(path) if isinstance(name, str) and name]
        if tools:
            found["tools"] = tools
        if paths.sdk is not None and (version := version_of(paths.sdk)):
            found["sdk"] = f"{paths.sdk} {version}"
        return found

    def calls(self) -> tuple[RequestedCall, ...]:
        """Return the calls that the model asked for, with their arguments where these stand beside the names."""
        found: list[RequestedCall] = []
        for path in self._paths.tools:
            names = [name for name in self._all(path) if isinstance(name, str) and name]
            above, _, key = path.rpartition(".")
            holders = self._all(above) if names and "." in above else []
            calls = [
                RequestedCall(name, next((holder[each] for each in _ARGUMENTS if each in holder), None))
                for holder in holders
                if isinstance(holder, dict) and isinstance(name := holder.get(key), str) and name
            ]
            found += calls if len(calls) == len(names) else map(RequestedCall, names)
        return tuple(found)

    def _first(self, paths: tuple[str, ...]) -> Any:
        return next((value for path in paths for value in self._all(path)), None)

    def _merged(self, paths: tuple[str, ...]) -> Any:
        """Return what stands last at each path, in one: a stream may tell its usage in parts, at the paths named later."""
        at = {
            path: values[-1]
            for path in paths
            if (values := [each for each in self._all(path) if each is not None])
        }
        found = list(at.values())
        if not all(isinstance(each, dict) for each in found):
            # Counts that stand by themselves, each under a name of its own.
            return {path.rpartition(".")[2]: each for path, each in at.items()} if len(at) > 1 else found[0]
        merged: dict[str, Any] = {}
        for each in reversed(found):
            merged |= {key: value for key, value in each.items() if value is not None or key not in merged}
        return merged

    def _all(self, path: str) -> list[Any]:
        steps = parse_path(path)
        source, field = steps[:2]
        if source.key == "request" and field.key != "*" and not source.filters:
            return self._in_request(steps[1:])
        if source.key not in self._sources:
            self._sources[source.key] = self._read(source.key)
        held = self._sources[source.key]
        if held is None or (
            type(held) is dict and field.key not in held and field.key != "*" and not source.filters
        ):
            return []  # most paths of a pack are for another API, or for streams
        return read_steps(self._sources, steps)

    def _read(self, source: str) -> Any:
        raw = self._body_of_request() if source == "request" else self._raw.get(source)
        if raw is None:
            return None
        return bodies.read_body(bytes(raw)) if source == "response" else decode(raw)

    def _in_request(self, steps: Sequence[PathStep]) -> list[Any]:
        """Read a request's field without making objects of its messages, which grow with the conversation."""
        if self._request is None:
            self._request = _fields(self._body_of_request())
        first = steps[0].key
        raw = self._request.get(first)
        return [] if raw is None else read_steps({first: decode(raw)}, steps)

    def _body_of_request(self) -> bytes | Raw | None:
        return _fields(self._raw["input"]).get("body") if self._body is None else self._body


def _parts_of(url: str) -> list[str]:
    """Return the parts of a URL's path."""
    path = exchange.path_of(url).partition("?")[0].strip("/")
    if "%" not in path:
        return path.split("/")
    from urllib.parse import unquote  # lazy: most paths have nothing quoted

    return [unquote(part) for part in path.split("/")]


def _fields(body: bytes | Raw | None) -> dict[str, Raw]:
    """Return the fields of a JSON object, each as it is written; none of what is no object."""
    if body is None:
        return {}
    try:
        return decode(body, type=dict[str, Raw])
    except ValueError:
        return {}
