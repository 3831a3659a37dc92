"""Find what expressions of a module mean: texts, functions of the project, classes of libraries."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import libcst as cst
from libcst.metadata import Assignment, BaseAssignment, ImportAssignment

from autochron._runtime.unpatched import os
from autochron.adopt.modules import Definition, Module, bound_name, dotted_name, module_of, root_of
from autochron.adopt.sources import read
from autochron.adopt.symbols import UNKNOWN, Parameter
from autochron.errors import AdoptionError


class Modules:
    """The project's modules, parsed when they are first asked for."""

    def __init__(self, root: str) -> None:
        """Look modules up below a folder, and below the folders of those that import them."""
        self._root = os.path.realpath(root)
        self._modules: dict[str, Module | None] = {}

    def load(self, path: str) -> Module:
        """Return the module of a file.

        Raises:
            AdoptionError: the file can't be read, or doesn't parse.
        """
        real = os.path.realpath(path)
        module = self._modules.get(real)
        if module is None:
            module = self._modules[real] = Module(read(path))
        return module

    def imported(self, module: Module, name: str) -> Module | None:
        """Return the module of the project that an import of another one names; None where there is none.

        Args:
            module: the module with the import.
            name: the imported module; leading dots make it relative.
        """
        folder = os.path.dirname(module.source.real)
        bare = name.lstrip(".")
        parts = bare.split(".") if bare else []
        tops = [folder]
        if bare == name:
            while os.path.commonpath((folder, self._root)) == self._root and folder != self._root:
                folder = os.path.dirname(folder)
                tops.append(folder)
        else:
            for _ in range(len(name) - len(bare) - 1):
                tops = [os.path.dirname(tops[0])]
        for top in tops:
            base = os.path.join(top, *parts)
            for path in (f"{base}.py", os.path.join(base, "__init__.py")):
                if os.path.isfile(path):
                    return self._quietly(path)
        return None

    def _quietly(self, path: str) -> Module | None:
        """Return the module of a file; None where it can't be read."""
        real = os.path.realpath(path)
        if real not in self._modules:
            try:
                self._modules[real] = Module(read(path))
            except AdoptionError:
                self._modules[real] = None
        return self._modules[real]

    # What an expression means

    def text(self, module: Module, node: cst.CSTNode | None) -> str | None:
        """Return the text that an expression always has; None where the source doesn't tell."""
        if isinstance(node, cst.SimpleString | cst.ConcatenatedString):
            value = node.evaluated_value
            return value if isinstance(value, str) else None
        if isinstance(node, cst.Name):
            owner, bindings = self._origin(module, node)
            if len(bindings) == 1 and isinstance(binding := bindings[0], Assignment):
                value_node = assigned_value(owner, binding)
                if isinstance(value_node, cst.SimpleString | cst.ConcatenatedString):
                    return self.text(owner, value_node)
        return None

    def function(
        self, module: Module, node: cst.CSTNode, *, but: cst.CSTNode | None = None
    ) -> tuple[Module, cst.FunctionDef | cst.Lambda, str] | None:
        """Return the function that an expression names: its module, its node and its qualified name.

        Args:
            module: the module of the expression.
            node: the expression.
            but: a statement whose bindings don't count, because it rebinds the name.
        """
        if isinstance(node, cst.Attribute):
            return self._member(module, node)
        if not isinstance(node, cst.Name):
            return None
        owner, bindings = self._origin(module, node)
        bindings = [
            each
            for each in bindings
            if not isinstance(each, Assignment) or but is None or owner.statement(each.node) is not but
        ]
        if len(bindings) != 1 or not isinstance(binding := bindings[0], Assignment):
            return None
        definition = binding.node
        if isinstance(definition, cst.FunctionDef):
            return owner, definition, owner.qualname(definition)
        value = assigned_value(owner, binding)
        if isinstance(value, cst.Lambda):
            return owner, value, ".".join((*owner.prefix(binding.node), binding.name))
        return None

    def _origin(self, module: Module, node: cst.Name) -> tuple[Module, list[BaseAssignment]]:
        """Return the module where a name is bound, behind `from` imports of the project, and its bindings there."""
        bindings = module.bindings(node)
        for _ in range(8):
            if len(bindings) != 1 or not isinstance(bindings[0], ImportAssignment):
                break
            statement, name = module.source_of(bindings[0])
            owner = None if statement is None else self.imported(module, module_of(statement))
            if owner is None:
                break
            module, bindings = owner, owner.bindings(owner.tree, name)
        return module, bindings

    def _member(
        self, module: Module, node: cst.Attribute
    ) -> tuple[Module, cst.FunctionDef | cst.Lambda, str] | None:
        """Return the function that `module.name`, `Class.name` or `self.name` is."""
        name = node.attr.value
        if isinstance(node.value, cst.Name) and node.value.value in {"self", "cls"}:
            owner = next((each for each in module.ancestors(node) if isinstance(each, cst.ClassDef)), None)
            return None if owner is None else _method(module, owner, name)
        if isinstance(node.value, cst.Name):
            where, bindings = self._origin(module, node.value)
            owner_node = _only_node(bindings)
            if isinstance(owner_node, cst.ClassDef):
                return _method(where, owner_node, name)
        other = self.module_named(module, node.value)
        if other is None:
            return None
        definition = _only_node(other.bindings(other.tree, name))
        if isinstance(definition, cst.FunctionDef):
            return other, definition, other.qualname(definition)
        return None

    def module_named(self, module: Module, node: cst.CSTNode) -> Module | None:
        """Return the module of the project that an expression such as `tools` or `shop.tools` is."""
        dotted = self.library_name(module, node)
        return self.imported(module, dotted) if dotted else None

    def library_name(self, module: Module, node: cst.CSTNode) -> str:
        """Return the dotted name that an expression has by imports; empty where it has none."""
        written = dotted_name(node)
        root = root_of(node)
        if not written or not isinstance(root, cst.Name):
            return ""
        bindings = module.bindings(root)
        if not bindings or not all(isinstance(each, ImportAssignment) for each in bindings):
            return ""
        rest = written.split(".")[1:]
        bases = {base for each in bindings if (base := _import_base(each))}
        return ".".join((bases.pop(), *rest)) if len(bases) == 1 else ""


def _only_node(bindings: Sequence[BaseAssignment]) -> cst.CSTNode | None:
    """Return the node that binds a name, if only one does."""
    if len(bindings) == 1 and isinstance(binding := bindings[0], Assignment):
        return binding.node
    return None


def _import_base(binding: BaseAssignment) -> str:
    """Return the dotted name that an import binds to a name."""
    node = getattr(binding, "node", None)
    if isinstance(node, cst.Import):
        for alias in node.names:
            if bound_name(alias) == binding.name.partition(".")[0]:
                return dotted_name(alias.name) if alias.asname is not None else bound_name(alias)
    if isinstance(node, cst.ImportFrom) and not isinstance(node.names, cst.ImportStar):
        for alias in node.names:
            if bound_name(alias) == binding.name:
                base = module_of(node)
                return f"{base}{'' if base.endswith('.') else '.'}{dotted_name(alias.name)}"
    return ""


def _method(
    module: Module, owner: cst.ClassDef, name: str
) -> tuple[Module, cst.FunctionDef | cst.Lambda, str] | None:
    found = [
        each for each in owner.body.body if isinstance(each, cst.FunctionDef) and each.name.value == name
    ]
    return (module, found[0], module.qualname(found[0])) if len(found) == 1 else None


def assigned_value(module: Module, binding: Assignment) -> cst.BaseExpression | None:
    """Return the value that an assignment of one name gives it; None for any other binding."""
    target = module.parent(binding.node)
    if isinstance(target, cst.AssignTarget):
        statement = module.parent(target)
        if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
            return statement.value
    if isinstance(target, cst.AnnAssign):
        return target.value
    return None


def definition_of(module: Module, qualname: str) -> Definition:
    """Return a function as a value."""
    return Definition(module.source.real, qualname, os.path.abspath(module.source.path))


def parameters_of(function: cst.FunctionDef | cst.Lambda) -> list[Parameter]:
    """Return the parameters of a function."""
    params = function.params
    parameters = [
        Parameter(each.name.value, kind, annotation_of(each), each.default is not None)
        for kind, group in (
            ("positional", params.posonly_params),
            ("either", params.params),
            ("keyword", params.kwonly_params),
        )
        for each in group
    ]
    if isinstance(params.star_arg, cst.Param):
        parameters.append(Parameter(params.star_arg.name.value, "*"))
    if params.star_kwarg is not None:
        parameters.append(Parameter(params.star_kwarg.name.value, "**"))
    return parameters


def annotation_of(parameter: cst.Param) -> str:
    """Return the outermost type of a parameter's annotation: `dict` for `dict[str, Any]`; empty where there is none."""
    if parameter.annotation is None:
        return ""
    node = parameter.annotation.annotation
    if isinstance(node, cst.SimpleString):
        text = str(node.evaluated_value).partition("[")[0].strip()
        return text.rpartition(".")[2] if text.replace(".", "").isidentifier() else ""
    if isinstance(node, cst.Subscript):
        node = node.value
    return dotted_name(node).rpartition(".")[2]


def function_tree(
    module: Module, function: cst.FunctionDef | cst.Lambda
) -> ast.FunctionDef | ast.Lambda | None:
    """Return the `ast` of a function, with the lines of its file; None for a coroutine."""
    line = module.line(function)
    if isinstance(function, cst.FunctionDef):
        return next(
            (
                node
                for node in ast.walk(ast.parse(module.source.data))
                if isinstance(node, ast.FunctionDef)
                and node.name == function.name.value
                # libcst counts from the first decorator, and ast from `def`.
                and line <= node.lineno <= line + len(function.decorators) * 50
            ),
            None,
        )
    wanted = ast.dump(ast.parse(f"({module.code(function)})", mode="eval").body)
    return next(
        (
            node
            for node in ast.walk(ast.parse(module.source.data))
            if isinstance(node, ast.Lambda) and node.lineno == line and ast.dump(node) == wanted
        ),
        None,
    )


def constants_of(module: Module) -> Iterator[tuple[str, object]]:
    """Yield the names that a module binds once, at its top and nowhere else, and their values.

    The value is that of a literal, else `symbols.UNKNOWN`.
    """
    tree = ast.parse(module.source.data)
    counts: dict[str, int] = {}
    for node in ast.walk(tree):
        for name in _bound_names(node):
            counts[name] = counts.get(name, 0) + 1
    values: dict[str, object] = {}
    for statement in tree.body:
        match statement:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, ast.expr() as value):
                values[name] = _literal(value, UNKNOWN)
            case ast.ImportFrom(_, aliases) | ast.Import(aliases):
                values |= {(alias.asname or alias.name).partition(".")[0]: UNKNOWN for alias in aliases}
    yield from ((name, value) for name, value in values.items() if counts.get(name) == 1)


def _literal(value: ast.expr, default: object) -> object:
    try:
        literal = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return default
    return literal if isinstance(literal, str | int | float | bool | bytes | None) else default


def _bound_names(node: ast.AST) -> Sequence[str]:
    match node:
        case ast.Name(name, ast.Store() | ast.Del()):
            return (name,)
        case ast.Global(names) | ast.Nonlocal(names):
            return [*names, *names]  # so that it counts as bound more than once
        case ast.Import(aliases) | ast.ImportFrom(_, aliases):
            return [(alias.asname or alias.name).partition(".")[0] for alias in aliases]
        case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
            return (name,)
    return ()
