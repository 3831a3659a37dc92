"""A module's text as parso reads it, checked against what Python reads: cosmic-ray mutates parso's tree."""

from __future__ import annotations
import __future__

import ast
import os
import tokenize
import warnings
from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TypeAlias

import parso
from cosmic_ray.ast import ast_nodes
from msgspec import Struct
from parso.tree import BaseNode, Leaf, NodeOrLeaf

from autochron.errors import UsageError
from autochron.mutate.operators import Position, operator_class
from autochron.rules.nearest import hint

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

# An operator of these families looks at nothing else, and to ask each of hundreds about every node is most of the time.
_LOOKED_AT = {
    "core/ReplaceBinaryOperator_": ("operator",),
    "core/ReplaceComparisonOperator_": ("comparison",),
    "core/ReplaceUnaryOperator_": ("factor", "not_test"),
}

_UNREAD = (
    ("Match", "the `match` statement"),
    ("TryStar", "`except*`"),
    ("TypeAlias", "the `type` statement"),
    ("JoinedStr", "an f-string with its own quotes, line breaks or comments inside braces"),
    ("With", "`with` and its brackets"),
    ("AsyncWith", "`with` and its brackets"),
    ("Starred", "a `*` in this place"),
)
"""What Python reads and parso doesn't, by the node's name in `ast`; the first that is there is meant."""


class MutationPlace(Struct, frozen=True):
    """Where an operator can change something.

    Attributes:
        order: the number of the node in the module, as it is walked.
        node: what the operator is given.
        index: which of the node's changes.
        position: of what is replaced.
    """

    order: int
    node: NodeOrLeaf
    index: int
    position: Position


class ParsedModule:
    """A module's text, read twice. None of it is ever changed.

    Attributes:
        text: the text.
        file: its path, for messages.
        tree: what Python reads.
        nodes: what parso reads, in the order in which cosmic-ray walks it.
    """

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the program's own, which it gives when it is run
                self.tree = ast.parse(text, file)
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None) or 1
            raise UsageError(
                f"{file}:{line} is no Python ({getattr(error, 'msg', error)}), so there is nothing to mutate; mend it first"
            ) from None
        self.nodes: tuple[NodeOrLeaf, ...] = tuple(ast_nodes(parso.parse(text)))
        self._places: dict[str, tuple[MutationPlace, ...]] = {}

    @cached_property
    def order(self) -> dict[int, int]:
        """The number of each node, by its id."""
        return {id(node): number for number, node in enumerate(self.nodes)}

    @cached_property
    def offsets(self) -> dict[tuple[int, int], int]:
        """How many characters stand before the beginning and the end of each leaf."""
        found: dict[tuple[int, int], int] = {}
        offset = 0
        for node in self.nodes:
            if isinstance(node, Leaf):
                offset += len(node.prefix)
                found.setdefault(node.start_pos, offset)
                offset += len(node.value)
                found.setdefault(node.end_pos, offset)
        return found

    @cached_property
    def future(self) -> int:
        """The flags of compilation that `from __future__ import` asks for."""
        names = [
            alias.name
            for node in self.tree.body
            if isinstance(node, ast.ImportFrom) and node.module == "__future__"
            for alias in node.names
        ]
        flags: int = sum({getattr(__future__, name).compiler_flag for name in names})
        return flags

    def span(self, node: NodeOrLeaf) -> tuple[int, int]:
        """Return where a node begins, with the blanks before it, and ends."""
        first = node.get_first_leaf()
        blanks = len(first.prefix) if first is not None else 0
        return self.offsets[node.start_pos] - blanks, self.offsets[node.end_pos]

    def statement(self, node: NodeOrLeaf) -> NodeOrLeaf:
        """Return the statement of the module that a node is in."""
        while node.parent is not None and node.parent.type != "file_input":
            node = node.parent
        return node

    def places(self, operator: str) -> tuple[MutationPlace, ...]:
        """Return all places of an operator; the number of one is what cosmic-ray calls its occurrence."""
        if operator not in self._places:
            self._places[operator] = tuple(self._found(operator))
        return self._places[operator]

    def _found(self, operator: str) -> Iterator[MutationPlace]:
        made = operator_class(operator)()
        types = next((of for family, of in _LOOKED_AT.items() if operator.startswith(family)), None)
        numbers = range(len(self.nodes)) if types is None else self._of_types(types)
        for number in numbers:
            node = self.nodes[number]
            try:
                positions = list(made.mutation_positions(node))
            except Exception as error:
                raise UsageError(
                    f"{self.file}:{node.start_pos[0]} can't be read by cosmic-ray's {operator} ({error!r}); "
                    "write the line otherwise, or leave the operator out"
                ) from error
            for index, position in enumerate(positions):
                yield MutationPlace(number, node, index, position)

    @cached_property
    def _by_type(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, node in enumerate(self.nodes):
            found.setdefault(node.type, []).append(number)
        return found

    def _of_types(self, types: tuple[str, ...]) -> list[int]:
        return sorted(number for each in types for number in self._by_type.get(each, ()))

    # --- The function ---

    def definition(self, function: str) -> Definition:
        """Return the function of a qualified name, the last where there are several; UsageError where there is none."""
        found = dict(_definitions(self.tree, ""))
        if function not in found:
            raise UsageError(
                f"{self.file} has no function `{function}`{hint(found, function)}; name one that it defines"
            )
        return found[function]

    def function(self, definition: Definition) -> BaseNode:
        """Return parso's node of a function; UsageError where parso and Python don't agree on where it stands."""
        line = self.text.split("\n")[definition.lineno - 1]
        start = (definition.lineno, _characters(line, definition.col_offset))
        for number in self._by_type.get("funcdef", ()):
            node = self.nodes[number]
            if isinstance(node, BaseNode) and start == _with_async(node).start_pos:
                if self._end(node) == (definition.end_lineno, definition.end_col_offset):
                    return node
                break
        raise UsageError(
            f"{self.file}:{definition.lineno}: parso and Python don't agree on where `{definition.name}` begins and ends, "
            "so it can't be mutated; move it to a file of its own, or write it in a plainer way"
        )

    def _end(self, node: BaseNode) -> tuple[int, int]:
        leaf = node.get_last_leaf()
        while leaf is not None and (leaf.type == "newline" or not leaf.get_code(include_prefix=False)):
            leaf = leaf.get_previous_leaf()
        line, column = leaf.end_pos if leaf is not None else node.end_pos
        return line, len(self.text.split("\n")[line - 1][:column].encode())

    def check(self, function: str, before: int) -> None:
        """Refuse what parso misreads before a line: UsageError with the line, why, and what to do."""
        lines = (node.start_pos[0] for node in self.nodes if node.type.startswith("error"))
        wrong = [line for line in lines if line < before]
        if not wrong:
            return
        kind, line = self._unread(wrong)
        raise UsageError(
            f"{self.file}:{line}: cosmic-ray's parser, parso, can't read {kind}, and would miss places of `{function}`; "
            f"write it otherwise, or move it and `{function}` into different files"
        )

    def _unread(self, lines: list[int]) -> tuple[str, int]:
        nodes = [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt | ast.expr)]
        for name, words in _UNREAD:
            for node in nodes:
                covered = range(node.lineno, (node.end_lineno or node.lineno) + 1)
                if type(node).__name__ == name and any(line in covered for line in lines):
                    return words, node.lineno
        form_feeds = [line for line in lines if "\f" in self.text.split("\n")[line - 1]]
        return ("a form feed", form_feeds[0]) if form_feeds else ("this line", lines[0])


@lru_cache(maxsize=16)
def parse(text: str, file: str) -> ParsedModule:
    """Read a module's text; UsageError where it is no Python."""
    return ParsedModule(text, file)


def read(folder: Path, file: str) -> str:
    """Read a module as cosmic-ray does: in its own encoding, ends of lines alike; UsageError where it can't be read."""
    try:
        with tokenize.open(folder / file) as handle:
            return handle.read()
    except FileNotFoundError:
        there = sorted(name for name in os.listdir(folder) if name.endswith(".py")) if folder.is_dir() else []
        raise UsageError(
            f"there is no file {file} in {folder}{hint(there, file)}; a target is written FILE:FUNCTION"
        ) from None
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise UsageError(f"{folder / file} can't be read: {error}") from None


def whole(function: NodeOrLeaf) -> NodeOrLeaf:
    """Return a function with its `async` and its decorators."""
    node = _with_async(function)
    return node.parent if node.parent is not None and node.parent.type == "decorated" else node


def _with_async(function: NodeOrLeaf) -> NodeOrLeaf:
    parent = function.parent
    return parent if parent is not None and parent.type in {"async_stmt", "async_funcdef"} else function


def _characters(line: str, column: int) -> int:
    return len(line.encode()[:column].decode())


def _definitions(node: ast.AST, above: str) -> Iterator[tuple[str, Definition]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield above + child.name, child
            yield from _definitions(child, f"{above}{child.name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from _definitions(child, f"{above}{child.name}.")
        else:
            yield from _definitions(child, above)
