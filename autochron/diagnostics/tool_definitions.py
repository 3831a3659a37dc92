"""Find the definitions in the project's source that may be the tools that a model asked for.

Nothing is run or imported, so that all of this is a guess by name: the name of a function, the text that a function is
registered under, or the branch that calls it. Frameworks prefix and respell names (`Shop-refund`, `mcp__shop__refund`,
`getWeather`), so that these spellings are looked for as well, where the name itself leads nowhere.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct, structs

from autochron._runtime.unpatched import os
from autochron.diagnostics.module_names import ModuleNames
from autochron.matching.scopes import Function, Names, NameScope
from autochron.project import Project, python_files, read_source

_SEPARATORS = ("__", "-", ".", "/", ":")
"""What frameworks put between a prefix and the tool's own name."""

_WORDS = re.compile(r"[^0-9A-Za-z]+|(?<=[a-z0-9])(?=[A-Z])")
_RUNNERS = (
    "_run",
    "run",
    "execute",
    "forward",
    "invoke",
    "call",
    "__call__",
    "_arun",
    "arun",
    "handle",
    "apply",
)
"""Names of the method that does the work in a class per tool, the likeliest first."""

_STEP = 2
"""How much a spelling's rank rises from one to the next, so that a weak registration lies between two."""

_RECEIVERS = ("self", "cls")
_TEST = re.compile(r"(^|/)(tests?|testing|conftest\.py|test_[^/]*\.py|[^/]*_test\.py)(/|$)")
_STUBS = (ast.Pass, ast.Raise)


class ToolDefinition(Struct, frozen=True):
    """A function that may be a tool."""

    tool: str
    """The name that the model calls it by."""
    module: str
    qualname: str
    file: str
    """The path relative to the rules' root."""
    line: int
    is_guess: bool = False
    """Whether only a branch for the tool leads to it, or it does not take the declared parameters."""

    @property
    def target(self) -> str:
        """The definition as `target` names it in a rule."""
        return f"{self.module}:{self.qualname}"


class _Candidate(NamedTuple):
    """A definition, and how well it fits. Of several candidates those with the lowest `order` are kept."""

    definition: ToolDefinition
    is_test: bool
    """Whether it lies among tests."""
    is_stub: bool
    """Whether it does nothing, as one in a protocol."""
    is_unfit: bool
    """Whether it does not take the declared parameters."""
    rank: int
    """How far its name is from the tool's: 0 is that name, or what is registered under it."""

    @property
    def order(self) -> tuple[bool, bool, bool, int]:
        return self.is_test, self.is_stub, self.is_unfit, self.rank

    @property
    def guessed(self) -> ToolDefinition:
        """The definition, with how well it fits."""
        return structs.replace(self.definition, is_guess=self.is_unfit or bool(self.rank % _STEP))


class _ParsedModule(NamedTuple):
    """A parsed file of the project."""

    file: str
    tree: ast.Module
    names: Names
    aliases: tuple[str, ...]
    """All names that the module may have."""

    @property
    def functions(self) -> Iterator[tuple[Function, str]]:
        """The functions of the module, each with its qualified name."""
        for node, scope in self.names.functions:
            yield node, scope.qualname_of(node.name)


def find_definitions(
    project: Project, tools: Mapping[str, frozenset[str] | None]
) -> dict[str, tuple[ToolDefinition, ...]]:
    """Return for each tool the definitions that it may be, the likeliest ones only.

    Args:
        project: the project whose source is read.
        tools: the names of the tools, each with the names of its parameters; None where these are unknown.
    """
    search = _DefinitionSearch(project, tools)
    for path in python_files(project.paths) if tools else ():
        if project.owns(path):
            search.read(path)
    search.follow_registrations()
    return {tool: search.best(tool) for tool in tools}


class _DefinitionSearch:
    """The search for some tools in one project."""

    def __init__(self, project: Project, tools: Mapping[str, frozenset[str] | None]) -> None:
        self._project = project
        self._tools = tools
        self._ranks: dict[str, list[tuple[str, int]]] = {}
        """By spelling: the tools that are spelled so, each with the rank of the spelling."""
        for tool in tools:
            for spelling, rank in _spellings(tool).items():
                self._ranks.setdefault(spelling, []).append((tool, rank))
        self._needles = tuple(spelling.encode() for spelling in self._ranks)
        self._candidates: dict[str, dict[ToolDefinition, _Candidate]] = {tool: {} for tool in tools}
        self._registered: dict[tuple[str, str], int] = {}
        """By tool and dotted name: the rank of what is registered as the tool."""
        self._modules_of = ModuleNames(project)
        self._modules: dict[str, _ParsedModule] = {}
        """The modules that were parsed, by path."""

    def read(self, path: str) -> None:
        """Read a file if it names one of the tools."""
        source = read_source(path)
        if source is None or not any(needle in source for needle in self._needles):
            return
        module = self._parse(path, source)
        if module is None:
            return
        for node, qualname in module.functions:
            self._read_function(module, node, qualname)
        for class_node, scope in module.names.classes:
            self._read_class(module, class_node, scope)
        for registration in _registrations(module):
            for tool, rank in self._ranks.get(registration.spelling, ()):
                self._register(module, tool, rank + registration.weakness, registration)

    def _parse(self, path: str, source: bytes) -> _ParsedModule | None:
        aliases = self._modules_of.aliases(path)
        try:
            tree = ast.parse(source)
            names = Names(tree, aliases[0], is_package=os.path.basename(path) == "__init__.py")
        except (SyntaxError, ValueError, RecursionError):
            return None  # Python says so when the program is run
        module = self._modules[path] = _ParsedModule(self._project.name(path), tree, names, aliases)
        return module

    def _read_function(self, module: _ParsedModule, node: Function, qualname: str) -> None:
        for tool, rank in self._ranks.get(node.name, ()):
            self._add(module, tool, rank, node, qualname)
        for decorator in node.decorator_list:
            for text in _texts(decorator) if isinstance(decorator, ast.Call) else ():
                for tool, rank in self._ranks.get(text, ()):
                    self._add(module, tool, rank, node, qualname)

    def _read_class(self, module: _ParsedModule, node: ast.ClassDef, scope: NameScope) -> None:
        """Read a class that is one tool: it has the tool's name as an attribute, or is named so itself."""
        methods = {part.name: part for part in node.body if isinstance(part, Function)}
        runner = next((methods[name] for name in _RUNNERS if name in methods), None)
        if runner is None:
            return
        qualname = f"{scope.qualname_of(node.name)}.{runner.name}"
        texts = [(text, 0) for text in _name_attributes(node)]
        texts += [(text, 1) for text in (node.name, node.name.removesuffix("Tool"))]
        for text, weakness in texts:
            for tool, rank in self._ranks.get(text, ()):
                self._add(module, tool, rank + weakness, runner, qualname)

    def _register(self, module: _ParsedModule, tool: str, rank: int, registration: _Registration) -> None:
        """Note what is registered as a tool."""
        for expression in registration.expressions:
            if isinstance(expression, ast.Attribute) and _is_receiver(expression.value):
                for node, qualname in module.functions:
                    if qualname.endswith(f".{expression.attr}"):
                        self._add(module, tool, rank, node, qualname)
            for meaning in registration.scope.dotted(expression):
                if meaning.origin in {"definition", "import"}:
                    known = self._registered.get((tool, meaning.name), rank)
                    self._registered[tool, meaning.name] = min(known, rank)

    def follow_registrations(self) -> None:
        """Find the definitions of what was registered, also in files that don't name the tool."""
        wanted = {name.rpartition(".")[2].encode() for _, name in self._registered}
        for path in python_files(self._project.paths) if wanted else ():
            if path in self._modules or not self._project.owns(path):
                continue
            source = read_source(path)
            if source is not None and any(name in source for name in wanted):
                self._parse(path, source)
        for module in self._modules.values() if wanted else ():
            for node, qualname in module.functions:
                dotted = {f"{alias}.{qualname}" for alias in module.aliases}
                for (tool, name), rank in self._registered.items():
                    if name in dotted:
                        self._add(module, tool, rank, node, qualname)

    def _add(self, module: _ParsedModule, tool: str, rank: int, node: Function, qualname: str) -> None:
        line = min(node.lineno, *(decorator.lineno for decorator in node.decorator_list), node.lineno)
        definition = ToolDefinition(tool, module.aliases[0], qualname, module.file, line)
        candidate = _Candidate(
            definition,
            is_test=_TEST.search(module.file) is not None,
            is_stub=_is_stub(node),
            is_unfit=not _takes(node, self._tools[tool]),
            rank=rank,
        )
        known = self._candidates[tool].get(definition)
        if known is None or candidate.rank < known.rank:
            self._candidates[tool][definition] = candidate

    def best(self, tool: str) -> tuple[ToolDefinition, ...]:
        """Return the likeliest definitions of a tool, in order of file and line."""
        candidates = self._candidates[tool].values()
        lowest = min((candidate.order for candidate in candidates), default=None)
        definitions = [candidate.guessed for candidate in candidates if candidate.order == lowest]
        return tuple(sorted(definitions, key=lambda definition: (definition.file, definition.line)))


def _spellings(tool: str) -> dict[str, int]:
    """Return how a tool's function may be named, each with its rank: the lowest is the tool's own name."""
    tails = [tool.rpartition(separator)[2] for separator in _SEPARATORS if separator in tool]
    spellings: dict[str, int] = {}
    for rank, names in enumerate(
        ([tool], _respelled(tool), tails, [part for tail in tails for part in _respelled(tail)])
    ):
        for name in names:
            if len(name) > 1:
                spellings.setdefault(name, rank * _STEP)
    return spellings


def _respelled(name: str) -> list[str]:
    """Return a name in the spellings of Python and of JavaScript."""
    words = [word for word in _WORDS.split(name) if word]
    if not words:
        return []
    titled = [word[:1].upper() + word[1:] for word in words]
    return ["_".join(words).lower(), words[0].lower() + "".join(titled[1:]), "".join(titled)]


class _Registration(NamedTuple):
    """A text of a module that may name a tool, with the expressions beside it that may be its function."""

    spelling: str
    expressions: list[ast.expr]
    scope: NameScope
    """The scope of the expressions."""
    weakness: int = 0
    """1 if the code beside the text does more than to name a function."""


def _registrations(module: _ParsedModule) -> Iterator[_Registration]:
    """Yield the texts of a module that may name a tool."""
    for call, scope in module.names.calls:
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        for text in _texts(call):
            yield _Registration(text, arguments, scope)
        for keyword in call.keywords:
            if keyword.arg is not None:
                yield _Registration(keyword.arg, [keyword.value], scope, 1)
    for node in ast.walk(module.tree):
        for text, parts, weakness in _pairs(node):
            expressions = [named for part in parts if (named := _named(part)) is not None]
            yield _Registration(text, expressions, module.names.module, weakness)


def _named(node: ast.AST) -> ast.expr | None:
    """Return what may name a function: a name, or a text to look one up by, as in `globals()[ROUTES[name]]`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
        return ast.Name(node.value, ast.Load())
    return node if isinstance(node, ast.Name | ast.Attribute) else None


def _pairs(node: ast.AST) -> Iterator[tuple[str, Iterable[ast.AST], int]]:
    """Yield each text that a node pairs with code, and how weak the pair is: an entry of a dictionary, or a branch."""
    match node:
        case ast.Dict():
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, ast.walk(value), 0
        case ast.Assign(targets=[ast.Subscript(slice=ast.Constant(value=str() as text))]):
            yield text, ast.walk(node.value), 0
        case ast.If(test=ast.Compare(left=left, comparators=[right])):
            for side in (left, right):
                if isinstance(side, ast.Constant) and isinstance(side.value, str):
                    yield side.value, _called(node.body), 1
        case ast.match_case(pattern=ast.MatchValue(value=ast.Constant(value=str() as text))):
            yield text, _called(node.body), 1


def _called(body: Iterable[ast.stmt]) -> Iterator[ast.expr]:
    """Yield the callees of the calls in some statements."""
    for statement in body:
        yield from (node.func for node in ast.walk(statement) if isinstance(node, ast.Call))


def _texts(call: ast.Call) -> Iterator[str]:
    """Yield the texts among the arguments of a call."""
    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            yield argument.value


def _name_attributes(node: ast.ClassDef) -> Iterator[str]:
    """Yield the texts that a class has as its name, such as `name = "refund"`."""
    for part in node.body:
        match part:
            case ast.Assign(targets=[ast.Name(id=attribute)], value=ast.Constant(value=str() as text)):
                if "name" in attribute.lower():
                    yield text
            case ast.AnnAssign(target=ast.Name(id=attribute), value=ast.Constant(value=str() as text)):
                if "name" in attribute.lower():
                    yield text
            case ast.FunctionDef(name="name", body=[*_, ast.Return(value=ast.Constant(value=str() as text))]):
                yield text


def _is_receiver(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in _RECEIVERS


def _is_stub(node: Function) -> bool:
    """Return whether a function has no body of its own, as in a protocol or an abstract class."""
    body = node.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]  # a docstring, or `...`
    return not body or (len(body) == 1 and isinstance(body[0], _STUBS))


def _takes(node: Function, keys: frozenset[str] | None) -> bool:
    """Return whether a function may take arguments of these names; true where they are unknown.

    A function with one parameter may take all of them in one object.
    """
    arguments = node.args
    own = [part.arg for part in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    parameters = [name for name in own if name not in _RECEIVERS]
    return keys is None or arguments.kwarg is not None or len(parameters) == 1 or keys <= {*parameters}
