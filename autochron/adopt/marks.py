"""Read the marks of a module: which functions they name, what a rule has to say for each, and what can't be taken out."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import libcst as cst
from libcst.metadata import Assignment

from autochron.adopt.chronicle_api import FIELDS, KINDS, MARKS
from autochron.adopt.clients import pack_of
from autochron.adopt.edits import comments_in
from autochron.adopt.extractors import extraction
from autochron.adopt.graphs import GraphError, NodeFunction, graph_nodes, node_functions
from autochron.adopt.lookup import (
    Modules,
    constants_of,
    definition_of,
    function_tree,
    parameters_of,
)
from autochron.adopt.modules import ApiUse, Definition, Module, dotted_name, root_of
from autochron.adopt.reading import FunctionMark, LineNote, Reading, Refused, SdkMark
from autochron.adopt.symbols import InputNames, UnsayableError
from autochron.model import Kind

_NEUTRAL = frozenset(
    ["staticmethod", "classmethod", "abstractmethod", "override", "final", "wraps", "no_type_check"]
)
"""Decorators after which the function is still the one that is called."""

_ANYWHERE = (cst.Assign, cst.AnnAssign, cst.Return, cst.Arg, cst.DictElement, cst.Element, cst.Expr)
"""Nodes in which an expression needs no parentheses."""

_AT_TIMES: dict[type[Any], str] = {
    cst.If: "under `if`",
    cst.IfExp: "in one branch of an expression",
    cst.BooleanOperation: "in one branch of an expression",
    cst.Match: "under `match`",
    cst.Try: "under `try`",
    cst.For: "in a loop",
    cst.While: "in a loop",
    cst.BaseComp: "in a comprehension",
}
"""Where a mark holds at times only."""

_BOUNDARY = ("name", "kind", "extract_input", "extract_result", "extract_metadata")


def read_marks(module: Module, modules: Modules) -> Reading:
    """Read all marks of a module."""
    reading = Reading(module)
    uses = module.uses()
    reader = _MarkReader(reading, modules, uses)
    for use in uses:
        try:
            reader.read(use)
        except Refused as refused:
            line = module.line(use.node) if refused.line is None else refused.line
            reading.refusals.append(LineNote(line, refused.reason))
            reading.refused |= {module.statement(use.node), *refused.nodes}
    return reading


class _MarkReader:
    def __init__(self, reading: Reading, modules: Modules, uses: Sequence[ApiUse]) -> None:
        self._reading = reading
        self._module = reading.module
        self._modules = modules
        self._decorated: set[cst.CSTNode] = set()
        self._mark_nodes = {use.node for use in uses if use.name in MARKS}

    def read(self, use: ApiUse) -> None:
        """Read one use of a name of Chronicle."""
        module, node = self._module, use.node
        call = module.parent(node)
        if use.name in FIELDS and use.is_certain and not use.is_annotation and self._reads_data(use, call):
            return
        if use.is_annotation or use.name not in MARKS:
            self._reading.open_uses.append(use)
            return
        if not use.is_certain:
            raise Refused(f"`{module.code(node)}` may be bound by something else than Chronicle")
        if isinstance(call, cst.Decorator):
            raise Refused(f"`@{module.code(node)}` has no arguments, so it marks nothing")
        if not isinstance(call, cst.Call) or call.func is not node:
            raise Refused(
                f"`{module.code(node)}` is used as a value, so what it marks is not known from the source"
            )
        if use.name == "boundary":
            self._read_boundary(call)
        elif use.name == "wrap_llm":
            arguments = self._arguments(call, ("name", "dispatch", *_BOUNDARY[2:]))
            self._read_application(
                call, arguments, "dispatch", replace(self._facts(call, arguments), kind="model")
            )
        elif use.name == "wrap":
            self._read_wrap(call)
        elif use.name == "instrument":
            self._read_graph(call)
        else:
            self._read_nodes(call)

    # Arguments

    def _arguments(self, call: cst.Call, names: tuple[str, ...], positional: int = 2) -> dict[str, int]:
        """Return the numbers of a call's arguments by the names of its parameters."""
        numbers: dict[str, int] = {}
        for number, argument in enumerate(call.args):
            if argument.star:
                raise Refused(f"`{self._module.code(argument)}` hides the arguments of the mark")
            name = argument.keyword.value if argument.keyword is not None else ""
            if not name and number < positional:
                name = names[number]
            if name not in names:
                raise Refused(
                    f"the mark has an argument that Chronicle 0.5 does not know: `{self._module.code(argument)}`"
                )
            numbers[name] = number
        return numbers

    def _text(self, call: cst.Call, arguments: dict[str, int], name: str, default: str | None) -> str:
        """Return the text of an argument."""
        if name not in arguments:
            if default is None:
                raise Refused(f"the mark has no `{name}`")
            return default
        node = call.args[arguments[name]].value
        text = self._modules.text(self._module, node)
        if text is None:
            raise Refused(f"`{name}` is `{self._module.code(node)}`, whose text is not known from the source")
        return text

    def _facts(self, call: cst.Call, arguments: dict[str, int]) -> FunctionMark:
        """Return what a mark says, without the function that it marks."""
        name = self._text(call, arguments, "name", None)
        kind = self._text(call, arguments, "kind", "custom")
        if any(character in "{}" for character in name) or not name.strip():
            raise Refused(f"a rule can't have the name {name!r}: braces are a template there")
        for hook in ("extract_result", "extract_metadata"):
            if hook in arguments and not self._is_none(call.args[arguments[hook]].value):
                what = (
                    "shapes what is recorded of the result"
                    if hook == "extract_result"
                    else "computes the metadata"
                )
                raise Refused(f"`{hook}` {what}, and no key of a rule can say that")
        line = self._module.line(call)
        if kind not in KINDS:
            self._note(line, f"the kind {kind!r} has no counterpart; `{name}` is of kind `tool`")
        return FunctionMark(Definition("", ""), name, KINDS.get(kind, "tool"), line)

    def _is_none(self, node: cst.BaseExpression) -> bool:
        return isinstance(node, cst.Name) and node.value == "None"

    def _note(self, line: int, text: str) -> None:
        self._reading.notes.append(LineNote(line, text))

    # `boundary`

    def _read_boundary(self, call: cst.Call) -> None:
        arguments = self._arguments(call, _BOUNDARY, positional=1)
        parent = self._module.parent(call)
        if isinstance(parent, cst.Decorator):
            self._read_decorator(parent, call, arguments)
        elif isinstance(parent, cst.Call) and parent.func is call:
            applied = self._arguments(parent, ("fn",), positional=1)
            if "fn" not in applied:
                raise Refused("the mark is called without a function")
            self._read_application(parent, applied, "fn", self._facts(call, arguments), (call, arguments))
        else:
            raise Refused("`boundary(...)` is kept as a value, so what it marks is not known from the source")

    def _read_decorator(self, decorator: cst.Decorator, call: cst.Call, arguments: dict[str, int]) -> None:
        function = self._module.parent(decorator)
        if not isinstance(function, cst.FunctionDef):
            raise Refused("the mark is on a class, and a rule names functions and methods; mark its methods")
        if function in self._decorated:
            raise Refused(f"`{function.name.value}` has two marks, and a function has one name in a trace")
        self._decorated.add(function)
        below = function.decorators[function.decorators.index(decorator) + 1 :]
        for other in below:
            if not self._is_neutral(other):
                shown = self._module.code(other).strip()
                raise Refused(
                    f"the mark is outside of `{shown}`, and a rule weaves the function inside of it; put it below"
                )
        mark = self._facts(call, arguments)
        mark = self._with_function(
            mark, self._module, function, self._module.qualname(function), call, arguments
        )
        self._reading.marks.append(mark)
        self._reading.edits.decorators.add(decorator)

    def _is_neutral(self, decorator: cst.Decorator) -> bool:
        """Return whether the function is still the one that is called. A second mark has a reason of its own."""
        node = decorator.decorator
        if isinstance(node, cst.Call) and node.func in self._mark_nodes:
            return True
        name = dotted_name(node.func if isinstance(node, cst.Call) else node).rpartition(".")[2]
        return name in _NEUTRAL

    def _with_function(
        self,
        mark: FunctionMark,
        where: Module,
        function: cst.FunctionDef | cst.Lambda,
        qualname: str,
        call: cst.Call,
        arguments: dict[str, int],
    ) -> FunctionMark:
        """Return a mark with its function, and with what its `extract_input` keeps."""
        mark = replace(mark, definition=definition_of(where, qualname))
        if "extract_input" not in arguments:
            return mark
        node = call.args[arguments["extract_input"]].value
        if self._is_none(node):
            return mark
        found = (
            (self._module, node, "")
            if isinstance(node, cst.Lambda)
            else self._modules.function(self._module, node)
        )
        tree = None if found is None else function_tree(found[0], found[1])
        if found is None or tree is None:
            shown = self._module.code(node)
            raise Refused(f"`extract_input` is `{shown}`, and what that keeps is not known from the source")
        try:
            kept = extraction(tree, parameters_of(function), _names_of(found[0]))
        except UnsayableError as error:
            place = (
                f"{found[0].source.path}:{error.line}"
                if found[0] is not self._module
                else f"line {error.line}"
            )
            shown = self._module.code(node) if not isinstance(node, cst.Lambda) else "the lambda"
            line = error.line if found[0] is self._module else None
            reason = f"`extract_input` can't be said as `capture`: {error.reason} ({shown}, {place})"
            raise Refused(reason, line, found[1]) from error
        statement = found[0].small_statement(found[1]) if isinstance(found[1], cst.Lambda) else found[1]
        if not isinstance(node, cst.Lambda) and isinstance(statement, cst.FunctionDef | cst.Assign):
            self._reading.extractors.append((found[0], statement))
        if kept.computed:
            fields = ", ".join(f"`{each}`" for each in kept.computed)
            self._note(
                mark.line,
                f"{fields} of `{mark.name}` is not recorded: the arguments and the source determine it",
            )
        return replace(mark, capture=kept.paths if set(kept.paths) != _all_inputs(function) else ())

    # Marks that are applied to a function

    def _read_application(
        self,
        call: cst.Call,
        arguments: dict[str, int],
        parameter: str,
        mark: FunctionMark,
        options: tuple[cst.Call, dict[str, int]] | None = None,
    ) -> None:
        """Read `boundary(...)(function)` or `wrap_llm(name, function)`."""
        module = self._module
        if parameter not in arguments:
            raise Refused(f"the mark has no `{parameter}`")
        number = arguments[parameter]
        node = call.args[number].value
        statement = self._module.small_statement(call)
        found = self._modules.function(module, node, but=module.statement(call))
        if isinstance(node, cst.Lambda):
            found = self._named_lambda(call, node, statement)
        if found is None:
            raise Refused(
                f"it marks `{module.code(node)}`, which is no function that the source of this project defines"
            )
        self._refuse_conditions(call, statement)
        rebinds = self._rebinds(statement, call, node)
        if not rebinds and not isinstance(node, cst.Lambda):
            self._refuse_other_uses(node, call)
        if found[0] is not module:
            self._note(
                mark.line, f"`{mark.name}` crosses wherever `{found[2]}` is called, in other modules, too"
            )
        if any(not self._is_neutral(each) for each in getattr(found[1], "decorators", ())):
            raise Refused(
                f"it marks `{module.code(node)}` outside of its decorators, and a rule weaves the function inside"
            )
        options = options or (call, arguments)
        mark = self._with_function(mark, *found, *options)
        self._reading.marks.append(mark)
        self._take_out(call, number, statement, rebinds=rebinds)

    def _take_out(self, call: cst.Call, number: int, statement: cst.CSTNode | None, *, rebinds: bool) -> None:
        """Replace a call by one of its arguments, or take its whole statement out."""
        edits = self._reading.edits
        edits.unwrapped[call] = number
        if isinstance(self._module.parent(call), _ANYWHERE):
            edits.bare.add(call)
        kept = call.args[number].value
        alone = isinstance(statement, cst.Expr) and statement.value is call
        if statement is not None and (rebinds or (alone and isinstance(kept, cst.Name | cst.Attribute))):
            edits.statements.add(statement)
            return
        comments = comments_in(call, without=kept)
        if comments:
            edits.comments.setdefault(self._module.statement(call), []).extend(comments)

    def _rebinds(self, statement: cst.CSTNode | None, call: cst.Call, node: cst.BaseExpression) -> bool:
        """Return whether a statement gives a function to the name that it has already."""
        return (
            isinstance(statement, cst.Assign)
            and statement.value is call
            and len(statement.targets) == 1
            and dotted_name(statement.targets[0].target) == dotted_name(node) != ""
        )

    def _named_lambda(
        self, call: cst.Call, node: cst.Lambda, statement: cst.CSTNode | None
    ) -> tuple[Module, cst.Lambda, str] | None:
        """Return a lambda with the name that it gets; None where it gets none."""
        if isinstance(statement, cst.Assign) and statement.value is call and len(statement.targets) == 1:
            target = statement.targets[0].target
            if isinstance(target, cst.Name):
                return self._module, node, ".".join((*self._module.prefix(call), target.value))
        return None

    def _refuse_conditions(self, call: cst.Call, statement: cst.CSTNode | None) -> None:
        """Refuse a mark that holds at times only: under a condition, in a loop, or once a function has run."""
        module = self._module
        for ancestor in module.ancestors(call):
            if isinstance(ancestor, cst.FunctionDef | cst.Lambda | cst.ClassDef):
                break
            is_main = isinstance(ancestor, cst.If) and "__name__" in module.code(ancestor.test)
            words = next((words for kind, words in _AT_TIMES.items() if isinstance(ancestor, kind)), "")
            if words and not is_main:
                raise Refused(f"it marks {words}, and a rule holds always")
        if isinstance(statement, cst.Assign):
            for target in statement.targets:
                root = root_of(target.target)
                if not isinstance(root, cst.Name) or root.value in {"self", "cls"}:
                    continue
                is_outer = isinstance(target.target, cst.Attribute) or any(
                    isinstance(each, Assignment) and type(each.scope).__name__ == "GlobalScope"
                    for each in module.bindings(root)
                )
                function = next(
                    (each for each in module.ancestors(call) if isinstance(each, cst.FunctionDef)), None
                )
                if function is not None and is_outer:
                    raise Refused(
                        f"it marks only once `{function.name.value}` has run, and a rule holds always"
                    )

    def _refuse_other_uses(self, node: cst.BaseExpression, call: cst.Call) -> None:
        """Refuse a function that is used without the mark as well, since a rule holds wherever it is called."""
        module = self._module
        name = dotted_name(node)
        bindings = {id(each) for each in module.bindings(root_of(node))}
        for access in module.accesses:
            root = root_of(access.node)
            whole = module.whole_name(root)[0]
            if not isinstance(root, cst.Name) or call in module.ancestors(root):
                continue
            is_method = isinstance(node, cst.Attribute) and root.value in {"self", "cls"}
            if f"{dotted_name(whole)}.".startswith(f"{name}.") and (
                is_method or bindings & {id(each) for each in module.bindings(root)}
            ):
                line = module.line(root)
                raise Refused(
                    f"`{name}` is used without the mark in line {line}, and a rule holds wherever it is called"
                )

    # Clients and graphs

    def _read_wrap(self, call: cst.Call) -> None:
        arguments = self._arguments(call, ("client", "name"), positional=1)
        if "client" not in arguments:
            raise Refused("the mark has no client")
        node = call.args[arguments["client"]].value
        statement = self._module.small_statement(call)
        pack = pack_of(self._module, self._modules, node, statement)
        if pack is None:
            raise Refused(
                f"what client `{self._module.code(node)}` is can't be told from the source; a client that is made by "
                "`OpenAI(...)` or `Anthropic(...)` in this file can be"
            )
        name = self._text(call, arguments, "name", "llm")
        self._reading.sdks.append(SdkMark(pack, name, self._module.line(call)))
        self._take_out(call, arguments["client"], statement, rebinds=self._rebinds(statement, call, node))

    def _read_graph(self, call: cst.Call) -> None:
        arguments = self._arguments(call, ("graph", "kind"), positional=1)
        if "graph" not in arguments:
            raise Refused("the mark has no graph")
        kind = KINDS.get(self._text(call, arguments, "kind", "custom"), "tool")
        node = call.args[arguments["graph"]].value
        self._read_functions(call, kind, lambda: graph_nodes(self._module, self._modules, node, call))
        statement = self._module.small_statement(call)
        self._take_out(call, arguments["graph"], statement, rebinds=self._rebinds(statement, call, node))

    def _read_nodes(self, call: cst.Call) -> None:
        arguments = self._arguments(call, ("nodes", "kind"), positional=1)
        if "nodes" not in arguments:
            raise Refused("the mark has no nodes")
        kind = KINDS.get(self._text(call, arguments, "kind", "custom"), "tool")
        node = call.args[arguments["nodes"]].value
        self._read_functions(call, kind, lambda: node_functions(self._module, self._modules, node))
        statement = self._module.small_statement(call)
        self._take_out(call, arguments["nodes"], statement, rebinds=self._rebinds(statement, call, node))

    def _read_functions(self, call: cst.Call, kind: Kind, find: Callable[[], list[NodeFunction]]) -> None:
        line = self._module.line(call)
        try:
            found = find()
        except GraphError as error:
            raise Refused(error.reason, error.line) from error
        for node in found:
            definition = definition_of(node.module, node.qualname)
            self._reading.marks.append(
                FunctionMark(definition, node.name, "router" if node.is_router else kind, line)
            )

    # Data classes

    def _reads_data(self, use: ApiUse, call: cst.CSTNode | None) -> bool:
        """Turn `ToolCall(...).model_dump()` into a dictionary; return whether that can be."""
        if not isinstance(call, cst.Call) or call.func is not use.node:
            return False
        fields = tuple(each.keyword.value if each.keyword is not None else "" for each in call.args)
        dump = self._dump_of(call)
        if fields != FIELDS[use.name] or dump is None or self._module.bindings(call.func, "dict"):
            return False
        self._reading.edits.dictionaries.add(call)
        self._reading.edits.dumps.add(dump)
        return True

    def _dump_of(self, node: cst.CSTNode) -> cst.Call | None:
        """Return the call of `model_dump` that is the only use of an object; None where there is another one."""
        module = self._module
        attribute = module.parent(node)
        if isinstance(attribute, cst.Attribute):
            call = module.parent(attribute)
            if isinstance(call, cst.Call) and call.func is attribute and not call.args:
                return call if attribute.attr.value == "model_dump" else None
            return None
        if not isinstance(attribute, cst.Assign) or len(attribute.targets) != 1:
            return None
        target = attribute.targets[0].target
        if not isinstance(target, cst.Name) or len(module.bindings(target)) != 1:
            return None
        own = module.bindings(target)[0]
        uses = [
            root_of(access.node)
            for access in module.accesses
            if isinstance(name := root_of(access.node), cst.Name)
            and name.value == target.value
            and any(each is own for each in module.bindings(name))
        ]
        return self._dump_of(uses[0]) if len(uses) == 1 and uses[0] is not target else None


def _all_inputs(function: cst.FunctionDef | cst.Lambda) -> set[str]:
    """Return the parameters that a rule without `capture` records."""
    names = [parameter.name for parameter in parameters_of(function)]
    return {name for number, name in enumerate(names) if number or name not in {"self", "cls"}}


def _names_of(module: Module) -> InputNames:
    """Return what names mean in an extractor's module."""
    uses = module.uses()
    inputs = frozenset(module.code(use.node) for use in uses if use.name == "Input")
    records = frozenset(module.code(use.node) for use in uses if use.name in FIELDS)
    tree = ast.parse(module.source.data)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    return InputNames(inputs, dict(constants_of(module)), functions, records)
