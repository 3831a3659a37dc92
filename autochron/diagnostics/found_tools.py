"""The tools of a trace: which were found in its run, which no boundary covers, and how the model was told of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import DecodeError
from msgspec.json import decode

from autochron.envelope.bodies import restore_body

if TYPE_CHECKING:
    from autochron.model import Envelope, Footer, FoundTool
    from autochron.ports import Record

_COUNT = re.compile(r" \(\d+ of \d+ calls\)$")
_ENOUGH = 100
_PLACE = re.compile(r"(?:^| and )(\S+) \(([^()]+):(\d+)\)")
"""One of the places in the reason of an `ambiguous-tool`, `other-result` or `not-called`."""

_DEPTH = 3
"""How deep a declaration's parameters lie: Bedrock has them in `inputSchema.json.properties`."""


def found_tools(trace: Record) -> tuple[FoundTool, ...]:
    """Return the tools that were found in the run of a trace, with no rule for them."""
    return () if trace.footer is None else trace.footer.found_tools


def unwoven_tools(footer: Footer | None) -> tuple[str, ...]:
    """Return the names of the tools of a trace with a call that no crossing answers, so that a replay refuses it."""
    labels = () if footer is None else footer.unwoven_tools
    return tuple(dict.fromkeys(_COUNT.sub("", label) for label in labels))


def candidates(footer: Footer | None, tool: str, slug: str = "ambiguous-tool") -> list[tuple[str, int, str]]:
    """Return the file, the line and the name of each function that a run could not tell from a tool.

    Args:
        footer: the footer of the run.
        tool: the tool.
        slug: `other-result` for the functions that ran for the tool, and whose return value the model did not get;
            `not-called` for those of its name that did not run.
    """
    return [
        (file, int(line), qualname)
        for entry in (() if footer is None else footer.ledger)
        if entry.what == tool and entry.slug == slug
        for qualname, file, line in _PLACE.findall(entry.reason)
    ]


def declared_tools(trace: Record) -> dict[str, frozenset[str]]:
    """Return all tools that models were told of, each with the names of its parameters.

    A conversation declares its tools in each request. So after `_ENOUGH` model calls that declare no new one the rest is not
    read.
    """
    tools: dict[str, frozenset[str]] = {}
    calls_without_news = 0
    for envelope in trace:
        if envelope.kind != "model":
            continue
        known = len(tools)
        for tree in _requests(envelope):
            for name, declared in _declarations(tree):
                tools.setdefault(name, declared)
        calls_without_news = 0 if len(tools) > known else calls_without_news + 1
        if calls_without_news > _ENOUGH:
            break
    return tools


def _requests(envelope: Envelope) -> Iterator[Any]:
    """Yield what a model call sent, as JSON data: its input, and the bodies of its requests, which the input may have."""
    yield envelope.arguments
    for exchange in envelope.exchanges:
        try:
            yield decode(restore_body(exchange.request))
        except DecodeError:  # none, or no JSON
            continue


def _declarations(tree: Any) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each tool that JSON data declares: a `name` beside a schema with `properties`, whoever the provider is."""
    waiting = [tree]
    while waiting:
        member = waiting.pop()
        if isinstance(member, dict):
            properties = _properties(member, _DEPTH) if isinstance(member.get("name"), str) else None
            if properties is not None:
                yield member["name"], properties
            waiting += member.values()
        elif isinstance(member, list):
            waiting += member


def _properties(declaration: dict[str, Any], depth: int) -> frozenset[str] | None:
    """Return the names of the parameters in a declaration; None if it has no schema."""
    properties = declaration.get("properties")
    if isinstance(properties, dict):
        return frozenset(properties)
    parts = [value for value in declaration.values() if isinstance(value, dict)] if depth else []
    return next(
        (found for part in parts if (found := _properties(part, depth - 1)) is not None),
        None,
    )
