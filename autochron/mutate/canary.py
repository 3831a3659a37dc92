"""Canaries: the target with a body that raises, or that refuses every call."""

from __future__ import annotations

import ast
import inspect
from io import StringIO

from autochron.mutate.bytecode import compiled
from autochron.mutate.definitions import functions_of

_GENERATORS = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


_FLAG = "autochron.mutate.server.canary_flag"
RAISES = f'raise __import__("{_FLAG}", fromlist=["CanaryError"]).CanaryError("a canary of autochron")'
REFUSES = 'return {"status": "blocked", "blocked": True}'


def canary_source(source: str, function: str, statement: str = RAISES) -> str:
    """Return a module's source in which a function has a statement as its body; the function must exist.

    Of several functions with one name, it is the last, as the name is bound.
    """
    node = functions_of(ast.parse(source))[function]
    first, last = node.body[0], node.body[-1]
    # Not `str.splitlines`, which splits at form feeds as well.
    lines = StringIO(source, newline="").readlines()
    # Whether it is a generator is asked of its code: a `yield` may be that of an inner function.
    is_generator = compiled(source, "<canary>", function).co_flags & _GENERATORS
    if is_generator:
        statement = f"{statement if statement == RAISES else 'return'}; yield"
    decorators = (
        first.decorator_list
        if isinstance(first, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        else []
    )
    line = min([first.lineno, *(decorator.lineno for decorator in decorators)])
    before = "".join(lines[: line - 1]) + lines[line - 1].encode()[: first.col_offset].decode()
    after = lines[(last.end_lineno or 0) - 1].encode()[last.end_col_offset or 0 :].decode()
    return before + statement + after + "".join(lines[last.end_lineno or 0 :])
