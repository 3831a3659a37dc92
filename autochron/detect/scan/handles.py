"""Find the lines that read from what a call has opened: a file, a process, a connection, a database, a weak reference.

Such a call is one finding at the line that opens, because that is where a rule applies. What differs is read elsewhere, so
the finding names these lines as well.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from autochron.detect.scan.abstract_values import Known, PartialCall, Produced
from autochron.detect.scan.flow import ModuleFlow, Spot, Use, last_name
from autochron.detect.scan.infer import Evaluation
from autochron.detect.scan.sql_text import STATEMENTS
from autochron.detect.scan.written_text import text_of

_NOT_READING = frozenset(
    {
        "write", "writelines", "flush", "close", "aclose", "detach", "truncate", "fileno", "isatty", "readable",
        "writable", "seekable", "reconfigure", "add", "addfile", "writestr", "mkdir", "sync", "commit", "rollback",
        "begin", "cursor", "terminate", "kill", "send_signal", "send", "sendall", "sendto", "shutdown", "settimeout",
        "setblocking", "setsockopt", "drain", "write_eof", "wait_closed", "is_closing", "bind", "listen",
        "create_function", "create_aggregate", "create_collation", "register_adapter", "set_trace_callback",
        "enable_load_extension", "raise_for_status", "__enter__", "__aenter__", "__exit__", "__aexit__",
        "setdefault", "update", "clear", "makefile", "dispose", "connect", "seek",
    }
)  # fmt: skip
"""Methods that read nothing of what was opened."""
_NOT_READING_CALLEES = frozenset(
    {
        "dump", "writer", "DictWriter", "closing", "aclosing", "enter_context", "enter_async_context", "push", "callback",
        "print", "StreamHandler", "redirect_stdout", "redirect_stderr", "TextIOWrapper", "BufferedReader", "isinstance",
        "type", "id", "hasattr", "getattr", "setattr", "bool", "finalize", "proxy", "weakref", "partial", "create_all",
        "drop_all", "sessionmaker", "async_sessionmaker", "Session", "AsyncSession", "append", "bind", "register",
    }
)  # fmt: skip
"""Last names of callables that keep or write to what they are given, and read nothing of it."""
_READ_ATTRIBUTES = frozenset({"lastrowid", "returncode", "exitcode", "headers", "status", "peer"})
"""Attributes that tell what was not there when the handle was made."""
_WRITING_STATEMENT = re.compile(
    r"\s*(?:insert|update|delete|replace|create|drop|alter|begin|commit|rollback|vacuum|attach|detach|pragma\s+\w+\s*=)\b",
    re.IGNORECASE,
)
_RETURNING = re.compile(r"\breturning\b", re.IGNORECASE)


class Handles:
    """The reading lines of one module's handles."""

    def __init__(self, flow: ModuleFlow, evaluation: Evaluation) -> None:
        """Take a module: its bindings and uses, and its values."""
        self._flow = flow
        self._evaluation = evaluation

    def reads(self) -> Iterator[tuple[ast.Call, int]]:
        """Yield the call that has opened something, and a line that reads from it."""
        for use in self._flow.calls:
            assert isinstance(use.node, ast.Call)  # noqa: S101 - they are calls
            yield from self._call(use.node, use.spot)
        for use in self._flow.iterated:
            yield from self._each(use.node, use.spot, use.node.lineno)
        for use in self._flow.references:
            yield from self._reference(use)

    def _each(self, node: ast.expr, spot: Spot, line: int) -> Iterator[tuple[ast.Call, int]]:
        for value in self._evaluation.values(node, spot):
            if isinstance(value, Produced) and value.opened is not None:
                yield value.opened, line

    def _call(self, node: ast.Call, spot: Spot) -> Iterator[tuple[ast.Call, int]]:
        """Yield what a call reads: by a method of a handle, by an argument of it, or by calling it."""
        called = node.func
        line = called.end_lineno or node.lineno
        last = last_name(called)
        if isinstance(called, ast.Attribute):
            if last not in _NOT_READING and not (last in STATEMENTS and self._only_writes(node, spot)):
                yield from self._each(called.value, spot, line)
        else:
            yield from self._each(called, spot, line)  # a weak reference
        if last in _NOT_READING_CALLEES or not self._is_of_library(called, spot):
            return
        for argument in node.args:
            if not isinstance(argument, ast.Starred):
                yield from self._each(argument, spot, line)

    def _is_of_library(self, called: ast.expr, spot: Spot) -> bool:
        return any(isinstance(value, Known | PartialCall) for value in self._evaluation.values(called, spot))

    def _only_writes(self, node: ast.Call, spot: Spot) -> bool:
        """Return whether a statement of SQL returns nothing of what the database has."""
        statement = text_of(self._evaluation, node.args[0], spot) if node.args else ""
        return bool(_WRITING_STATEMENT.match(statement)) and not _RETURNING.search(statement)

    def _reference(self, use: Use) -> Iterator[tuple[ast.Call, int]]:
        if use.position == "subscript":
            yield from self._each(use.node, use.spot, use.node.lineno)
        elif isinstance(use.node, ast.Attribute) and use.node.attr in _READ_ATTRIBUTES:
            yield from self._each(use.node.value, use.spot, use.node.lineno)
