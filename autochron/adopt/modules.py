"""A parsed module: its names, what they refer to, and where its nodes are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import libcst as cst
from libcst.metadata import (
    Access,
    Assignment,
    BaseAssignment,
    ImportAssignment,
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
    Scope,
    ScopeProvider,
)

from autochron.adopt.chronicle_api import PACKAGE, STARRED, api_name
from autochron.adopt.sources import PythonFile
from autochron.errors import AdoptionError

_IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError", "Exception"})


@dataclass(frozen=True, eq=False)
class ApiUse:
    """A place where a module uses a name of Chronicle.

    Attributes:
        node: the whole dotted name; a string for a quoted annotation.
        dotted: the name in full, such as `chronicle.envelope.schema.Input`.
        alias: the import that binds it; None for `from chronicle import *`.
        is_certain: whether nothing else in the module binds the name.
        is_annotation: whether only type checkers read it, since the module has `from __future__ import annotations`.
    """

    node: cst.BaseExpression
    dotted: str
    alias: cst.ImportAlias | None
    is_certain: bool
    is_annotation: bool

    @property
    def name(self) -> str:
        """The name of the API: `Input`."""
        return api_name(self.dotted)


@dataclass(frozen=True)
class Definition:
    """A function of the project.

    Attributes:
        real: the path of its file, behind all links.
        qualname: its qualified name.
        path: the absolute path by which the file was named, which decides the name of its module.
    """

    real: str
    qualname: str
    path: str = field(default="", compare=False)


class Module:
    """A source with its tree and the scopes of its names."""

    def __init__(self, source: PythonFile) -> None:
        """Parse a source.

        Raises:
            AdoptionError: it doesn't parse.
        """
        self.source = source
        parsed(source)
        try:
            self._wrapper = MetadataWrapper(cst.parse_module(source.text), unsafe_skip_copy=True)
            self.tree = self._wrapper.module
            self._scopes = self._wrapper.resolve(ScopeProvider)
            self._parents = self._wrapper.resolve(ParentNodeProvider)
            self._positions = self._wrapper.resolve(PositionProvider)
        except (cst.ParserSyntaxError, ValueError, RecursionError) as error:
            raise _unparsed(source, getattr(error, "raw_line", 1), type(error).__name__) from error

    # Places

    def line(self, node: cst.CSTNode) -> int:
        """Return the line of a node."""
        return int(self._positions[node].start.line)

    def code(self, node: cst.CSTNode) -> str:
        """Return the source of a node."""
        return self.tree.code_for_node(node)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the node that a node is in; None for the module."""
        return self._parents.get(node)

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the nodes that a node is in, from the innermost."""
        current = self.parent(node)
        while current is not None:
            yield current
            current = self.parent(current)

    def statement(self, node: cst.CSTNode) -> cst.CSTNode:
        """Return the innermost statement with a line of its own that a node is in."""
        current: cst.CSTNode = node
        for ancestor in self.ancestors(node):
            if isinstance(ancestor, cst.IndentedBlock | cst.Module):
                break
            current = ancestor
        return current

    def small_statement(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the part of a line that a node is in; None where it is in the head of a compound statement."""
        return next((each for each in self.ancestors(node) if isinstance(each, cst.BaseSmallStatement)), None)

    def qualname(self, node: cst.FunctionDef | cst.ClassDef, name: str = "") -> str:
        """Return the qualified name of a definition, or of a name that is bound beside it."""
        return ".".join((*self.prefix(node), name or node.name.value))

    def prefix(self, node: cst.CSTNode) -> tuple[str, ...]:
        """Return the parts of the qualified names of definitions that stand where a node does."""
        parts: list[str] = []
        for ancestor in self.ancestors(node):
            if isinstance(ancestor, cst.FunctionDef):
                parts[:0] = [ancestor.name.value, "<locals>"]
            elif isinstance(ancestor, cst.ClassDef):
                parts.insert(0, ancestor.name.value)
        return tuple(parts)

    # Names

    def bindings(self, name: cst.CSTNode, text: str | None = None) -> list[BaseAssignment]:
        """Return all that binds a name in the scope where it is used.

        A binding for the case that Chronicle isn't installed doesn't count.
        """
        scope = self._scopes.get(name)
        label = text if text is not None else name.value if isinstance(name, cst.Name) else ""
        if scope is None or not label:
            return []
        bindings: list[BaseAssignment] = [
            each
            for each in scope[label]
            if isinstance(each, Assignment) and not self._is_fallback(each.node, label)
        ]
        bindings.sort(key=lambda each: self.line(each.node) if isinstance(each, Assignment) else 0)
        return bindings

    @cached_property
    def has_lazy_annotations(self) -> bool:
        """Whether annotations are not evaluated, by `from __future__ import annotations`."""
        return any(
            isinstance(small, cst.ImportFrom)
            and isinstance(small.module, cst.Name)
            and small.module.value == "__future__"
            and not isinstance(small.names, cst.ImportStar)
            and any(alias.name.value == "annotations" for alias in small.names)
            for line in self.tree.body
            if isinstance(line, cst.SimpleStatementLine)
            for small in line.body
        )

    @cached_property
    def from_imports(self) -> list[cst.ImportFrom]:
        """All `from` imports."""
        return [node for node in self._parents if isinstance(node, cst.ImportFrom)]

    @cached_property
    def attributes(self) -> list[cst.Attribute]:
        """All places that name an attribute, without those in imports."""
        return [
            node
            for node in self._parents
            if isinstance(node, cst.Attribute)
            and not any(isinstance(each, cst.Import | cst.ImportFrom) for each in self.ancestors(node))
        ]

    @cached_property
    def stars(self) -> list[cst.ImportFrom]:
        """The imports of all names of a module of Chronicle's."""
        return [node for node in self._star_imports if module_of(node).partition(".")[0] == PACKAGE]

    @cached_property
    def _star_imports(self) -> list[cst.ImportFrom]:
        return [node for node in self.from_imports if isinstance(node.names, cst.ImportStar)]

    @cached_property
    def accesses(self) -> list[Access]:
        """Every use of a name, in order of the source."""
        scopes: dict[int, Scope] = {id(scope): scope for scope in self._scopes.values() if scope is not None}
        unique = {id(access): access for scope in scopes.values() for access in scope.accesses}
        return sorted(unique.values(), key=lambda access: self._position(access.node))

    def _position(self, node: cst.CSTNode) -> tuple[int, int]:
        start = self._positions[node].start
        return start.line, start.column

    def uses(self) -> list[ApiUse]:
        """Return every use of a name of Chronicle, without those in its own imports."""
        uses = []
        for access in self.accesses:
            root = root_of(access.node)
            for label in _labels(root):
                bindings = self.bindings(root, label)
                base, alias = self._imported(label, bindings)
                if base is None:
                    continue
                node, suffix = self.whole_name(root)
                is_lazy = access.is_annotation and (
                    self.has_lazy_annotations or isinstance(root, cst.SimpleString)
                )
                is_certain = len(bindings) == 1 or all(
                    isinstance(each, ImportAssignment) and self._source_of(each)[0] == base
                    for each in bindings
                )
                if not bindings:
                    is_certain = len(self._star_imports) == 1
                uses.append(ApiUse(node, ".".join((base, *suffix)), alias, is_certain, is_lazy))
        return uses

    def _imported(
        self, label: str, bindings: list[BaseAssignment]
    ) -> tuple[str | None, cst.ImportAlias | None]:
        """Return the dotted name of Chronicle's that a name is bound to, and by which import; None for any other name."""
        for binding in bindings:
            if isinstance(binding, ImportAssignment):
                base, alias = self._source_of(binding)
                if base.partition(".")[0] == PACKAGE:
                    return base, alias
        if not bindings and label in STARRED and self.stars:
            return f"{module_of(self.stars[0])}.{label}", None
        return None, None

    def _source_of(self, binding: ImportAssignment) -> tuple[str, cst.ImportAlias | None]:
        """Return the dotted name that an import binds to a name, and its alias."""
        node = binding.node
        if isinstance(node, cst.Import):
            for alias in node.names:
                full = dotted_name(alias.name)
                if alias.asname is not None and dotted_name(alias.asname.name) == binding.name:
                    return full, alias
                if alias.asname is None and (full == binding.name or full.startswith(f"{binding.name}.")):
                    return binding.name, alias
        elif isinstance(node, cst.ImportFrom) and not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                if bound_name(alias) == binding.name:
                    return f"{module_of(node)}.{dotted_name(alias.name)}", alias
        return "", None

    def source_of(self, binding: BaseAssignment) -> tuple[cst.ImportFrom | None, str]:
        """Return the `from` import that binds a name, and the name that it takes; (None, "") for any other binding."""
        if not isinstance(binding, ImportAssignment) or not isinstance(binding.node, cst.ImportFrom):
            return None, ""
        alias = self._source_of(binding)[1]
        return (None, "") if alias is None else (binding.node, dotted_name(alias.name))

    def whole_name(self, root: cst.CSTNode) -> tuple[cst.BaseExpression, tuple[str, ...]]:
        """Return the whole dotted name that begins with a node, and its further parts."""
        node, parts = root, []
        while isinstance(parent := self.parent(node), cst.Attribute) and parent.value is node:
            node = parent
            parts.append(parent.attr.value)
        assert isinstance(node, cst.BaseExpression)  # noqa: S101 - an access is one
        return node, tuple(parts)

    # Imports of Chronicle

    def imports(self) -> Iterator[tuple[cst.Import | cst.ImportFrom, cst.ImportAlias]]:
        """Yield each import of Chronicle's names, with its statement."""
        for node in self._parents:
            if isinstance(node, cst.Import):
                for alias in node.names:
                    if dotted_name(alias.name).partition(".")[0] == PACKAGE:
                        yield node, alias
            elif (
                isinstance(node, cst.ImportFrom)
                and not isinstance(node.names, cst.ImportStar)
                and module_of(node).partition(".")[0] == PACKAGE
            ):
                for alias in node.names:
                    yield node, alias

    def is_for_types(self, node: cst.CSTNode) -> bool:
        """Return whether a node is under `if TYPE_CHECKING:`."""
        return any(
            isinstance(each, cst.If) and self.code(each.test).rpartition(".")[2] == "TYPE_CHECKING"
            for each in self.ancestors(node)
        )

    def guard_of(self, node: cst.CSTNode) -> cst.Try | None:
        """Return the `try` that only imports names of Chronicle, and binds the same names where it isn't installed."""
        guard = next((each for each in self.ancestors(node) if isinstance(each, cst.Try)), None)
        if guard is None or guard.orelse is not None or guard.finalbody is not None:
            return None
        names: set[str] = set()
        for small in _small_statements(guard.body):
            imported = {alias: where for where, alias in self._chronicle_imports if where is small}
            if not imported:
                return None
            names |= {bound_name(alias) for alias in imported}
        for handler in guard.handlers:
            kind = handler.type
            kinds = kind.elements if isinstance(kind, cst.Tuple) else () if kind is None else (kind,)
            texts = {self.code(each.value if isinstance(each, cst.Element) else each) for each in kinds}
            if not texts <= _IMPORT_ERRORS or not _bound_in(handler.body) <= names:
                return None
        return guard if names else None

    @cached_property
    def _chronicle_imports(self) -> list[tuple[cst.Import | cst.ImportFrom, cst.ImportAlias]]:
        return list(self.imports())

    def _is_fallback(self, node: cst.CSTNode, label: str) -> bool:
        """Return whether a binding stands in a handler of a `try` that imports this name from Chronicle."""
        return self._chronicle_imports != [] and any(
            isinstance(each, cst.ExceptHandler) and self._guarded_names(each) >= {label}
            for each in self.ancestors(node)
        )

    def _guarded_names(self, handler: cst.ExceptHandler) -> set[str]:
        guard = self.parent(handler)
        if guard is None:
            return set()
        inside = [alias for where, alias in self._chronicle_imports if guard in self.ancestors(where)]
        if not inside or self.guard_of(inside[0]) is not guard:
            return set()
        return {bound_name(alias) for alias in inside}


def parsed(source: PythonFile) -> ast.Module:
    """Return the `ast` of a source.

    Raises:
        AdoptionError: it doesn't parse.
    """
    try:
        return ast.parse(source.data, source.path)
    except SyntaxError as error:
        raise _unparsed(source, error.lineno or 1, error.msg) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise _unparsed(source, 1, str(error)) from error


def _unparsed(source: PythonFile, line: int, reason: str) -> AdoptionError:
    return AdoptionError(f"{source.path}:{line}: the file does not parse: {reason}; nothing was changed")


def root_of(node: cst.CSTNode) -> cst.CSTNode:
    """Return the first part of a dotted name."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return node


def dotted_name(node: cst.CSTNode) -> str:
    """Return a dotted name as text; empty for any other node."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        base = dotted_name(node.value)
        return f"{base}.{node.attr.value}" if base else ""
    return ""


def bound_name(alias: cst.ImportAlias) -> str:
    """Return the name that an import binds."""
    if alias.asname is not None:
        return dotted_name(alias.asname.name)
    return dotted_name(alias.name).partition(".")[0]


def module_of(node: cst.ImportFrom) -> str:
    """Return the module that names are imported from; with leading dots where it is relative."""
    return "." * len(node.relative) + ("" if node.module is None else dotted_name(node.module))


def _labels(root: cst.CSTNode) -> list[str]:
    """Return the name that a node reads; for a quoted annotation all names in it."""
    if isinstance(root, cst.Name):
        return [root.value]
    if isinstance(root, cst.SimpleString):
        try:
            tree = ast.parse(str(root.evaluated_value), mode="eval")
        except (SyntaxError, ValueError):
            return []
        return [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return []


def _small_statements(body: cst.BaseSuite) -> list[cst.CSTNode]:
    """Return the statements of a block, each part of a line with semicolons apart."""
    statements: list[cst.CSTNode] = []
    for each in body.body:
        statements.extend(each.body if isinstance(each, cst.SimpleStatementLine) else [each])
    return statements


def _bound_in(body: cst.BaseSuite) -> set[str]:
    """Return the names that a block binds, and `*` where it does anything else."""
    names: set[str] = set()
    for each in _small_statements(body):
        match each:
            case cst.FunctionDef() | cst.ClassDef():
                names.add(each.name.value)
            case cst.Assign(targets=targets):
                names |= {dotted_name(target.target) or "*" for target in targets}
            case cst.Pass():
                pass
            case _:
                names.add("*")
    return names
