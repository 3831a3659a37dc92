"""Find the calls that log with the time, the process or the thread, in a module that gets the text of its log back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from autochron.detect.scan.abstract_values import Known, Unknown, Value
from autochron.detect.scan.flow import ModuleFlow, Spot, last_name
from autochron.detect.scan.infer import Evaluation
from autochron.detect.scan.module_index import LOGGING
from autochron.model import Category

_FIELDS: dict[str, tuple[Category, str]] = {
    **dict.fromkeys(("asctime", "created", "msecs", "relativeCreated"), ("clock", "time.time")),
    **dict.fromkeys(("process", "processName"), ("host", "os.getpid")),
    "thread": ("identity", "threading.get_ident"),
}
"""Fields of log records, by what their value depends on."""
_FIELD = re.compile(rf"(?:%\(|{{|\$\{{?)({'|'.join(_FIELDS)})\b")
_HANDLERS = ("logging.Handler", "logging.StreamHandler", "logging.handlers.", "logging.Formatter")


class LoggedField(NamedTuple):
    """A call whose record shows what depends on a source."""

    node: ast.Call
    spot: Spot
    category: Category
    call: str


def logged_fields(flow: ModuleFlow, evaluation: Evaluation) -> Iterator[LoggedField]:
    """Yield the calls of a module that log, by each field that the module's formats show and that differs."""
    names = {match[1] for text in flow.texts for match in _FIELD.finditer(text)}
    if _makes_records_text(flow, evaluation):
        names |= flow.attributes & _FIELDS.keys()
    if not names or not _gets_text_back(flow, evaluation):
        return
    fields = {_FIELDS[name] for name in names}
    for level in LOGGING:
        for use in flow.sites.get(level, ()):
            assert isinstance(use.node, ast.Call)  # noqa: S101 - they are calls
            if any(
                (isinstance(value, Known) and value.name.startswith("logging."))
                or _is_logger(use.node, value)
                for value in evaluation.values(use.node.func, use.spot)
            ):
                yield from (
                    LoggedField(use.node, use.spot, category, call) for category, call in sorted(fields)
                )


def _is_logger(call: ast.Call, value: Value) -> bool:
    """Return whether an unknown object is a logger, by its name."""
    called = call.func
    is_named = isinstance(called, ast.Attribute) and last_name(called.value).strip("_") in ("log", "logger")
    return is_named and isinstance(value, Unknown)


def _makes_records_text(flow: ModuleFlow, evaluation: Evaluation) -> bool:
    """Return whether a module has a handler or a formatter of its own, which gets the records."""
    return any(
        isinstance(base, Known) and base.name.startswith(_HANDLERS)
        for scope in flow.scopes.values()
        if scope.kind == "class"
        for base in evaluation.bases(scope)
    )


def _gets_text_back(flow: ModuleFlow, evaluation: Evaluation) -> bool:
    """Return whether a module has a handler of its own, or logs into a text that it reads."""
    return ("StringIO" in flow.sites and "StreamHandler" in flow.sites) or _makes_records_text(
        flow, evaluation
    )
