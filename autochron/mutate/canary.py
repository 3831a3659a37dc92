"""A canary: the target with a body that raises."""

from __future__ import annotations

import ast


def canary_source(source: str, function: str) -> str:
    """Return a module's source in which a function does nothing but raise; the function must exist."""
    node: ast.AST = ast.parse(source)
    for step in function.split("."):
        if step != "<locals>":
            node = next(
                inner
                for inner in ast.walk(node)
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
                and inner.name == step
            )
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)  # noqa: S101 - its mutants have been generated
    first, last = node.body[0], node.body[-1]
    lines = source.splitlines(keepends=True)
    is_generator = any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in ast.walk(node))
    body = 'raise NotImplementedError("a canary of autochron")' + ("; yield" if is_generator else "")
    before = (
        "".join(lines[: first.lineno - 1]) + lines[first.lineno - 1].encode()[: first.col_offset].decode()
    )
    after = lines[(last.end_lineno or 0) - 1].encode()[last.end_col_offset or 0 :].decode()
    return before + body + after + "".join(lines[last.end_lineno or 0 :])
