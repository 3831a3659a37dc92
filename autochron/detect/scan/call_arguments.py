"""Read the arguments of a call: whether they determine the value of a source, and whether they call what they are given."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from autochron.detect.catalogue import Argument, Source
from autochron.detect.scan.flow import ModuleFlow, last_name
from autochron.detect.scan.libraries import DEFERRING, FACTORIES
from autochron.detect.scan.library_call import LibraryCall

_CONCURRENT = frozenset(
    {
        "threading",
        "_thread",
        "concurrent",
        "multiprocessing",
        "asyncio",
        "anyio",
        "trio",
        "gevent",
        "joblib",
        "dask",
    }
)
"""Packages that start threads, tasks or processes."""
_RUN_BY = {"add_argument": ("parse_args", "parse_known_args"), "option": ("main",), "argument": ("main",)}
"""By the call that is passed a callable for an argument of the command line: the methods that run it."""


def reaching(node: ast.Call, bound: tuple[ast.Call, ...]) -> Iterator[tuple[ast.Call, int]]:
    """Yield the calls whose arguments reach a callable, each with the offset of its positional arguments.

    A parameter of the callable at position p is the argument at p + offset. A partial has the callable itself as its
    first argument, and those that it binds come before those of the call.
    """
    yield from ((call, 1) for call in bound)
    yield node, -sum(len(call.args) - 1 for call in bound)


def is_determined(source: Source | LibraryCall, node: ast.Call, skip: int) -> bool:
    """Return whether the arguments of a call determine its value, or may do so."""
    if source.determined_by is not None and argument_of(source.determined_by, node, skip) is not None:
        return True
    first = literal_of(argument_of(Argument(0), node, skip))
    if isinstance(source, LibraryCall):
        if first is not None and first in source.harmless:
            return True
        return source.only_with is not None and not _is_passed(source.only_with, node, skip)
    if source.words:
        return first not in source.words
    if first is not None and first in source.harmless:
        return True
    mode = literal_of(argument_of(source.mode, node, skip)) if source.mode is not None else None
    return isinstance(mode, str) and not set(mode) & {"r", "+", "x"}


def may_reach(source: LibraryCall, flow: ModuleFlow) -> bool:
    """Return whether a module has what a library call needs to reach its source."""
    if source.if_keyword is not None and source.if_keyword not in flow.keywords:
        return False
    if source.if_attribute is not None and source.if_attribute not in flow.attributes:
        return False
    if source.unless_keyword is not None and source.unless_keyword in flow.keywords:
        return False
    if source.if_concurrent and not _is_concurrent(flow):
        return False
    if source.if_call is not None and flow.sites.keys().isdisjoint(source.if_call.split("|")):
        return False
    if source.unless_call is not None and source.unless_call in flow.sites:
        return False
    return source.if_text is None or source.if_text in flow.texts


def _is_passed(argument: Argument, node: ast.Call, skip: int) -> bool:
    """Return whether an argument is passed by its name or its place; not whether `**` may hold it."""
    plain = ast.Call(node.func, node.args, [keyword for keyword in node.keywords if keyword.arg is not None])
    return argument_of(argument, plain, skip) is not None


def _is_concurrent(flow: ModuleFlow) -> bool:
    """Return whether a module imports something that starts threads, tasks or processes."""
    return any(
        binding.kind == "import" and binding.dotted.partition(".")[0] in _CONCURRENT
        for scope in (flow.module, *flow.scopes.values())
        for bindings in scope.bindings.values()
        for binding in bindings
    )


def argument_of(argument: Argument, node: ast.Call, skip: int) -> ast.expr | None:
    """Return an argument if it is passed and not None. `*` and `**` count as passed: they may hold any."""
    for position, value in enumerate(node.args):
        if isinstance(value, ast.Starred):
            return value
        if position == argument.position + skip:
            return None if isinstance(value, ast.Constant) and value.value is None else value
    for keyword in node.keywords:
        if keyword.arg is None:
            return keyword.value
        if keyword.arg == argument.name:
            value = keyword.value
            return None if isinstance(value, ast.Constant) and value.value is None else value
    return None


def depends_on_arguments(source: Source | LibraryCall) -> bool:
    """Return whether the arguments decide if a call of the source is non-deterministic."""
    return source.determined_by is not None or (isinstance(source, Source) and bool(source.words))


def literal_of(node: ast.expr | None) -> object:
    """Return the value of a literal; None for any other expression."""
    return node.value if isinstance(node, ast.Constant) else None


def is_called_bare(call: ast.Call, keyword: str | None) -> bool:
    """Return whether a call calls the callable that it is passed without arguments."""
    if keyword is not None:
        return keyword in FACTORIES or (keyword == "target" and not _has_keyword(call, ("args", "kwargs")))
    called = call.func
    last = last_name(called)
    most = 2 if last in ("run_in_executor", "iter") else 1
    return last in DEFERRING and len(call.args) <= most


def _has_keyword(call: ast.Call, names: Iterable[str]) -> bool:
    return any(keyword.arg is not None and keyword.arg in names for keyword in call.keywords)


def samples_table(node: ast.Call) -> bool:
    """Return whether a call of `sample` draws rows of a table of pandas, without a seed."""
    keywords = {keyword.arg for keyword in node.keywords}
    return bool(keywords & {"n", "frac", "replace", "weights"}) and not keywords & {
        "random_state",
        "seed",
        None,
    }


def waits_for_all(node: ast.Call) -> bool:
    """Return whether a call such as `wait(tasks)` ends when all are done, so that only their order is open."""
    return (
        len(node.args) == 1
        and all(keyword.arg == "return_when" for keyword in node.keywords)
        and all(last_name(keyword.value) == "ALL_COMPLETED" for keyword in node.keywords)
    )


def lines_that_run(flow: ModuleFlow, call: ast.Call, keyword: str | None) -> Iterator[int]:
    """Yield the lines that run a callable which is passed for an argument of the command line."""
    running = _RUN_BY.get(last_name(call.func), ()) if keyword in ("type", "default", "callback") else ()
    return (place.node.lineno for name in running for place in flow.sites.get(name, ()))
