"""A canary: the target with a body that raises."""

from __future__ import annotations

import ast
import inspect
from io import StringIO

from autochron.mutate.bytecode import compiled
from autochron.mutate.definitions import functions_of

_GENERATORS = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


def canary_source(source: str, function: str) -> str:
    """Return a module's source in which a function does nothing but raise; the function must exist.

    Of several functions with one name, it is the last, as the name is bound.
    """
    node = functions_of(ast.parse(source))[function]
    first, last = node.body[0], node.body[-1]
    # Not `str.splitlines`, which splits at form feeds as well.
    lines = StringIO(source, newline="").readlines()
    # Whether it is a generator is asked of its code: a `yield` may be that of an inner function.
    is_generator = compiled(source, "<canary>", function).co_flags & _GENERATORS
    body = 'raise NotImplementedError("a canary of autochron")' + ("; yield" if is_generator else "")
    decorators = (
        first.decorator_list
        if isinstance(first, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        else []
    )
    line = min([first.lineno, *(decorator.lineno for decorator in decorators)])
    before = "".join(lines[: line - 1]) + lines[line - 1].encode()[: first.col_offset].decode()
    after = lines[(last.end_lineno or 0) - 1].encode()[last.end_col_offset or 0 :].decode()
    return before + body + after + "".join(lines[last.end_lineno or 0 :])
