"""A canary: the target with a body that raises."""

from __future__ import annotations

import ast


def raising(source: str, function: str) -> str:
    """Return a source in which a function raises, and does nothing else.

    Raises:
        UsageError: it has no such function.
    """
    tree: ast.AST = ast.parse(source)
    for step in function.split("."):
        if step != "<locals>":
            tree = next(
                each
                for each in ast.walk(tree)
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
                and each.name == step
            )
    assert isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef)  # noqa: S101 - its mutants were made
    first, last = tree.body[0], tree.body[-1]
    lines = source.splitlines(keepends=True)
    yields = any(isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(tree))
    body = 'raise NotImplementedError("a canary of autochron")' + ("; yield" if yields else "")
    before = (
        "".join(lines[: first.lineno - 1]) + lines[first.lineno - 1].encode()[: first.col_offset].decode()
    )
    after = lines[(last.end_lineno or 0) - 1].encode()[last.end_col_offset or 0 :].decode()
    return before + body + after + "".join(lines[last.end_lineno or 0 :])
