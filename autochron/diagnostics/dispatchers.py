"""Find the functions in the project's source that run several tools themselves: those that compare a name with a tool's.

The table of such a function takes the tool's name from the call, `name = "{tool_name}"`, and a replay serves the whole
function. So one counts only where that works: the name is there when it is called, the branch for the tool uses the other
arguments, and it returns a result. A guard that looks at the name alone, or that returns true or false, runs no tool.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

from autochron._runtime.unpatched import os
from autochron.diagnostics.module_names import ModuleNames
from autochron.matching.scopes import Function, Names
from autochron.project import Project, python_files, read_source
from autochron.rules.names import NameTemplateError, name_template
from autochron.scopes import parameters

_RECEIVERS = frozenset({"self", "cls"})

_OTHER_MEANING = frozenset({"model", "caller", "closure"})
"""Parameters that a name can't use, since the word means something else in it."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)

_DEEPEST = 8
"""Assignments and attributes that are followed from a variable to a parameter, at most."""


class Dispatcher(Struct, frozen=True):
    """A function that runs a tool itself."""

    tool: str
    """The name that the model calls it by."""
    module: str
    qualname: str
    file: str
    """The path relative to the rules' root."""
    line: int
    field: str
    """How a rule names the crossing: `{tool_name}`, `{call.function.name}`."""
    is_only: bool
    """Whether no other place of the project compares anything with the tool's name."""

    @property
    def target(self) -> str:
        """The definition as `target` names it in a rule."""
        return f"{self.module}:{self.qualname}"


class _Branch(NamedTuple):
    """The code that runs if an expression equals a text."""

    subject: ast.expr
    text: str
    body: list[ast.stmt]


def find_dispatchers(
    project: Project, tools: Mapping[str, frozenset[str] | None]
) -> dict[str, tuple[Dispatcher, ...]]:
    """Return for each tool the functions that run it themselves, in order of file and line.

    Args:
        project: the project whose source is read.
        tools: the names of the tools, each with the names of its parameters; None where these are unknown.
    """
    found: dict[str, list[Dispatcher]] = {tool: [] for tool in tools}
    branches = dict.fromkeys(tools, 0)
    modules_of = ModuleNames(project)
    for path in sorted(python_files(project.paths)) if tools else ():
        source = read_source(path) if project.owns(path) else None
        if source is None or not any(tool.encode() in source for tool in tools):
            continue
        module = modules_of.aliases(path)[0]
        try:
            tree = ast.parse(source)
            names = Names(tree, module, is_package=os.path.basename(path) == "__init__.py")
        except (SyntaxError, ValueError, RecursionError):
            continue  # Python says so when the program is run
        for branch in _branches(tree.body):
            if branch.text in tools:
                branches[branch.text] += 1
        for node, scope in names.functions:
            qualname = scope.qualname_of(node.name)
            for tool, field in _dispatched(node, tools):
                line = min(node.lineno, *(part.lineno for part in node.decorator_list), node.lineno)
                place = (module, qualname, project.name(path), line)
                found[tool].append(Dispatcher(tool, *place, field, is_only=False))
    return {
        tool: tuple(_marked(dispatcher, is_only=branches[tool] == 1) for dispatcher in dispatchers)
        for tool, dispatchers in found.items()
    }


def _marked(dispatcher: Dispatcher, *, is_only: bool) -> Dispatcher:
    place = (dispatcher.module, dispatcher.qualname, dispatcher.file, dispatcher.line)
    return Dispatcher(dispatcher.tool, *place, dispatcher.field, is_only=is_only)


def _dispatched(node: Function, tools: Mapping[str, frozenset[str] | None]) -> Iterator[tuple[str, str]]:
    """Yield each tool that a function runs itself, with the field of its name."""
    variables: _Variables | None = None
    seen: set[str] = set()
    for branch in _branches(node.body, is_nested=False):
        if branch.text not in tools or branch.text in seen or not _returns(node):
            continue
        variables = variables or _Variables(node)
        path = variables.path(branch.subject)
        if path is None or not (tools[branch.text] == frozenset() or variables.uses_more(branch.body, path)):
            continue
        seen.add(branch.text)
        yield branch.text, f"{{{path}}}"


class _Variables:
    """The variables of a function, as far as its parameters alone decide what they are."""

    def __init__(self, node: Function) -> None:
        self._parameters = {
            part.arg for part in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        } - _RECEIVERS
        self._variadics = {part.arg for part in parameters(node.args)} - self._parameters - _RECEIVERS
        self._bound: dict[str, int] = {}
        self._written: set[str] = set()
        """Attributes and items that the function assigns, as source."""
        self._values: dict[str, ast.expr] = {}
        """By variable, what it is assigned where it is bound."""
        for part in ast.walk(ast.Module(node.body, [])):
            self._note(part)

    def _note(self, part: ast.AST) -> None:
        for name in _names_bound(part):
            self._bound[name] = self._bound.get(name, 0) + 1
        if isinstance(part, ast.Attribute | ast.Subscript) and not isinstance(part.ctx, ast.Load):
            self._written.add(ast.unparse(part))
        for target, value in _assignments(part):
            self._values[target] = value

    def path(self, expression: ast.expr | None, depth: int = 0) -> str | None:
        """Return how a name in a rule reaches an expression's value from a parameter; None if it can't."""
        if expression is None or depth > _DEEPEST or ast.unparse(expression) in self._written:
            return None
        if isinstance(expression, ast.Name):
            return self._path_of_name(expression.id, depth)
        inner, step = _step(expression)
        path = None if inner is None else self.path(inner, depth + 1)
        if path is None:
            return None
        try:
            name_template(f"{{{path}{step}}}")
        except NameTemplateError:
            return None
        return f"{path}{step}"

    def _path_of_name(self, name: str, depth: int) -> str | None:
        times = self._bound.get(name, 0)
        if name in self._parameters and not times and name not in _OTHER_MEANING:
            return name
        if name in self._parameters or times != 1:
            return None
        return self.path(self._values.get(name), depth + 1)

    def uses_more(self, body: Iterable[ast.stmt], path: str) -> bool:
        """Return whether some statements use more of the call than the name of the tool."""
        known = {*self._parameters, *self._variadics, *self._values}
        return any(
            isinstance(part, ast.Name)
            and isinstance(part.ctx, ast.Load)
            and part.id in known
            and self.path(part) != path
            for statement in body
            for part in ast.walk(statement)
        )


def _names_bound(part: ast.AST) -> Iterator[str]:
    """Yield the variables that a node binds or deletes."""
    match part:
        case ast.Name(ctx=ast.Store() | ast.Del()):
            yield part.id
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield part.name
        case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
            yield name
        case ast.MatchStar(name=str() as name) | ast.MatchMapping(rest=str() as name):
            yield name
        case ast.alias():
            yield part.asname or part.name.partition(".")[0]


def _assignments(part: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield each variable that a node assigns an expression, with the expression."""
    match part:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case ast.NamedExpr(target=ast.Name(id=name), value=value):
            yield name, value
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            for target, value in zip(targets, values, strict=False):
                if isinstance(target, ast.Name) and len(targets) == len(values):
                    yield target.id, value


def _step(expression: ast.expr) -> tuple[ast.expr | None, str]:
    """Return what an expression takes an attribute or item of, and how a name writes that; None if it does something else."""
    match expression:
        case ast.Attribute(value=inner, attr=attribute):
            return inner, f".{attribute}"
        case ast.Subscript(value=inner, slice=ast.Constant(value=str() | int() as key)):
            return inner, f"[{key}]"
        case ast.Call(
            func=ast.Attribute(value=inner, attr="get"), args=[ast.Constant(value=str() as key)], keywords=[]
        ):
            return inner, f"[{key}]"
    return None, ""


def _branches(body: Iterable[ast.stmt], *, is_nested: bool = True) -> Iterator[_Branch]:
    """Yield the branches of some statements that run if an expression equals a text.

    Args:
        body: the statements.
        is_nested: whether those of functions and classes inside count.
    """
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, _SCOPES) and not is_nested:
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.If):
            for subject, text in _compared(node.test):
                yield _Branch(subject, text, node.body)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                for text in _matched(case.pattern):
                    yield _Branch(node.subject, text, case.body)


def _compared(test: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """Yield what a condition compares with a text, with the text."""
    match test:
        case ast.BoolOp(values=values):
            for value in values:
                yield from _compared(value)
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            for subject, other in ((left, right), (right, left)):
                if isinstance(other, ast.Constant) and isinstance(other.value, str):
                    yield subject, other.value
        case ast.Compare(
            left=left, ops=[ast.In()], comparators=[ast.Tuple() | ast.List() | ast.Set() as many]
        ):
            for item in many.elts:
                if isinstance(item, ast.Constant) and isinstance(item.value, str):
                    yield left, item.value


def _matched(pattern: ast.pattern) -> Iterator[str]:
    """Yield the texts that a pattern stands for."""
    match pattern:
        case ast.MatchValue(value=ast.Constant(value=str() as text)):
            yield text
        case ast.MatchOr(patterns=patterns):
            for inner in patterns:
                yield from _matched(inner)


def _returns(node: Function) -> bool:
    """Return whether a function returns a result, and not only whether a call is allowed."""
    if isinstance(node.returns, ast.Name) and node.returns.id == "bool":
        return False
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Return) and part.value is not None:
            if not _is_verdict(part.value):
                return True
        elif not isinstance(part, _SCOPES):
            waiting += ast.iter_child_nodes(part)
    return False


def _is_verdict(value: ast.expr) -> bool:
    """Return whether an expression is None, or true or false."""
    if isinstance(value, ast.Constant):
        return value.value is None or isinstance(value.value, bool)
    return isinstance(value, ast.Compare | ast.BoolOp) or (
        isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
    )
