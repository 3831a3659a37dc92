"""Operators for the guards of agents' tools: the mistakes that people make when they write one.

A guard is an `if` before an action: it refuses, by a `return` or a `raise`, or it acts, by a `return` of a call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

from cosmic_ray.operators.operator import Example, Operator
from parso.python.tree import Function, Keyword, Name
from parso.tree import BaseNode, Leaf, NodeOrLeaf

from autochron.mutate.operator_nodes import Position, first_leaf, replace_child, replaced

_ORDERS = frozenset({"<", ">", "<=", ">="})
_NORMALISERS = frozenset({"strip", "lstrip", "rstrip", "lower", "upper", "casefold", "title"})


# --- When the tool acts ---


class ActFirst(Operator):  # type: ignore[misc] # cosmic-ray has no types
    """Do what the guard stands before, and check afterwards."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Position]:
        if _action_of(node) is not None:
            yield _head(node)

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        action = _action_of(node)
        assert action is not None  # noqa: S101 - else there is no position
        return replaced(node, f"{_code(action)}\n{_indentation(node)}{_code(node)}")

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
        if node.type in {"return_stmt", "raise_stmt"} and _is_refusal_before_more(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: BaseNode, index: int) -> NodeOrLeaf:
        return replaced(node, _code(node.children[1]))

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
        for number, _ in self._places(node):
            child = node.children[number]  # type: ignore[attr-defined] # an `if`
            yield child.start_pos, child.end_pos

    def mutate(self, node: BaseNode, index: int) -> NodeOrLeaf:
        number, is_refusal = self._places(node)[index]
        replace_child(node, number, str(is_refusal is self.refuses))
        return node

    @staticmethod
    def _places(node: NodeOrLeaf) -> list[tuple[int, bool]]:
        """Return the numbers of the conditions, and whether what follows each is a refusal."""
        if node.type != "if_stmt" or not isinstance(node, BaseNode):
            return []
        words = [child.value if isinstance(child, Keyword) else "" for child in node.children]
        ends = {
            number + 1: _end_of(node.children[number + 3])
            for number, word in enumerate(words)
            if word in {"if", "elif"}
        }
        return [(number, end == "refuses") for number, end in ends.items() if end]


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
        if _awaits(node):
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
        if not isinstance(node, Name) or not _is_read(node) or not _is_in_condition(node):
            return []
        parameters = _parameters(node)
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
        if _is_read_of_state(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: BaseNode, index: int) -> NodeOrLeaf:
        name = _code(node.children[0])
        return replaced(node, f'{name} = globals().setdefault("_stale_{name}", {_code(node.children[2])})')

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
        if isinstance(node, Name) and _is_ordered(node) and node.value in _parameters(node):
            for _ in self._FACTORS:
                yield node.start_pos, node.end_pos

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        return replaced(node, f"{_code(node)} {self._FACTORS[index]}")

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
        bound = node.children[number]
        is_whole = isinstance(bound, Leaf) or bound.type in {"atom", "atom_expr"}
        replace_child(node, number, f"{_code(bound) if is_whole else f'({_code(bound)})'} * 1.1")
        return node

    @staticmethod
    def _bounds(node: NodeOrLeaf) -> list[int]:
        """Return the numbers of the operands after an order that are no arguments of the tool."""
        if node.type != "comparison" or not isinstance(node, BaseNode):
            return []
        parameters = _parameters(node)
        return [
            number
            for number in range(2, len(node.children), 2)
            if _code(node.children[number - 1]) in _ORDERS
            and _code(node.children[number]) not in {"0", *parameters}
        ]

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example(
                "def f(x):\n    return 0 < x <= a - b\n", "def f(x):\n    return 0 < x <= (a - b) * 1.1\n"
            ),
            Example("def f(x):\n    return x > y\n", "def f(x):\n    return x > y * 1.1\n"),
        )


class DropNormalisation(Operator):  # type: ignore[misc]
    """Leave out what makes texts alike: `strip`, `lower`, `casefold`, `unicodedata.normalize` and their like."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Position]:
        for _ in self._places(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: BaseNode, index: int) -> NodeOrLeaf:
        number = self._places(node)[index]
        if _code(node.children[number]) == ".normalize":
            arguments = node.children[number + 1].children[1]
            rest = "".join(child.get_code() for child in node.children[number + 2 :])
            return replaced(node, _code(arguments.children[-1]) + rest)
        kept = [*node.children[:number], *node.children[number + 2 :]]
        return replaced(node, "".join(child.get_code() for child in kept).lstrip())

    @staticmethod
    def _places(node: NodeOrLeaf) -> list[int]:
        if node.type != "atom_expr" or not isinstance(node, BaseNode):
            return []
        codes = [_code(child) for child in node.children]
        places = [
            number
            for number in range(1, len(codes) - 1)
            if codes[number][1:].strip() in _NORMALISERS and _is_empty_call(node.children[number + 1])
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
    DropNormalisation,
)
"""The operators for guards, in the order in which they are tried."""


# --- Nodes ---


def _code(node: NodeOrLeaf) -> str:
    code: str = node.get_code(include_prefix=False)
    return code


def _head(node: NodeOrLeaf) -> Position:
    """Return where the `if` and the condition of an `if` statement are."""
    children = node.children  # type: ignore[attr-defined]
    return children[0].start_pos, children[1].end_pos


def _indentation(node: NodeOrLeaf) -> str:
    """Return the blanks before a statement that begins its line."""
    return (
        " " * node.start_pos[1]
        if "\t" not in first_leaf(node).prefix
        else first_leaf(node).prefix.rpartition("\n")[2]
    )


def _last_statement(suite: NodeOrLeaf) -> NodeOrLeaf:
    """Return the last statement of a suite, or of the rest of a line after a colon."""
    node = suite
    while isinstance(node, BaseNode) and node.type in {"suite", "simple_stmt"}:
        statements = [child for child in node.children if child.type not in {"newline", "operator"}]
        node = statements[-1]
    return node


def _awaits(node: NodeOrLeaf) -> bool:
    return node.type == "atom_expr" and isinstance(node, BaseNode) and _code(node.children[0]) == "await"


def _is_empty_call(trailer: NodeOrLeaf) -> bool:
    return isinstance(trailer, BaseNode) and [_code(child) for child in trailer.children] == ["(", ")"]


def _returned_call(statement: NodeOrLeaf) -> BaseNode | None:
    """Return the call that a `return` statement returns; None where it returns something else."""
    if statement.type != "return_stmt" or not isinstance(statement, BaseNode):
        return None
    value = statement.children[1]
    is_call = (
        value.type == "atom_expr" and isinstance(value, BaseNode) and _code(value.children[-1])[:1] == "("
    )
    return value if is_call else None


def _end_of(suite: NodeOrLeaf) -> Literal["acts", "refuses", ""]:
    """Return how a branch of a guard ends; an empty text where it is no guard."""
    last = _last_statement(suite)
    if _returned_call(last) is not None:
        return "acts"
    return "refuses" if last.type in {"return_stmt", "raise_stmt"} else ""


def _statements_after(node: NodeOrLeaf) -> list[NodeOrLeaf]:
    """Return the statements that follow one in its block."""
    parent = node.parent
    if parent is None:
        return []
    number = _number_of(node, parent)
    return [child for child in parent.children[number + 1 :] if child.type not in {"newline", "endmarker"}]


def _action_of(node: NodeOrLeaf) -> BaseNode | None:
    """Return the call that an `if` statement guards: the one it returns, or the one that its block returns at last."""
    if node.type != "if_stmt" or not isinstance(node, BaseNode) or _function_of(node) is None:
        return None
    end = _end_of(node.children[3])
    if end == "acts":
        return _returned_call(_last_statement(node.children[3]))
    following = _statements_after(node)
    return _returned_call(_last_statement(following[-1])) if end == "refuses" and following else None


def _is_refusal_before_more(node: NodeOrLeaf) -> bool:
    """Return whether a `return` or `raise` is the end of an `if` after which its block goes on, and returns no call."""
    if not isinstance(node, BaseNode) or _returned_call(node) is not None or len(node.children) != 2:
        return False
    block = node.parent
    while block is not None and block.type in {"simple_stmt", "suite"}:
        block = block.parent
    return block is not None and block.type == "if_stmt" and bool(_statements_after(block))


def _number_of(node: NodeOrLeaf, parent: BaseNode) -> int:
    """Return which child of its parent a node is. A mutant is made from a copy, which is itself no child."""
    return next(number for number, child in enumerate(parent.children) if child.start_pos == node.start_pos)


def _parent_of(node: NodeOrLeaf) -> BaseNode:
    """Return the node that a node is in; only the module itself is in none."""
    parent: BaseNode | None = node.parent
    assert parent is not None  # noqa: S101 - see above
    return parent


def _function_of(node: NodeOrLeaf) -> Function | None:
    """Return the function that a node is in."""
    parent = node.parent
    while parent is not None and not isinstance(parent, Function):
        parent = parent.parent
    return parent


def _parameters(node: NodeOrLeaf) -> list[str]:
    """Return the names of the arguments of the function that a node is in, without `self` and `cls`."""
    function = _function_of(node)
    if function is None:
        return []
    names = [parameter.name.value for parameter in function.get_params()]
    return [name for name in names if name not in {"self", "cls"}]


def _is_read(name: Name) -> bool:
    """Return whether a name is read as a variable, and is no attribute and no keyword of a call."""
    parent = _parent_of(name)
    if parent.type == "trailer" and _code(parent.children[0]) == ".":
        return False
    return not (
        parent.type == "argument" and _number_of(name, parent) == 0 and _code(parent.children[1]) == "="
    )


def _is_in_condition(node: NodeOrLeaf) -> bool:
    """Return whether a node is in the condition of an `if`, an `elif`, a `while` or a conditional expression."""
    child, parent = node, node.parent
    while parent is not None and parent.type not in {"suite", "simple_stmt", "funcdef", "lambdef"}:
        if parent.type in {"if_stmt", "while_stmt"}:
            return True
        if parent.type == "test" and _number_of(child, parent) == 2:
            return True
        child, parent = parent, parent.parent
    return False


def _is_ordered(name: Name) -> bool:
    """Return whether a name is itself an operand beside `<`, `>`, `<=` or `>=`, and what it is compared with is not 0."""
    parent = _parent_of(name)
    if parent.type != "comparison":
        return False
    number = _number_of(name, parent)
    codes = [_code(child) for child in parent.children]
    pairs = [codes[max(0, number - 2) : number], codes[number + 2 : number : -1]]
    return any(pair[1] in _ORDERS and pair[0] != "0" for pair in pairs if pair)


def _is_read_of_state(node: NodeOrLeaf) -> bool:
    """Return whether a node assigns to a name, in a function, a value with an item, an attribute or a call in it."""
    if node.type != "expr_stmt" or not isinstance(node, BaseNode) or _function_of(node) is None:
        return False
    if len(node.children) != 3 or _code(node.children[1]) != "=" or node.children[0].type != "name":
        return False
    pending: list[NodeOrLeaf] = [node.children[2]]
    while pending:
        candidate = pending.pop()
        if candidate.type == "trailer":
            return True
        pending += candidate.children if isinstance(candidate, BaseNode) else []
    return False
