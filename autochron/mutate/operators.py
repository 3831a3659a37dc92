"""Operators of our own, written as plugins of cosmic-ray, and the lookup of an operator by its name.

cosmic-ray finds them by the entry point `autochron`, so `cosmic-ray exec` can run our mutants. Our own generation does
not depend on the entry point: names are resolved here.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import ClassVar

from cosmic_ray.operators.operator import Example, Operator
from cosmic_ray.operators.provider import OperatorProvider
from parso.python.tree import Keyword
from parso.tree import BaseNode, NodeOrLeaf

from autochron.errors import UsageError
from autochron.mutate.agent_operators import AGENT_OPERATORS
from autochron.mutate.operator_nodes import Position, first_leaf, is_word, replace_child, replaced
from autochron.rules.nearest import nearest

MARK = "XX"
"""What a mutated string begins and ends with."""

_LITERAL = re.compile(r"""([A-Za-z]*)('''|\"""|'|")(.*)\2""", re.DOTALL)


# --- Literals ---


class StringConstant(Operator):  # type: ignore[misc] # cosmic-ray has no types
    """Put a mark before and after the text of a string, unless it is adjacent to an f-string and so a part of it."""

    is_bytes: ClassVar[bool] = False

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Position]:
        if _literals(node, is_bytes=self.is_bytes):
            yield node.start_pos, node.end_pos

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        # The marks go into the first and the last of adjacent literals, whatever their quotes and prefixes are.
        pieces = _pieces(node)
        text = ""
        for number, match in enumerate(_literals(node, is_bytes=self.is_bytes)):
            before, after = MARK if number == 0 else "", MARK if number == len(pieces) - 1 else ""
            text += first_leaf(pieces[number]).prefix if number else ""
            text += f"{match[1]}{match[2]}{before}{match[3]}{after}{match[2]}"
        return replaced(node, text)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example("x = 'blocked'", "x = 'XXblockedXX'"),
            Example("x = ''", "x = 'XXXX'"),
            Example("x = r'\\d' '''\n'''", "x = r'XX\\d' '''\nXX'''"),
            Example("x = {'a': b'b', 'c': f'd'}", "x = {'a': b'b', 'XXcXX': f'd'}", occurrence=1),
        )


class BytesConstant(StringConstant):
    """Put a mark before and after the text of a bytes literal."""

    is_bytes = True

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example("x = b'key'", "x = b'XXkeyXX'"),
            Example("x = 'a', Rb'\\n' b''", "x = 'a', Rb'XX\\n' b'XX'"),
        )


class EmptyString(Operator):  # type: ignore[misc]
    """Empty a string or a bytes literal that is not empty."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Position]:
        literals = _literals(node, is_bytes=False) or _literals(node, is_bytes=True)
        if any(match[3] for match in literals):
            yield node.start_pos, node.end_pos

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        literals = _literals(node, is_bytes=False) or _literals(node, is_bytes=True)
        return replaced(node, f"{literals[0][1]}{literals[0][2] * 2}")

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example("x = 'blocked'", "x = ''"),
            Example("x = b'' b'key'", "x = b''"),
            Example("x = '', '''a\n'''", "x = '', ''''''"),
        )


# --- Conditions ---


class ReplaceMembership(Operator):  # type: ignore[misc]
    """Replace `in` by `not in`, and `not in` by `in`."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Position]:
        for number in self._places(node):
            place = node.children[number]  # type: ignore[attr-defined] # a comparison
            yield place.start_pos, place.end_pos

    def mutate(self, node: BaseNode, index: int) -> NodeOrLeaf:
        number = self._places(node)[index]
        place = node.children[number]
        replace_child(node, number, "not in" if isinstance(place, Keyword) else "in")
        return node

    @staticmethod
    def _places(node: NodeOrLeaf) -> list[int]:
        if node.type != "comparison" or not isinstance(node, BaseNode):
            return []
        words = {
            number: " ".join(_codes_of_pieces(node.children[number]))
            for number in range(1, len(node.children), 2)
        }
        return [number for number, word in words.items() if word in {"in", "not in"}]

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example("x in y", "x not in y"),
            Example("x not  in y", "x in y"),
            Example("x < y in(z)", "x < y not in(z)"),
            Example("[x for x in y if x in z]", "[x for x in y if x not in z]"),
        )


class DropOperand(Operator):  # type: ignore[misc]
    """Remove one operand of `and` or `or`."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Position]:
        if node.type in {"and_test", "or_test"} and isinstance(node, BaseNode):
            for _ in node.children[::2]:
                yield node.start_pos, node.end_pos

    def mutate(self, node: BaseNode, index: int) -> NodeOrLeaf:
        number = 2 * index
        removed = slice(number - 1, number + 1) if index else slice(0, 2)
        kept = list(node.children)
        del kept[removed]
        text = kept[0].get_code(include_prefix=False)
        for child in kept[1:]:
            code = child.get_code()
            text += code if _are_apart(text, code) else f" {code}"
        # `if(a)and b`, `a and(b)else c`: a bracket that separated words may have been removed.
        after = node.get_code(include_prefix=False)[-1]
        if not is_word(after) and is_word(text[-1]):
            text += " "
        return replaced(node, text)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example("x and y", "y"),
            Example("x and y", "x", occurrence=1),
            Example("x or y or z", "x or z", occurrence=1),
            Example("if(x)and y: pass", "if y: pass"),
            Example("a if x and(y)else b", "a if x else b", occurrence=1),
            Example("x and(y)and z", "x and z", occurrence=1),
            Example("x and y or z", "z"),
        )


class _Negate(Operator):  # type: ignore[misc]
    """Put `not (…)` around a whole condition; cosmic-ray's `AddNot` negates only its first part."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Position]:
        for number in self._places(node):
            place = node.children[number]  # type: ignore[attr-defined] # a statement
            yield place.start_pos, place.end_pos

    def mutate(self, node: BaseNode, index: int) -> NodeOrLeaf:
        number = self._places(node)[index]
        replace_child(node, number, f"not ({node.children[number].get_code(include_prefix=False)})")
        return node

    @staticmethod
    @abstractmethod
    def _places(node: NodeOrLeaf) -> list[int]:
        """Return the indices of a node's children that are conditions."""


class NegateIf(_Negate):
    """Negate the condition of `if` and of each `elif`."""

    @staticmethod
    def _places(node: NodeOrLeaf) -> list[int]:
        if node.type != "if_stmt" or not isinstance(node, BaseNode):
            return []
        words = [child.value if isinstance(child, Keyword) else "" for child in node.children]
        return [number + 1 for number, word in enumerate(words) if word in {"if", "elif"}]

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example("if a and b: pass", "if not (a and b): pass"),
            Example("if(a): pass", "if not ((a)): pass"),
            Example("if a: pass\nelif b: pass", "if a: pass\nelif not (b): pass", occurrence=1),
        )


class NegateCondition(_Negate):
    """Negate the condition of `while`, `assert`, a conditional expression, or a comprehension."""

    _PLACES: ClassVar[dict[str, int]] = {"while_stmt": 1, "assert_stmt": 1, "test": 2, "comp_if": 1}

    @staticmethod
    def _places(node: NodeOrLeaf) -> list[int]:
        number = NegateCondition._PLACES.get(node.type)
        return [] if number is None else [number]

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example("while a or b: pass", "while not (a or b): pass"),
            Example("assert a, b", "assert not (a), b"),
            Example("a if(b)else c", "a if not ((b))else c"),
            Example("[a for a in b if c if d]", "[a for a in b if c if not (d)]", occurrence=1),
        )


# --- Names ---

OPERATORS: tuple[type[Operator], ...] = (
    StringConstant,
    EmptyString,
    BytesConstant,
    ReplaceMembership,
    DropOperand,
    NegateIf,
    NegateCondition,
    *AGENT_OPERATORS,
)
"""Our operators, in the order in which they are tried."""


class AutochronOperators:
    """Our operators by name: the provider that cosmic-ray asks for."""

    _BY_NAME: ClassVar[dict[str, type[Operator]]] = {operator.__name__: operator for operator in OPERATORS}

    def __iter__(self) -> Iterator[str]:
        return iter(self._BY_NAME)

    def __getitem__(self, name: str) -> type[Operator]:
        return self._BY_NAME[name]


_PROVIDERS = {"core": OperatorProvider(), "autochron": AutochronOperators()}


def operator_names() -> tuple[str, ...]:
    """Return the names of cosmic-ray's operators and of ours, in the order in which they are tried."""
    return tuple(f"{provider}/{name}" for provider, names in _PROVIDERS.items() for name in names)


def nearest_operator(name: str) -> str:
    """Return the end of a message that suggests the operator whose name is nearest, with or without a provider."""
    by_short_name = {full_name.partition("/")[2]: full_name for full_name in operator_names()}
    close = nearest(by_short_name.values(), name) or by_short_name.get(
        nearest(by_short_name, name.rpartition("/")[2]) or ""
    )
    return f"nearest is `{close}`" if close else "`cosmic-ray operators` lists them"


@cache
def operator_class(name: str) -> type[Operator]:
    """Return the operator of a name such as `core/NumberReplacer` or `autochron/NegateIf`.

    Raises:
        UsageError: there is no such operator.
    """
    if name not in operator_names():
        raise UsageError(f"there is no operator `{name}`; {nearest_operator(name)}")
    provider, _, short_name = name.partition("/")
    operator: type[Operator] = _PROVIDERS[provider][short_name]
    return operator


# --- Nodes ---


def _pieces(node: NodeOrLeaf) -> Sequence[NodeOrLeaf]:
    """Return the adjacent literals of a constant."""
    return node.children if isinstance(node, BaseNode) else (node,)


def _literals(node: NodeOrLeaf, *, is_bytes: bool) -> list[re.Match[str]]:
    """Return a match for each adjacent literal of a constant; none where the node is not a whole constant of one type.

    Args:
        node: a node of any type.
        is_bytes: whether the literals must be bytes; else they must be strings.
    """
    if node.type not in {"string", "strings"} or (node.parent is not None and node.parent.type == "strings"):
        return []
    matches = [_LITERAL.fullmatch(piece.get_code(include_prefix=False)) for piece in _pieces(node)]
    of_type = [match for match in matches if match and ("b" in match[1].lower()) == is_bytes]
    has_no_fstring = all(piece.type == "string" for piece in _pieces(node))
    return of_type if has_no_fstring and len(of_type) == len(matches) else []


def _codes_of_pieces(node: NodeOrLeaf) -> Iterable[str]:
    return (piece.get_code(include_prefix=False) for piece in _pieces(node))


def _are_apart(before: str, after: str) -> bool:
    """Return whether two codes can stand side by side without a blank."""
    return not (is_word(before[-1]) and is_word(after[0]))
