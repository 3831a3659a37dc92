"""Find where calls of `logging` send a log: to the standard error, which no program reads, or elsewhere."""

from __future__ import annotations

import ast

from autochron.detect.scan.flow import last_name


def logs_to_stderr(call: ast.Call) -> bool:
    """Return whether a call makes a handler for the standard error, which the program does not read."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return last_name(call.func) == "StreamHandler" and all(
        ast.unparse(each) == "sys.stderr" for each in given
    )


def logs_elsewhere(call: ast.Call) -> bool:
    """Return whether a call of `basicConfig` may send the log to where the program or its reader sees it."""
    return any(
        keyword.arg in (None, "stream", "handlers")
        or (keyword.arg == "filename" and not _is_plain_file(keyword.value))
        for keyword in call.keywords
    )


def _is_plain_file(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not str(node.value).startswith(("/dev/", "/proc/"))
