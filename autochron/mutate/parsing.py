"""A module's text as parso reads it, checked against Python's own parser: cosmic-ray mutates parso's tree."""

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
from autochron.mutate.definitions import Definition, functions_of
from autochron.mutate.operator_nodes import Position
from autochron.mutate.operators import operator_class
from autochron.rules.nearest import hint

# Operators of these families change nodes of these types only. Trying hundreds of operators on every node is slow.
_NODE_TYPES = {
    "core/ReplaceBinaryOperator_": ("operator",),
    "core/ReplaceComparisonOperator_": ("comparison",),
    "core/ReplaceUnaryOperator_": ("factor", "not_test"),
}

_NOT_READ_BY_PARSO = (
    ("Match", "the `match` statement"),
    ("TryStar", "`except*`"),
    ("TypeAlias", "the `type` statement"),
    ("JoinedStr", "an f-string with its own quotes, line breaks or comments inside braces"),
    ("With", "`with` and its brackets"),
    ("AsyncWith", "`with` and its brackets"),
    ("Starred", "a `*` in this place"),
)
"""What Python reads and parso doesn't, by the node's name in `ast`; the first that is found is reported."""


OperatorArguments: TypeAlias = dict[str, str | int | float | bool]
"""What an operator is made with, by name."""


class MutationPlace(Struct, frozen=True):
    """A place where an operator can change something.

    Attributes:
        order: the number of the node in the module, in the order of the walk.
        node: the node that the operator gets.
        index: the number of the change among the operator's changes of this node.
        position: where the replaced code is.
    """

    order: int
    node: NodeOrLeaf
    index: int
    position: Position


class ParsedModule:
    """A module's text, read by Python and by parso. None of it is ever changed.

    Attributes:
        text: the text.
        file: its path, for messages.
        tree: Python's tree.
        nodes: parso's nodes, in the order in which cosmic-ray walks them.
    """

    def __init__(self, text: str, file: str) -> None:
        """Parse the text.

        Raises:
            UsageError: the text is not valid Python.
        """
        self.text = text
        self.file = file
        try:
            with warnings.catch_warnings():
                # The program's code emits its warnings itself when it is run.
                warnings.simplefilter("ignore")
                self.tree = ast.parse(text, file)
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None) or 1
            raise UsageError(
                f"{file}:{line} is no Python ({getattr(error, 'msg', error)}), so there is nothing to mutate; mend it first"
            ) from None
        self.nodes: tuple[NodeOrLeaf, ...] = tuple(ast_nodes(parso.parse(text)))
        self._places: dict[tuple[object, ...], tuple[MutationPlace, ...]] = {}

    @cached_property
    def order(self) -> dict[int, int]:
        """The number of each node, by its id."""
        return {id(node): number for number, node in enumerate(self.nodes)}

    @cached_property
    def offsets(self) -> dict[tuple[int, int], int]:
        """The offset in characters of the beginning and of the end of each leaf, by position."""
        offsets: dict[tuple[int, int], int] = {}
        offset = 0
        for node in self.nodes:
            if isinstance(node, Leaf):
                offset += len(node.prefix)
                offsets.setdefault(node.start_pos, offset)
                offset += len(node.value)
                offsets.setdefault(node.end_pos, offset)
        return offsets

    @cached_property
    def future(self) -> int:
        """The compiler's flags for the module's `from __future__` imports."""
        names = [
            alias.name
            for node in self.tree.body
            if isinstance(node, ast.ImportFrom) and node.module == "__future__"
            for alias in node.names
        ]
        flags: int = sum({getattr(__future__, name).compiler_flag for name in names})
        return flags

    def span(self, node: NodeOrLeaf) -> tuple[int, int]:
        """Return the offsets at which a node begins, with the blanks before it, and ends."""
        first = node.get_first_leaf()
        blanks = len(first.prefix) if first is not None else 0
        return self.offsets[node.start_pos] - blanks, self.offsets[node.end_pos]

    def statement(self, node: NodeOrLeaf) -> NodeOrLeaf:
        """Return the statement at the module's top level that a node is in."""
        while node.parent is not None and node.parent.type != "file_input":
            node = node.parent
        return node

    def places(self, operator: str, arguments: OperatorArguments = {}) -> tuple[MutationPlace, ...]:  # noqa: B006 - it is only read
        """Return all places of an operator. cosmic-ray calls the index of a place its occurrence.

        Args:
            operator: the name of the operator.
            arguments: what the operator is made with.
        """
        key = (operator, *arguments.items())
        if key not in self._places:
            self._places[key] = tuple(self._find_places(operator, arguments))
        return self._places[key]

    def _find_places(self, operator: str, arguments: OperatorArguments) -> Iterator[MutationPlace]:
        instance = operator_class(operator)(**arguments)
        allowed_types = next(
            (node_types for family, node_types in _NODE_TYPES.items() if operator.startswith(family)), None
        )
        numbers = range(len(self.nodes)) if allowed_types is None else self._numbers_of_types(allowed_types)
        for number in numbers:
            node = self.nodes[number]
            try:
                positions = list(instance.mutation_positions(node))
            except Exception as error:
                raise UsageError(
                    f"{self.file}:{node.start_pos[0]} can't be read by cosmic-ray's {operator} ({error!r}); "
                    "write the line otherwise, or leave the operator out"
                ) from error
            for index, position in enumerate(positions):
                yield MutationPlace(number, node, index, position)

    @cached_property
    def _by_type(self) -> dict[str, list[int]]:
        numbers: dict[str, list[int]] = {}
        for number, node in enumerate(self.nodes):
            numbers.setdefault(node.type, []).append(number)
        return numbers

    def _numbers_of_types(self, types: tuple[str, ...]) -> list[int]:
        return sorted(number for node_type in types for number in self._by_type.get(node_type, ()))

    # --- The function ---

    def definition(self, function: str) -> Definition:
        """Return the definition of a function, the last where there are several of the name.

        Args:
            function: its qualified name.

        Raises:
            UsageError: there is no such function.
        """
        definitions = functions_of(self.tree)
        if function not in definitions:
            raise UsageError(
                f"{self.file} has no function `{function}`{hint(definitions, function)}; name one that it defines"
            )
        return definitions[function]

    def function(self, definition: Definition) -> BaseNode:
        """Return parso's node of a function.

        Raises:
            UsageError: parso and Python disagree where the function begins or ends.
        """
        line = self.text.split("\n")[definition.lineno - 1]
        start = (definition.lineno, _character_column(line, definition.col_offset))
        for number in self._by_type.get("funcdef", ()):
            node = self.nodes[number]
            if isinstance(node, BaseNode) and start == _with_async(node).start_pos:
                if self._end_of(node) == (definition.end_lineno, definition.end_col_offset):
                    return node
                break
        raise UsageError(
            f"{self.file}:{definition.lineno}: parso and Python don't agree on where `{definition.name}` begins and ends, "
            "so it can't be mutated; move it to a file of its own, or write it in a plainer way"
        )

    def _end_of(self, node: BaseNode) -> tuple[int, int]:
        """Return the end of a node without the line breaks after it, as (line, column in UTF-8 bytes), like `ast`."""
        leaf = node.get_last_leaf()
        while leaf is not None and (leaf.type == "newline" or not leaf.get_code(include_prefix=False)):
            leaf = leaf.get_previous_leaf()
        line, column = leaf.end_pos if leaf is not None else node.end_pos
        return line, len(self.text.split("\n")[line - 1][:column].encode())

    def check(self, function: str, before: int) -> None:
        """Check that parso has read all code before a line.

        Args:
            function: the function that is mutated, for the message.
            before: the line.

        Raises:
            UsageError: it has not; the message says where, why, and what to do.
        """
        lines = (node.start_pos[0] for node in self.nodes if node.type.startswith("error"))
        unread = [line for line in lines if line < before]
        if not unread:
            return
        description, line = self._first_unread(unread)
        raise UsageError(
            f"{self.file}:{line}: cosmic-ray's parser, parso, can't read {description}, and would miss places of"
            f" `{function}`; write it otherwise, or move it and `{function}` into different files"
        )

    def _first_unread(self, lines: list[int]) -> tuple[str, int]:
        """Return what parso can't read in one of these lines, in words, and its line."""
        nodes = [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt | ast.expr)]
        for name, description in _NOT_READ_BY_PARSO:
            for node in nodes:
                node_lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
                if type(node).__name__ == name and any(line in node_lines for line in lines):
                    return description, node.lineno
        form_feeds = [line for line in lines if "\f" in self.text.split("\n")[line - 1]]
        return ("a form feed", form_feeds[0]) if form_feeds else ("this line", lines[0])


@lru_cache(maxsize=16)
def parse(text: str, file: str) -> ParsedModule:
    """Read a module's text.

    Raises:
        UsageError: the text is not valid Python.
    """
    return ParsedModule(text, file)


def read_source(folder: Path, file: str) -> str:
    r"""Read a module as cosmic-ray does: in its own encoding, with all line breaks as `\n`.

    Raises:
        UsageError: the file can't be read.
    """
    try:
        with tokenize.open(folder / file) as handle:
            return handle.read()
    except FileNotFoundError:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".py")) if folder.is_dir() else []
        raise UsageError(
            f"there is no file {file} in {folder}{hint(names, file)}; a target is written FILE:FUNCTION"
        ) from None
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise UsageError(f"{folder / file} can't be read: {error}") from None


def with_decorators(function: NodeOrLeaf) -> NodeOrLeaf:
    """Return the node of a function with its `async` and its decorators."""
    node = _with_async(function)
    return node.parent if node.parent is not None and node.parent.type == "decorated" else node


def _with_async(function: NodeOrLeaf) -> NodeOrLeaf:
    parent = function.parent
    return parent if parent is not None and parent.type in {"async_stmt", "async_funcdef"} else function


def _character_column(line: str, column: int) -> int:
    """Return a column in characters, from one in UTF-8 bytes."""
    return len(line.encode()[:column].decode())
