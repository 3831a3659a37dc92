"""Decide about what is left of Chronicle once the marks are out: extractors, imports, annotations, and its own API."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from autochron._runtime.unpatched import os
from autochron.adopt.chronicle_api import PACKAGE, reason_to_keep
from autochron.adopt.modules import Module, bound_name, dotted_name, root_of
from autochron.adopt.reading import LineNote, Reading
from autochron.adopt.sources import read_bytes
from autochron.project import python_files

NEWLINE = b"\n"


def refuse_unwrapping(readings: Sequence[Reading]) -> None:
    """Refuse `function.__wrapped__` of a marked function, which it doesn't have without the mark."""
    marked = {mark.definition.qualname.rpartition(".")[2] for reading in readings for mark in reading.marks}
    for reading in readings:
        for node in reading.module.attributes:
            if node.attr.value == "__wrapped__" and dotted_name(node.value).rpartition(".")[2] in marked:
                line = reading.module.line(node)
                text = (
                    f"`{reading.module.code(node)}` does not exist without the mark; call the function itself"
                )
                reading.refusals.append(LineNote(line, text))


# --- functions that only marks use ------------------------------------------------------------------------------------


def removable_extractors(
    readings: Sequence[Reading], root: str, notes: list[str]
) -> Iterator[tuple[Module, cst.CSTNode]]:
    """Yield the statements of `extract_input` functions that nothing uses once the marks are out.

    Their imports are taken out. A function that something else uses is refused, since it builds an object of Chronicle's.
    """
    by_module = {id(reading.module): reading for reading in readings}
    known = {reading.module.source.real for reading in readings}
    statements = {id(node): (module, node) for each in readings for module, node in each.extractors}
    for module, statement in statements.values():
        name = _name_of(statement)
        for reading in readings:
            for alias in _imports_of(reading.module, name):
                uses = _accesses(reading.module, bound_name(alias))
                if uses and all(_is_out(reading, node) for node in uses):
                    reading.edits.aliases.add(alias)
        own = by_module.get(id(module))
        if own is None:
            place = f"{module.source.path}:{module.line(statement)}"
            notes.append(f"{place}: `{name}` is left as it is; name this file, too, if only marks use it")
            continue
        other = _use_elsewhere(readings, own, statement) or _other_file_with(name, root, known)
        if other is None:
            yield module, statement
            continue
        own.refused.add(statement)
        reason = f"`{name}` builds an `Input` for the marks, and {other} mentions it as well"
        own.refusals.append(LineNote(module.line(statement), reason))


def _name_of(statement: cst.CSTNode) -> str:
    """Return the name that a definition or an assignment binds."""
    if isinstance(statement, cst.FunctionDef):
        return statement.name.value
    return dotted_name(cst.ensure_type(statement, cst.Assign).targets[0].target)


def _use_elsewhere(readings: Sequence[Reading], own: Reading, statement: cst.CSTNode) -> str | None:
    """Return `file:line` of a use of an extractor that stays, in the modules that were read; None where there is none."""
    name = _name_of(statement)
    for reading in readings:
        module = reading.module
        nodes: list[cst.CSTNode] = [node for node in module.attributes if node.attr.value == name]
        labels = {name} if reading is own else {bound_name(alias) for alias in _imports_of(module, name)}
        nodes += [node for label in labels for node in _accesses(module, label)]
        for node in nodes:
            is_inside = reading is own and any(each is statement for each in module.ancestors(node))
            if not is_inside and not _is_out(reading, node):
                return f"{module.source.path}:{module.line(node)}"
    return None


def _imports_of(module: Module, name: str) -> Iterator[cst.ImportAlias]:
    """Yield the `from` imports of a name."""
    for statement in module.from_imports:
        for alias in statement.names if not isinstance(statement.names, cst.ImportStar) else ():
            if dotted_name(alias.name) == name:
                yield alias


def _accesses(module: Module, name: str) -> list[cst.CSTNode]:
    """Return the places that read a name."""
    return [
        root
        for access in module.accesses
        if isinstance(root := root_of(access.node), cst.Name) and root.value == name
    ]


def _other_file_with(name: str, root: str, known: set[str]) -> str | None:
    """Return `file:line` of a file of the project that mentions a name, other than the known files."""
    word = re.compile(rf"\b{re.escape(name)}\b".encode())
    for path in python_files((root,)):
        if os.path.realpath(path) in known:
            continue
        data = read_bytes(path)
        found = word.search(data)
        if found is not None:
            return _place(path, root, data, found.start())
    return None


def _is_out(reading: Reading, node: cst.CSTNode) -> bool:
    """Return whether a node is in a part that is taken out."""
    edits, child = reading.edits, node
    for ancestor in reading.module.ancestors(node):
        if ancestor in edits.statements or ancestor in edits.decorators:
            return True
        number = edits.unwrapped.get(ancestor) if isinstance(ancestor, cst.Call) else None
        if number is not None and child is not cst.ensure_type(ancestor, cst.Call).args[number]:
            return True
        if isinstance(ancestor, cst.Call) and ancestor in edits.dictionaries and child is ancestor.func:
            return True
        child = ancestor
    return isinstance(node, cst.Name | cst.Attribute) and any(
        call.func is node for call in (*edits.unwrapped, *edits.dictionaries)
    )


# --- what is left of Chronicle ----------------------------------------------------------------------------------------


def close(reading: Reading, root: str) -> None:
    """Decide about the uses that are no marks, and about the imports."""
    module, edits = reading.module, reading.edits
    for_types: set[str] = set()
    for use in reading.open_uses:
        bound = bound_name(use.alias) if use.alias is not None else use.dotted.rpartition(".")[2]
        if _is_out(reading, use.node) or (use.alias is not None and module.is_for_types(use.alias)):
            continue
        if use.is_annotation:
            for_types.add(bound)
        elif not _is_in_refused(reading, use.node):
            reading.refusals.append(LineNote(module.line(use.node), reason_to_keep(use.name, use.dotted)))
    for text, node in _dynamic_imports(module):
        reading.refusals.append(
            LineNote(module.line(node), f"{text} names Chronicle in a text; take it out by hand")
        )
    exported = _exported(module)
    for statement, alias in module.imports():
        _close_import(reading, statement, alias, for_types, exported, root)
    for star in module.stars:
        names = for_types & {use.dotted.rpartition(".")[2] for use in reading.open_uses if use.alias is None}
        if names:
            reading.refusals.append(
                LineNote(
                    module.line(star), f"annotations use {min(names)} of `import *`; import it by its name"
                )
            )
        edits.statements.add(star)


def _is_in_refused(reading: Reading, node: cst.CSTNode) -> bool:
    """Return whether a node is in an extractor or a mark that is refused already, with a reason of its own."""
    return any(each in reading.refused for each in reading.module.ancestors(node))


def _close_import(
    reading: Reading,
    statement: cst.Import | cst.ImportFrom,
    alias: cst.ImportAlias,
    for_types: set[str],
    exported: set[str],
    root: str,
) -> None:
    """Take an imported name out, or move it under `if TYPE_CHECKING:`, or refuse it."""
    module, edits = reading.module, reading.edits
    name = bound_name(alias)
    uses = _accesses(module, name)
    if module.is_for_types(statement):
        if uses and all(_is_out(reading, node) for node in uses):
            edits.aliases.add(alias)
        return
    line = module.line(statement)
    if name in exported:
        reading.refusals.append(
            LineNote(line, f"`__all__` offers `{name}` to other modules; take it out there first")
        )
        return
    if not uses and (place := _importer_of(module, name, root)) is not None:
        reading.refusals.append(
            LineNote(line, f"{place} imports `{name}` from here; import it from Chronicle there")
        )
        return
    guard = module.guard_of(statement)
    if guard is not None:
        if name in for_types:
            reading.refusals.append(
                LineNote(line, f"annotations use `{name}`, which a `try` imports; import it for types only")
            )
        edits.statements.add(guard)
    elif any(isinstance(each, cst.Try | cst.If) for each in module.ancestors(statement)):
        reading.refusals.append(
            LineNote(line, f"`{name}` is imported under a condition, so what it is depends on the run")
        )
    elif name in for_types:
        edits.for_types.add(alias)
    else:
        edits.aliases.add(alias)


def _dynamic_imports(module: Module) -> Iterator[tuple[str, cst.CSTNode]]:
    """Yield the calls that import Chronicle, or patch it, by a text."""
    for access in module.accesses:
        node = root_of(access.node)
        call = module.parent(node)
        while isinstance(call, cst.Attribute):
            node, call = call, module.parent(call)
        if not isinstance(call, cst.Call) or call.func is not node or not call.args:
            continue
        first = call.args[0].value
        text = first.evaluated_value if isinstance(first, cst.SimpleString) else None
        shown = module.code(call.func)
        is_import = shown.rpartition(".")[2] in {
            "import_module",
            "__import__",
            "importorskip",
            "patch",
            "find_spec",
        }
        if is_import and isinstance(text, str) and text.partition(".")[0] == PACKAGE:
            yield f"`{shown}({text!r})`", call


def _exported(module: Module) -> set[str]:
    """Return the texts of the module's `__all__`."""
    names: set[str] = set()
    for line in module.tree.body:
        for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            targets = small.targets if isinstance(small, cst.Assign) else ()
            if any(module.code(each.target) == "__all__" for each in targets):
                names |= set(re.findall(r"[\"'](\w+)[\"']", module.code(small)))
    return names


def _importer_of(module: Module, name: str, root: str) -> str | None:
    """Return `file:line` of a file of the project that imports a name from a module; None where there is none."""
    stem = os.path.splitext(os.path.basename(module.source.real))[0]
    if stem == "__init__":
        stem = os.path.basename(os.path.dirname(module.source.real))
    pattern = re.compile(
        rf"^[ \t]*from[ \t]+(?:[\w.]*\b{re.escape(stem)}|\.+)[ \t]+import\b"
        rf"[^#\n]*(?:\(\s*[^)]*)?\b{re.escape(name)}\b".encode(),
        re.MULTILINE,
    )
    for path in python_files((root,)):
        data = read_bytes(path)
        found = pattern.search(data) if name.encode() in data else None
        if found is not None and os.path.realpath(path) != module.source.real:
            return _place(path, root, data, found.start())
    return None


def _place(path: str, root: str, data: bytes, position: int) -> str:
    return f"{os.path.relpath(path, root)}:{data.count(NEWLINE, 0, position) + 1}"
