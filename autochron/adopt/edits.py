"""Take marks out of a tree: each edit names a node of the original, and everything else keeps its formatting.

A comment in what is taken out stays, on a line of its own before what follows, unless it steers a linter.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import libcst as cst

_DIRECTIVES = ("noqa", "type:", "pragma:", "pylint:", "pyright:", "ruff:", "isort:", "mypy:", "fmt:")

_Block: TypeAlias = cst.Module | cst.IndentedBlock


@dataclass
class Edits:
    """What changes in one module, by nodes of its tree."""

    decorators: set[cst.Decorator] = field(default_factory=set)
    """Decorators to take out."""
    unwrapped: dict[cst.Call, int] = field(default_factory=dict)
    """Calls to replace by one of their arguments, which is given by its number."""
    bare: set[cst.Call] = field(default_factory=set)
    """Those of them that stand where any expression can, so that the argument needs no parentheses."""
    dictionaries: set[cst.Call] = field(default_factory=set)
    """Calls of a data class that become calls of `dict`."""
    dumps: set[cst.Call] = field(default_factory=set)
    """Calls of a method to replace by their receiver."""
    statements: set[cst.CSTNode] = field(default_factory=set)
    """Statements to take out: parts of a line, functions, and `try` statements."""
    aliases: set[cst.ImportAlias] = field(default_factory=set)
    """Imported names to take out."""
    for_types: set[cst.ImportAlias] = field(default_factory=set)
    """Imported names that only annotations use, which move under `if TYPE_CHECKING:`."""
    comments: dict[cst.CSTNode, list[str]] = field(default_factory=dict)
    """Comments of replaced expressions, by the statement that they are in."""

    def __bool__(self) -> bool:
        return any((self.decorators, self.unwrapped, self.dictionaries, self.statements, self.aliases))


def edited(source: str, tree: cst.Module, edits: Edits, *, has_type_checking: bool) -> str | None:
    """Return a source with the edits made; None where lines that don't change could not be kept as they are.

    Args:
        source: the source.
        tree: its tree.
        edits: what changes.
        has_type_checking: whether the module has the name `TYPE_CHECKING` already.
    """
    before = tree.code
    after = tree.visit(_Editor(edits, has_type_checking=has_type_checking)).code
    if before == source:
        return after
    # LibCST loses some spaces, such as one before the colon in `except (A, B) :`.
    lines, old, new = (text.splitlines(keepends=True) for text in (source, before, after))
    if len(lines) != len(old):
        return None
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    parts = (
        lines[start:end] if kind == "equal" else new[other:last]
        for kind, start, end, other, last in matcher.get_opcodes()
    )
    return "".join(line for part in parts for line in part)


def comments_in(node: cst.CSTNode, *, without: cst.CSTNode | None = None) -> list[str]:
    """Return the comments in a node, without those that steer a linter, and without those in one of its parts."""
    found: list[str] = []

    class Collector(cst.CSTVisitor):
        def on_visit(self, node: cst.CSTNode) -> bool:
            if isinstance(node, cst.Comment):
                text = node.value.lstrip("#").strip()
                if not text.startswith(_DIRECTIVES):
                    found.append(node.value)
            return node is not without

    node.visit(Collector())
    return found


class _Editor(cst.CSTTransformer):
    def __init__(self, edits: Edits, *, has_type_checking: bool) -> None:
        super().__init__()
        self._edits = edits
        self._gone: set[cst.CSTNode] = set()
        self._comments = {statement: list(texts) for statement, texts in edits.comments.items()}
        self._loose: dict[cst.CSTNode, list[str]] = {}
        """Comments of names that are taken out of an import that stays."""
        self._for_types: dict[cst.CSTNode, list[cst.ImportFrom | cst.Import]] = {}
        self._has_type_checking = has_type_checking

    # Expressions

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:  # noqa: N802
        edits = self._edits
        if original_node in edits.unwrapped:
            value = updated_node.args[edits.unwrapped[original_node]].value
            return _alone(value, updated_node, is_bare=original_node in edits.bare)
        if original_node in edits.dumps:
            return cst.ensure_type(updated_node.func, cst.Attribute).value
        if original_node in edits.dictionaries:
            return updated_node.with_changes(func=cst.Name("dict"))
        return updated_node

    # Imports

    def leave_Import(self, original_node: cst.Import, updated_node: cst.Import) -> cst.Import:  # noqa: N802
        kept, moved = self._split(original_node, updated_node)
        if moved:
            self._for_types[original_node] = [cst.Import(_ended(moved))]
        if len(kept) == len(updated_node.names):
            return updated_node
        if not kept:
            self._gone.add(original_node)
            return updated_node
        return updated_node.with_changes(names=_ended(kept))

    def leave_ImportFrom(  # noqa: N802
        self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom
    ) -> cst.ImportFrom:
        if isinstance(original_node.names, cst.ImportStar) or isinstance(updated_node.names, cst.ImportStar):
            return updated_node
        kept, moved = self._split(original_node, updated_node)
        if moved:
            bare = updated_node.with_changes(names=_ended(moved), lpar=None, rpar=None)
            self._for_types[original_node] = [bare]
        if len(kept) == len(updated_node.names):
            return updated_node
        if not kept:
            self._gone.add(original_node)
            return updated_node
        last = (
            kept[-1]
            if updated_node.lpar is not None
            else kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        )
        return updated_node.with_changes(names=[*kept[:-1], last])

    def _split(
        self, original: cst.Import | cst.ImportFrom, updated: cst.Import | cst.ImportFrom
    ) -> tuple[list[cst.ImportAlias], list[cst.ImportAlias]]:
        """Return the names that stay, and those that move under `if TYPE_CHECKING:`."""
        if isinstance(original.names, cst.ImportStar) or isinstance(updated.names, cst.ImportStar):
            return [], []
        pairs = list(zip(original.names, updated.names, strict=True))
        self._loose[original] = [
            text for old, _ in pairs if old in self._edits.aliases for text in comments_in(old)
        ]
        moved = [new for old, new in pairs if old in self._edits.for_types]
        kept = [new for old, new in pairs if old not in self._edits.for_types | self._edits.aliases]
        return kept, moved

    # Definitions

    def leave_FunctionDef(  # noqa: N802
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        kept: list[cst.Decorator] = []
        waiting: list[cst.EmptyLine] = []
        for old, new in zip(original_node.decorators, updated_node.decorators, strict=True):
            if old in self._edits.decorators:
                waiting += map(_comment_line, comments_in(old))
            else:
                kept.append(new.with_changes(leading_lines=[*waiting, *new.leading_lines]))
                waiting = []
        return updated_node.with_changes(
            decorators=kept, lines_after_decorators=[*waiting, *updated_node.lines_after_decorators]
        )

    # Statements

    def leave_SimpleStatementLine(  # noqa: N802
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine:
        body = self._remaining(original_node.body, updated_node.body)
        if not body:
            self._gone.add(original_node)
        gone = self._gone | self._edits.statements
        comments = [
            text
            for small in original_node.body
            for text in (comments_in(small) if small in gone else self._loose.get(small, ()))
        ]
        if body and comments:
            self._comments.setdefault(original_node, []).extend(comments)
        return updated_node.with_changes(body=body) if body else updated_node

    def leave_SimpleStatementSuite(  # noqa: N802
        self, original_node: cst.SimpleStatementSuite, updated_node: cst.SimpleStatementSuite
    ) -> cst.SimpleStatementSuite:
        body = self._remaining(original_node.body, updated_node.body)
        return updated_node.with_changes(body=body or [cst.Pass()])

    def _remaining(
        self, original: Sequence[cst.BaseSmallStatement], updated: Sequence[cst.BaseSmallStatement]
    ) -> list[cst.BaseSmallStatement]:
        """Return the parts of a line that stay."""
        gone = self._gone | self._edits.statements
        kept = [new for old, new in zip(original, updated, strict=True) if old not in gone]
        if kept and original[-1] in gone:
            kept[-1] = kept[-1].with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
        return kept

    def leave_IndentedBlock(  # noqa: N802
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        body, footer = self._without_gone(original_node, updated_node)
        if not body:
            body = [cst.SimpleStatementLine([cst.Pass()])]
        return updated_node.with_changes(body=body, footer=footer)

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:  # noqa: N802
        body, footer = self._without_gone(original_node, updated_node, is_top=not updated_node.header)
        return updated_node.with_changes(body=body, footer=footer)

    def _without_gone(
        self, original: _Block, updated: _Block, *, is_top: bool = False
    ) -> tuple[list[cst.BaseStatement], list[cst.EmptyLine]]:
        """Return the statements of a block that stay, and its last lines.

        `is_top` tells that nothing is before the block, so that it should not begin with blank lines.
        """
        body: list[cst.BaseStatement] = []
        waiting: list[cst.EmptyLine] | None = None
        gone = self._gone | self._edits.statements
        for old, new in zip(original.body, updated.body, strict=True):
            leading: Sequence[cst.EmptyLine] = getattr(new, "leading_lines", ())
            for_types = self._typed(old)
            if old in gone and not for_types:
                waiting = _joined(waiting, _after_removal(old, leading))
                continue
            lines = [*_joined(waiting, leading), *map(_comment_line, self._comments.get(old, ()))]
            if waiting is not None and is_top and not body:
                lines = _stripped(lines)
            kept = new if lines == list(leading) else new.with_changes(leading_lines=lines)
            waiting = None
            body += self._guarded(kept, lines, for_types, keeps=old not in gone) if for_types else [kept]
        return body, [*(line for line in waiting or () if line.comment is not None), *updated.footer]

    def _typed(self, statement: cst.CSTNode) -> list[cst.ImportFrom | cst.Import]:
        """Return the imports of a line that move under `if TYPE_CHECKING:`."""
        if not isinstance(statement, cst.SimpleStatementLine):
            return []
        return [each for small in statement.body for each in self._for_types.get(small, ())]

    def _guarded(
        self,
        line: cst.BaseStatement,
        leading: list[cst.EmptyLine],
        imports: list[cst.ImportFrom | cst.Import],
        *,
        keeps: bool,
    ) -> list[cst.BaseStatement]:
        """Return the statements that import names for type checkers only, after those that stay of the line."""
        lines: list[cst.BaseStatement] = [line] if keeps else []
        if not self._has_type_checking:
            self._has_type_checking = True
            name = cst.ImportFrom(cst.Name("typing"), [cst.ImportAlias(cst.Name("TYPE_CHECKING"))])
            # In the group of the imports above it, which are of the standard library more often than not.
            comments = [each for each in leading if each.comment is not None and not keeps]
            lines.append(cst.SimpleStatementLine([name], leading_lines=comments))
            leading = [cst.EmptyLine(indent=False)]
        elif keeps:
            leading = [cst.EmptyLine(indent=False)]
        block = cst.IndentedBlock([cst.SimpleStatementLine([each]) for each in imports])
        return [*lines, cst.If(cst.Name("TYPE_CHECKING"), block, leading_lines=leading)]


def _alone(value: cst.BaseExpression, call: cst.Call, *, is_bare: bool) -> cst.BaseExpression:
    """Return an argument as it can stand in place of the call: in parentheses, where it needs some."""
    if call.lpar and not value.lpar:
        return value.with_changes(lpar=call.lpar, rpar=call.rpar)
    needs = not is_bare and not isinstance(
        value,
        cst.Name | cst.Attribute | cst.Call | cst.Subscript | cst.List | cst.Dict | cst.Set | cst.SimpleString
    )  # fmt: skip
    if not value.lpar and not needs:
        try:
            ast.parse(cst.Module([]).code_for_node(value), mode="eval")
        except SyntaxError:  # it goes on in a further line, which the parentheses of the call allowed
            needs = True
    if value.lpar or not needs:
        return value
    return value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def _ended(aliases: list[cst.ImportAlias]) -> list[cst.ImportAlias]:
    return [*aliases[:-1], aliases[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)]


def _after_removal(statement: cst.CSTNode, leading: Iterable[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """Return the lines before a statement that stay when it is taken out, and its own comments."""
    lines = list(leading)
    if isinstance(statement, cst.FunctionDef):
        # The comment right above a function belongs to it.
        while lines and lines[-1].comment is not None:
            del lines[-1]
        return lines
    inside = comments_in(statement.with_changes(leading_lines=[]))
    return [*lines, *map(_comment_line, inside)]


def _comment_line(text: str) -> cst.EmptyLine:
    return cst.EmptyLine(comment=cst.Comment(text))


def _joined(waiting: list[cst.EmptyLine] | None, own: Iterable[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """Return the lines before a statement: those of taken-out ones before it, and its own."""
    lines = list(own)
    if waiting is None:
        return lines
    has_comment = any(line.comment is not None for line in waiting)
    if lines and lines[0].comment is None:
        # Its own blank lines part it from what was before.
        return [*(_trimmed(waiting) if has_comment else ()), *lines]
    return [*waiting, *lines]


def _trimmed(lines: list[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """Return the lines without blank ones at the end."""
    end = len(lines)
    while end and lines[end - 1].comment is None:
        end -= 1
    return lines[:end]


def _stripped(lines: list[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """Return the lines without blank ones at the beginning."""
    start = next((index for index, line in enumerate(lines) if line.comment is not None), len(lines))
    return lines[start:]
