"""A canary: the target with a body that raises."""

from __future__ import annotations

import ast

from autochron.mutate.definitions import functions_of


def canary_source(source: str, function: str) -> str:
    """Return a module's source in which a function does nothing but raise; the function must exist.

    Of several functions with one name, it is the last, as the name is bound.
    """
    node = functions_of(ast.parse(source))[function]
    first, last = node.body[0], node.body[-1]
    lines = source.splitlines(keepends=True)
    is_generator = any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in ast.walk(node))
    body = 'raise NotImplementedError("a canary of autochron")' + ("; yield" if is_generator else "")
    before = (
        "".join(lines[: first.lineno - 1]) + lines[first.lineno - 1].encode()[: first.col_offset].decode()
    )
    after = lines[(last.end_lineno or 0) - 1].encode()[last.end_col_offset or 0 :].decode()
    return before + body + after + "".join(lines[last.end_lineno or 0 :])
