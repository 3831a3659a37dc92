"""The public names of agent-chronicle 0.5: which are marks, which are data, and what to use in place of the others.

Chronicle itself is neither imported nor needed.
"""

from __future__ import annotations

from typing import Final

from autochron.model import Kind

PACKAGE: Final = "chronicle"

MODULES: Final = frozenset({
    "api", "assertions", "backends", "boundary", "cli", "config", "envelope", "execution_graph", "genai", "ids", "injector",
    "instrumentation", "judge", "openinference", "otel", "plan", "redaction", "replay", "rubric", "runner", "schema",
    "session", "store", "visualizer", "wrap",
})  # fmt: skip
"""The modules of the package, by their last names."""

STARRED: Final = frozenset({
    "BoundaryMode", "BufferedStore", "ChronicleSession", "Envelope", "EnvelopeStore", "ExecutionGraph", "Input", "JsonlStore",
    "LLMOutput", "LLMRequest", "Message", "Output", "RemoteStore", "ReplayPlan", "SamplingParams", "SessionMode",
    "SqliteStore", "Status", "Store", "ToolCall", "Usage", "apply_redactors", "boundary", "default_redactors",
    "envelope_span_attributes", "get_session", "instrument", "instrument_langgraph", "instrument_otel", "is_enabled",
    "open_store", "record", "redact_secrets", "replay_trace", "reset_session", "wrap", "wrap_llm",
})  # fmt: skip
"""The names that `from chronicle import *` binds."""

MARKS: Final = frozenset({"boundary", "wrap_llm", "wrap", "instrument", "instrument_langgraph"})
"""The functions that mark code and are taken out."""

FIELDS: Final = {"ToolCall": ("id", "name", "arguments"), "Message": ("role", "content")}
"""The data classes that become plain dictionaries, with their fields in the order of `model_dump()`."""

KINDS: Final[dict[str, Kind]] = {"llm": "model", "tool": "tool", "router": "router", "custom": "tool"}
"""Kinds of boundaries here, by those of Chronicle. `custom` has no counterpart: a replay serves it, as it does a tool."""

_RUN = "`autochron run` records the whole program"
_REPLAY = "use `autochron replay TRACE --live NAME`, or `autochron.replay` in a test"
_STORE = "traces are kept in .autochron/traces.db; see `autochron traces`"
_SECRETS = "secrets are masked by default; `[redact]` in the rules has the project's own"
_RECORDS = "see `autochron traces show TRACE`, with --json for programs"

_INSTEAD: Final = {
    **dict.fromkeys(("record", "reset_session", "get_session", "peek_session", "is_enabled"), _RUN),
    **dict.fromkeys(("ChronicleSession", "SessionMode", "CallRecord", "begin_trace"), _RUN),
    **dict.fromkeys(("replay_trace", "ReplayPlan", "BoundaryMode", "ReplayInjector"), _REPLAY),
    **dict.fromkeys(
        ("EnvelopeStore", "JsonlStore", "SqliteStore", "RemoteStore", "BufferedStore", "Store", "open_store"),
        _STORE,
    ),
    **dict.fromkeys(("apply_redactors", "default_redactors", "redact_secrets"), _SECRETS),
    **dict.fromkeys(
        (
            "Envelope",
            "ExecutionGraph",
            "Input",
            "Output",
            "LLMOutput",
            "Status",
            "write_trace_html",
            "open_trace_ui",
        ),
        _RECORDS,
    ),
    **dict.fromkeys(("JudgeRunner", "MockJudgeClient", "OpenAIJudgeClient"), "use `autochron.judge`"),
}


def api_name(dotted: str) -> str:
    """Return the name that a dotted name of the package leads to, such as `Input` for `chronicle.envelope.schema.Input`.

    A function and a module may have one name: `chronicle.boundary` is the function, as in the package itself.
    """
    parts = dotted.split(".")[1:]
    while len(parts) > 1 and parts[0] in MODULES:
        del parts[0]
    return parts[0] if parts else ""


def reason_to_keep(name: str, dotted: str) -> str:
    """Return why a use of a name can't be taken out, and what to use instead."""
    if not name:
        return f"`{dotted}` is used as a value, so what the code does with it is not known from the source"
    if name in FIELDS:
        shown = f"{name}({', '.join(f'{each}=...' for each in FIELDS[name])})"
        return f"`{name}` is a class of Chronicle's; only `{shown}` whose one use is `.model_dump()` can become a dictionary"
    instead = _INSTEAD.get(name, "take it out by hand")
    return f"{dotted} is Chronicle's own API, and no mark; {instead}"
