"""Read from the project's source what else has a name, and whether a function is reached in more than one way.

It is read at the end of a recording, and only if the model asked for a tool that no crossing answers. Whatever the
source does not show counts as the worse case: the callers then keep a replay from running the tool for real.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from autochron._runtime.unpatched import os
from autochron.project import read_source

UNKNOWN: Any = object()
"""Stands for a value that can't be read without running code of the program."""

_READERS = frozenset({"len", "list", "sorted", "set", "frozenset", "tuple", "iter"})
"""Builtins that only read a table's keys."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class UnreadableError(Exception):
    """A file of the project can't be read or parsed, so its content is unknown."""


class SourceFile(NamedTuple):
    """One parsed file of the project."""

    path: str
    names: tuple[str, ...]
    """The names of its module."""
    tree: ast.Module
    parents: Mapping[ast.AST, ast.AST]

    def value_of(self, expression: ast.expr) -> Any:
        """Return the value of a dotted name in the module; UNKNOWN for other expressions and local variables."""
        path = _dotted(expression)
        if path is None:
            return UNKNOWN
        for namespace in self.namespaces():
            if path[0] in namespace:
                return _attribute_at(namespace[path[0]], path[1:])
        return getattr(builtins, path[0], UNKNOWN) if len(path) == 1 else UNKNOWN

    def namespaces(self) -> Iterator[dict[str, Any]]:
        """Yield the namespaces of the modules that were loaded from this file."""
        for name in self.names:
            module = sys.modules.get(name)
            file = getattr(module, "__file__", None)
            if module is not None and isinstance(file, str) and os.path.realpath(file) == self.path:
                yield vars(module)


class ImportedSources:
    """The files of the project that were imported."""

    def __init__(self, files: Mapping[str, tuple[str, ...]]) -> None:
        self._files = files
        self._texts: dict[str, bytes] = {}
        self._parsed: dict[str, SourceFile] = {}

    def naming(self, words: Iterable[str]) -> list[SourceFile]:
        """Return the files that contain one of the words.

        Raises:
            UnreadableError: a file can't be read or parsed.
        """
        wanted = [word.encode() for word in words]
        return [self.parsed(path) for path in self._files if any(word in self._text(path) for word in wanted)]

    def parsed(self, path: str) -> SourceFile:
        """Return a file, parsed once.

        Raises:
            UnreadableError: the file can't be read or parsed.
        """
        if path not in self._parsed:
            try:
                tree = ast.parse(self._text(path))
            except (SyntaxError, ValueError) as error:
                raise UnreadableError(path) from error
            parents = {inner: node for node in ast.walk(tree) for inner in ast.iter_child_nodes(node)}
            self._parsed[path] = SourceFile(path, self._files.get(path, ()), tree, parents)
        return self._parsed[path]

    def _text(self, path: str) -> bytes:
        if path not in self._texts:
            text = read_source(path)
            if text is None:
                raise UnreadableError(path)
            self._texts[path] = text
        return self._texts[path]


def has_rival(
    sources: ImportedSources,
    name: str,
    places: Collection[tuple[str, int]],
    is_fine: Callable[[Any], bool],
    *,
    is_woven: bool,
) -> bool:
    """Return whether something else in the project may be the tool of this name.

    That is another definition of the name, or a name, key, argument or branch that leads from the name to another
    function.

    Args:
        sources: the files of the project.
        name: the tool.
        places: the path and first line of each definition that is the tool.
        is_fine: returns whether a callable is the tool.
        is_woven: whether calls of these definitions cross. Then what their decorators made of them is the tool as well.

    Raises:
        UnreadableError: a file can't be read or parsed.
    """
    files = sources.naming([name])
    decorated = [
        namespace[name]
        for source in files
        if _defines(source, name, places)
        for namespace in source.namespaces()
        if name in namespace
    ]

    def is_tool(value: Any) -> bool:
        return is_fine(value) or any(value is result for result in decorated)

    for source in files:
        values = [namespace[name] for namespace in source.namespaces() if name in namespace]
        if any(_is_callable(value) and not is_tool(value) for value in values):
            return True
        if _Rivals(source, name, places, is_tool if is_woven else is_fine).exist():
            return True
    return False


def _defines(source: SourceFile, name: str, places: Collection[tuple[str, int]]) -> bool:
    """Return whether a module defines the tool at its top level, so that its namespace holds the decorated function."""
    return any(
        isinstance(node, _FUNCTIONS) and node.name == name and (source.path, first_line(node)) in places
        for node in source.tree.body
    )


class _Rivals:
    """The search for rivals of a tool in one file."""

    def __init__(
        self,
        source: SourceFile,
        name: str,
        places: Collection[tuple[str, int]],
        is_fine: Callable[[Any], bool],
    ) -> None:
        self._source = source
        self._name = name
        self._places = places
        self._is_fine = is_fine
        self._defined = {
            node.name for node in ast.walk(source.tree) if isinstance(node, (*_FUNCTIONS, ast.ClassDef))
        }

    def exist(self) -> bool:
        """Return whether the file has any."""
        return any(self._is_rival(node) for node in ast.walk(self._source.tree))

    def _is_rival(self, node: ast.AST) -> bool:
        """Return whether a node may lead from the name to another function."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return self._is_other_definition(node)
            case ast.Dict():
                values_of_name = [
                    value for key, value in zip(node.keys, node.values, strict=True) if self._is_name(key)
                ]
                neighbours = node.values if any(self._is_name(value) for value in node.values) else []
                return self._any_leads(values_of_name, strict=True) or self._any_leads(neighbours)
            case ast.Tuple() | ast.List() | ast.Set():
                return any(map(self._is_name, node.elts)) and self._any_leads(node.elts)
            case ast.Call():
                return self._is_registration(node)
            case ast.Assign():
                return any(self._is_assigned(target, node.value) for target in node.targets)
            case ast.AnnAssign() | ast.NamedExpr():
                return node.value is not None and self._is_assigned(node.target, node.value)
            case ast.If() | ast.IfExp() | ast.match_case():
                return self._is_branch(node)
        return False

    def _is_other_definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
        """Return whether a definition of the name is not the tool, or a decorator gives its function the name."""
        if node.name == self._name:
            return (self._source.path, first_line(node)) not in self._places
        return any(self._is_name(part) for decorator in node.decorator_list for part in ast.walk(decorator))

    def _is_registration(self, node: ast.Call) -> bool:
        """Return whether a call gets the name together with another function."""
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        by_name = any(map(self._is_name, arguments))
        if isinstance(node.func, ast.Call):  # `register("refund")(pay)`
            by_name = by_name or any(self._is_name(part) for part in ast.walk(node.func))
        return by_name and self._any_leads(arguments)

    def _is_assigned(self, target: ast.expr, value: ast.expr) -> bool:
        """Return whether another function is assigned to the name, or to the key of that name."""
        if isinstance(target, ast.Subscript):
            return self._is_name(target.slice) and self._leads(value, strict=True)
        is_plain = isinstance(value, ast.Lambda) or _dotted(value) is not None
        return _last(target) == self._name and is_plain and self._leads(value)

    def _is_branch(self, node: ast.If | ast.IfExp | ast.match_case) -> bool:
        """Return whether a branch that compares the name passes on a call's `**` arguments to another function."""
        test, body = (node.pattern, node.body) if isinstance(node, ast.match_case) else (node.test, node.body)
        if not any(map(self._is_name, ast.walk(test))):
            return False
        return any(
            isinstance(part, ast.Call)
            and any(keyword.arg is None for keyword in part.keywords)
            and _last(part.func) != self._name
            for statement in (body if isinstance(body, list) else [body])
            for part in ast.walk(statement)
        )

    def _is_name(self, node: ast.AST | None) -> bool:
        """Return whether a node is the name as a string."""
        return isinstance(node, ast.Constant) and node.value == self._name

    def _any_leads(self, expressions: Iterable[ast.expr], *, strict: bool = False) -> bool:
        return any(self._leads(expression, strict=strict) for expression in expressions)

    def _leads(self, expression: ast.expr, *, strict: bool = False) -> bool:
        """Return whether an expression is or results in another callable than the tool.

        With `strict`, an expression of unknown value counts as one.
        """
        chains = list(_chains(expression))
        for chain in chains:
            if not isinstance(chain, ast.Lambda) and _last(chain) == self._name:
                value = self._source.value_of(chain)
                return value is not UNKNOWN and _is_callable(value) and not self._is_fine(value)
        return any(self._is_elsewhere(chain, strict=strict) for chain in chains)

    def _is_elsewhere(self, chain: ast.expr, *, strict: bool) -> bool:
        """Return whether a name or a lambda is another callable; with `strict`, also if its value is unknown."""
        if isinstance(chain, ast.Lambda):
            is_own = (self._source.path, chain.lineno) in self._places
            return not (is_own or any(_last(part) == self._name for part in ast.walk(chain)))
        value = self._source.value_of(chain)
        if value is UNKNOWN:
            return strict or (isinstance(chain, ast.Name) and chain.id in self._defined)
        return _is_callable(value) and not self._is_fine(value)


def has_way_around(
    sources: ImportedSources,
    table: str | None,
    functions: Collection[str],
    is_inside: Callable[[str, ast.AST], bool],
) -> bool:
    """Return whether functions may be reached otherwise than through the woven uses of a table.

    Args:
        sources: the files of the project.
        table: the last name of the table that holds the functions.
        functions: the names of the functions.
        is_inside: returns whether a node of a file is woven: a bound call, or in the body of a woven dispatcher.

    Raises:
        UnreadableError: a file can't be read or parsed.
    """
    words = [*functions, *([] if table is None else [table])]
    return any(
        _is_way_around(source, node, table, functions, is_inside)
        for source in sources.naming(words)
        for node in ast.walk(source.tree)
    )


def _is_way_around(
    source: SourceFile,
    node: ast.AST,
    table: str | None,
    functions: Collection[str],
    is_inside: Callable[[str, ast.AST], bool],
) -> bool:
    """Return whether a node makes the table or a function reachable outside the woven uses."""
    if isinstance(node, ast.alias):
        last = node.name.rpartition(".")[2]
        return (last == table or last in functions) and node.asname not in {None, last}
    if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
        return False
    name = _last(node)
    if name == table:
        return not (_is_harmless(source, node) or _is_looked_up_inside(source, node, is_inside))
    if name in functions:
        return not (is_inside(source.path, node) or _is_put_into(source, node, table))
    return False


def _is_looked_up_inside(
    source: SourceFile, node: ast.AST, is_inside: Callable[[str, ast.AST], bool]
) -> bool:
    """Return whether a use of the table is a woven one."""
    parent = source.parents[node]
    return is_inside(source.path, parent if isinstance(parent, ast.Subscript) else node)


def _is_harmless(source: SourceFile, node: ast.AST) -> bool:
    """Return whether a use of a table calls nothing that the table holds."""
    parent = source.parents[node]
    match parent:
        case ast.Subscript():
            return parent.value is node and not isinstance(parent.ctx, ast.Load)
        case ast.Compare():
            return node in parent.comparators
        case ast.For() | ast.AsyncFor() | ast.comprehension():
            return parent.iter is node
        case ast.Call():
            return isinstance(parent.func, ast.Name) and parent.func.id in _READERS and node in parent.args
        case ast.Attribute():
            return parent.attr in {"keys", "update"} or (
                parent.attr in {"values", "items"} and _is_only_looped_over(source, parent)
            )
    return False


def _is_only_looped_over(source: SourceFile, node: ast.Attribute) -> bool:
    """Return whether a table's values are iterated and none of them is called."""
    call = source.parents[node]
    loop = source.parents.get(call)
    if not isinstance(loop, ast.For | ast.AsyncFor | ast.comprehension) or loop.iter is not call:
        return False
    targets = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
    return not any(
        isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in targets
        for part in ast.walk(source.tree)
    )


def _is_put_into(source: SourceFile, node: ast.AST, table: str | None) -> bool:
    """Return whether a function is named where the table is created or filled."""
    ancestor: ast.AST | None = node
    while ancestor is not None:
        if isinstance(ancestor, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef):
            return False
        if isinstance(ancestor, ast.Assign | ast.AnnAssign):
            targets = ancestor.targets if isinstance(ancestor, ast.Assign) else [ancestor.target]
            return table is not None and any(
                _last(target.value if isinstance(target, ast.Subscript) else target) == table
                for target in targets
            )
        ancestor = source.parents.get(ancestor)
    return False


def reads_attribute(sources: ImportedSources, attributes: Collection[str]) -> bool:
    """Return whether the project reads one of these attributes of any object, perhaps to call it."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in attributes
        and isinstance(node.ctx, ast.Load)
        and not isinstance(source.parents[node], ast.Attribute)
        for source in sources.naming(attributes)
        for node in ast.walk(source.tree)
    )


def calls_name(sources: ImportedSources, names: Collection[str]) -> bool:
    """Return whether the project calls anything by one of these names."""
    return any(
        isinstance(node, ast.Call) and _last(node.func) in names
        for source in sources.naming(names)
        for node in ast.walk(source.tree)
    )


def first_line(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    """Return the first line of a definition as its code object has it: that of its first decorator."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def definition_at(source: SourceFile, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return the function whose code begins at a line; None if there is none."""
    return next(
        (node for node in ast.walk(source.tree) if isinstance(node, _FUNCTIONS) and first_line(node) == line),
        None,
    )


def _dotted(expression: ast.AST) -> list[str] | None:
    """Return the parts of a dotted name; None for any other expression."""
    if isinstance(expression, ast.Name):
        return [expression.id]
    if isinstance(expression, ast.Attribute):
        owner = _dotted(expression.value)
        return None if owner is None else [*owner, expression.attr]
    return None


def _last(node: ast.AST) -> str | None:
    """Return the last part of a name; None for any other expression."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def _chains(expression: ast.expr) -> Iterator[ast.expr]:
    """Yield the dotted names and the lambdas that are parts of an expression."""
    pending: list[ast.AST] = [expression]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Lambda) or _dotted(node) is not None:
            yield node  # type: ignore[misc]  # each is an expression
        else:
            pending += ast.iter_child_nodes(node)


def _attribute_at(value: Any, path: list[str]) -> Any:
    """Return the attribute at a path from a value, without running code of the program; UNKNOWN if there is none."""
    for name in path:
        namespace = attributes_of(value)
        if name not in namespace:
            bases = type.__dict__["__mro__"].__get__(value if _is_class(value) else type(value))
            namespace = next((vars(base) for base in bases if name in vars(base)), {})
        if name not in namespace:
            return UNKNOWN
        value = namespace[name]
        value = value.__func__ if isinstance(value, staticmethod | classmethod) else value
    return value


def attributes_of(value: Any) -> Mapping[str, Any]:
    """Return an object's own attributes, without running code of the program."""
    if _is_class(value):
        return type.__dict__["__dict__"].__get__(value)  # type: ignore[no-any-return]  # a metaclass may have its own
    try:
        namespace = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return namespace if isinstance(namespace, dict) else {}


def _is_class(value: Any) -> bool:
    """Return whether a value is a class, whatever it says of itself."""
    return any(base is type for base in type(value).__mro__)


def _is_callable(value: Any) -> bool:
    """Return whether a value is callable, without running code of the program."""
    return any("__call__" in vars(base) for base in type(value).__mro__)
