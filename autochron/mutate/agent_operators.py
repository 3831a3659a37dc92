"""Operators for the guards of agents' tools: the mistakes that people make when they write one.

`guard_nodes` says what a guard is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from cosmic_ray.operators.operator import Example, Operator
from parso.python.tree import Name
from parso.tree import BaseNode, NodeOrLeaf

from autochron.mutate.guard_nodes import (
    ORDERS,
    action_of,
    awaits,
    code_of,
    decisions_of,
    head_of,
    in_brackets,
    indentation_of,
    is_empty_call,
    is_in_condition,
    is_ordered,
    is_read,
    is_read_of_state,
    is_refusal_before_more,
    parameters_of,
)
from autochron.mutate.operator_nodes import Position, replace_child, replaced

_NORMALISERS = frozenset({"strip", "lstrip", "rstrip", "lower", "upper", "casefold", "title"})


# --- When the tool acts ---


class ActFirst(Operator):  # type: ignore[misc] # cosmic-ray has no types
    """Do what the guard stands before, and check afterwards."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Position]:
        if action_of(node) is not None:
            yield head_of(node)

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        action = action_of(node)
        assert action is not None  # noqa: S101 - else there is no position
        return replaced(node, f"{code_of(action)}\n{indentation_of(node)}{code_of(node)}")

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example(
                "def f(x):\n    if x:\n        return 0\n    return g(x)\n",
                "def f(x):\n    g(x)\n    if x:\n        return 0\n    return g(x)\n",
            ),
            Example(
                "async def f(x):\n    if x:\n        return await g(x)\n    raise E\n",
                "async def f(x):\n    await g(x)\n    if x:\n        return await g(x)\n    raise E\n",
            ),
        )


class SwallowRefusal(Operator):  # type: ignore[misc]
    """Go on after a refusal: leave out its `return` or its `raise`."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Position]:
        if node.type in {"return_stmt", "raise_stmt"} and is_refusal_before_more(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: BaseNode, index: int) -> NodeOrLeaf:
        return replaced(node, code_of(node.children[1]))

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example(
                "def f(x):\n    if x:\n        return {'a': 1}\n    return g(x)\n",
                "def f(x):\n    if x:\n        {'a': 1}\n    return g(x)\n",
            ),
            Example(
                "def f(x):\n    if x:\n        raise E(x)\n    return g(x)\n",
                "def f(x):\n    if x:\n        E(x)\n    return g(x)\n",
            ),
        )


class _DecideAlways(Operator):  # type: ignore[misc]
    """Replace the condition of a guard, so that it decides the same for each call."""

    refuses: ClassVar[bool]

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Position]:
        for number, _ in decisions_of(node):
            child = node.children[number]  # type: ignore[attr-defined] # an `if`
            yield child.start_pos, child.end_pos

    def mutate(self, node: BaseNode, index: int) -> NodeOrLeaf:
        number, is_refusal = decisions_of(node)[index]
        replace_child(node, number, str(is_refusal is self.refuses))
        return node


class RefuseEverything(_DecideAlways):
    """Let a guard refuse each call."""

    refuses = True

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example("def f(x):\n    if x: raise E\n", "def f(x):\n    if True: raise E\n"),
            Example("def f(x):\n    if x: return g(x)\n", "def f(x):\n    if False: return g(x)\n"),
        )


class AllowEverything(_DecideAlways):
    """Let a guard refuse no call."""

    refuses = False

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example("def f(x):\n    if x: raise E\n", "def f(x):\n    if False: raise E\n"),
            Example(
                "def f(x):\n    if x: return 0\n    elif y: return g(x)\n",
                "def f(x):\n    if x: return 0\n    elif True: return g(x)\n",
                occurrence=1,
            ),
        )


class DropAwait(Operator):  # type: ignore[misc]
    """Leave out an `await`."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Position]:
        if awaits(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: BaseNode, index: int) -> NodeOrLeaf:
        code = "".join(child.get_code() for child in node.children[1:])
        return replaced(node, code.lstrip())

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (Example("async def f(x):\n    return await g(x)\n", "async def f(x):\n    return g(x)\n"),)


# --- What the guard looks at ---


class CheckWrongArgument(Operator):  # type: ignore[misc]
    """Look at another argument of the tool in a condition."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Position]:
        for _ in self._others(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        return replaced(node, self._others(node)[index])

    @staticmethod
    def _others(node: NodeOrLeaf) -> list[str]:
        if not isinstance(node, Name) or not is_read(node) or not is_in_condition(node):
            return []
        parameters = parameters_of(node)
        return [name for name in parameters if name != node.value] if node.value in parameters else []

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example(
                "def f(x, y):\n    if x.y > 1: raise E(x)\n", "def f(x, y):\n    if y.y > 1: raise E(x)\n"
            ),
            Example(
                "def f(x, y):\n    if x or y: raise E\n",
                "def f(x, y):\n    if x or x: raise E\n",
                occurrence=1,
            ),
        )


class StaleRead(Operator):  # type: ignore[misc]
    """Keep what was read in the first call for all later ones."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Position]:
        if is_read_of_state(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: BaseNode, index: int) -> NodeOrLeaf:
        name = code_of(node.children[0])
        return replaced(node, f'{name} = globals().setdefault("_stale_{name}", {code_of(node.children[2])})')

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example(
                "def f(x):\n    left = STATE[x] - 1\n    y = x\n",
                'def f(x):\n    left = globals().setdefault("_stale_left", STATE[x] - 1)\n    y = x\n',
            ),
        )


class WrongUnit(Operator):  # type: ignore[misc]
    """Take an argument for one in another unit where it is compared: a hundredth of it, or a hundred times as much."""

    _FACTORS = ("/ 100", "* 100")

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Position]:
        if isinstance(node, Name) and is_ordered(node) and node.value in parameters_of(node):
            for _ in self._FACTORS:
                yield node.start_pos, node.end_pos

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        return replaced(node, f"{code_of(node)} {self._FACTORS[index]}")

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example("def f(x):\n    if x > y: raise E\n", "def f(x):\n    if x / 100 > y: raise E\n"),
            Example(
                "def f(x):\n    if 1 < x: raise E\n", "def f(x):\n    if 1 < x * 100: raise E\n", occurrence=1
            ),
        )


class Tolerance(Operator):  # type: ignore[misc]
    """Allow a tenth more than a bound."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Position]:
        for number in self._bounds(node):
            child = node.children[number]  # type: ignore[attr-defined] # a comparison
            yield child.start_pos, child.end_pos

    def mutate(self, node: BaseNode, index: int) -> NodeOrLeaf:
        number = self._bounds(node)[index]
        replace_child(node, number, f"{in_brackets(node.children[number])} * 1.1")
        return node

    @staticmethod
    def _bounds(node: NodeOrLeaf) -> list[int]:
        """Return the numbers of the operands after an order that are no arguments of the tool."""
        if node.type != "comparison" or not isinstance(node, BaseNode):
            return []
        parameters = parameters_of(node)
        return [
            number
            for number in range(2, len(node.children), 2)
            if code_of(node.children[number - 1]) in ORDERS
            and code_of(node.children[number]) not in {"0", *parameters}
        ]

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example(
                "def f(x):\n    return 0 < x <= a - b\n", "def f(x):\n    return 0 < x <= (a - b) * 1.1\n"
            ),
            Example("def f(x):\n    return x > y\n", "def f(x):\n    return x > y * 1.1\n"),
        )


class OneLiteral(Operator):  # type: ignore[misc]
    """Let a guard look at one case only: refuse only if an argument is what it was in the incident."""

    def __init__(self, **literals: str | float) -> None:
        """Take by the name of an argument what it was in the incident, in Python's notation."""
        self._literals = literals

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Position]:
        for number, _, _ in self._places(node):
            child = node.children[number]  # type: ignore[attr-defined] # an `if`
            yield child.start_pos, child.end_pos

    def mutate(self, node: BaseNode, index: int) -> NodeOrLeaf:
        number, is_refusal, name = self._places(node)[index]
        condition = in_brackets(node.children[number])
        case = f"and {name} ==" if is_refusal else f"or {name} !="
        replace_child(node, number, f"{condition} {case} {self._literals[name]}")
        return node

    def _places(self, node: NodeOrLeaf) -> list[tuple[int, bool, str]]:
        names = [name for name in parameters_of(node) if name in self._literals]
        return [(*decision, name) for decision in decisions_of(node) for name in names]

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example(
                "def f(x):\n    if x > 1: raise E\n",
                "def f(x):\n    if (x > 1) and x == 7: raise E\n",
                operator_args={"x": "7"},
            ),
            Example(
                "def f(x):\n    if x: return g(x)\n",
                "def f(x):\n    if x or x != 'A1': return g(x)\n",
                operator_args={"x": "'A1'"},
            ),
        )


class DropBound(Operator):  # type: ignore[misc]
    """Leave out a bound: replace `min(x, y)` or `max(x, y)` by one of its arguments."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Position]:
        for _ in self._arguments(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        return replaced(node, in_brackets(self._arguments(node)[index]))

    @staticmethod
    def _arguments(node: NodeOrLeaf) -> list[NodeOrLeaf]:
        if node.type != "atom_expr" or not isinstance(node, BaseNode) or len(node.children) != 2:
            return []
        trailer = node.children[1]
        if code_of(node.children[0]) not in {"min", "max"} or code_of(trailer)[:1] != "(":
            return []
        arguments = trailer.children[1] if isinstance(trailer, BaseNode) else trailer
        if arguments.type != "arglist" or not isinstance(arguments, BaseNode):
            return []
        given = [child for child in arguments.children if code_of(child) != ","]
        return [] if any(child.type == "argument" for child in given) else given

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example("x = 2 * max(0, min(y + 1, z))", "x = 2 * min(y + 1, z)", occurrence=1),
            Example("x = min(y + 1, z)", "x = (y + 1)"),
        )


class DropNormalisation(Operator):  # type: ignore[misc]
    """Leave out what makes texts alike: `strip`, `lower`, `casefold`, `unicodedata.normalize` and their like."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Position]:
        for _ in self._places(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: BaseNode, index: int) -> NodeOrLeaf:
        number = self._places(node)[index]
        if code_of(node.children[number]) == ".normalize":
            arguments = node.children[number + 1].children[1]
            rest = "".join(child.get_code() for child in node.children[number + 2 :])
            return replaced(node, code_of(arguments.children[-1]) + rest)
        kept = [*node.children[:number], *node.children[number + 2 :]]
        return replaced(node, "".join(child.get_code() for child in kept).lstrip())

    @staticmethod
    def _places(node: NodeOrLeaf) -> list[int]:
        if node.type != "atom_expr" or not isinstance(node, BaseNode):
            return []
        codes = [code_of(child) for child in node.children]
        places = [
            number
            for number in range(1, len(codes) - 1)
            if codes[number][1:].strip() in _NORMALISERS and is_empty_call(node.children[number + 1])
        ]
        if codes[:2] == ["unicodedata", ".normalize"] and len(codes) > 2:
            arguments = node.children[2].children
            if len(arguments) == 3 and arguments[1].type == "arglist":
                places.append(1)
        return places

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example("x = y.strip().lower()", "x = y.lower()"),
            Example("x = y.strip().lower()", "x = y.strip()", occurrence=1),
            Example("x = unicodedata.normalize('NFKC', y).lower()", "x = y.lower()", occurrence=1),
        )


AGENT_OPERATORS: tuple[type[Operator], ...] = (
    ActFirst,
    SwallowRefusal,
    RefuseEverything,
    AllowEverything,
    DropAwait,
    CheckWrongArgument,
    StaleRead,
    WrongUnit,
    Tolerance,
    OneLiteral,
    DropBound,
    DropNormalisation,
)
"""The operators for guards, in the order in which they are tried."""
