"""What the nodes of a guard are: its conditions, its refusals, its action, and the arguments of the tool.

A guard is an `if` before an action: it refuses, by a `return` or a `raise`, or it acts, by a `return` of a call.
"""

from __future__ import annotations

from typing import Literal

from parso.python.tree import Function, Keyword, Name
from parso.tree import BaseNode, Leaf, NodeOrLeaf

from autochron.mutate.operator_nodes import Position, first_leaf

ORDERS = frozenset({"<", ">", "<=", ">="})


def code_of(node: NodeOrLeaf) -> str:
    """Return the code of a node without the blanks before it."""
    code: str = node.get_code(include_prefix=False)
    return code


def head_of(node: NodeOrLeaf) -> Position:
    """Return where the `if` and the condition of an `if` statement are."""
    children = node.children  # type: ignore[attr-defined]
    return children[0].start_pos, children[1].end_pos


def indentation_of(node: NodeOrLeaf) -> str:
    """Return the blanks before a statement that begins its line."""
    return (
        " " * node.start_pos[1]
        if "\t" not in first_leaf(node).prefix
        else first_leaf(node).prefix.rpartition("\n")[2]
    )


def last_statement(suite: NodeOrLeaf) -> NodeOrLeaf:
    """Return the last statement of a suite, or of the rest of a line after a colon."""
    node = suite
    while isinstance(node, BaseNode) and node.type in {"suite", "simple_stmt"}:
        statements = [child for child in node.children if child.type not in {"newline", "operator"}]
        node = statements[-1]
    return node


def awaits(node: NodeOrLeaf) -> bool:
    """Return whether a node is an `await` with what it waits for."""
    return node.type == "atom_expr" and isinstance(node, BaseNode) and code_of(node.children[0]) == "await"


def is_empty_call(trailer: NodeOrLeaf) -> bool:
    """Return whether a node is the brackets of a call without arguments."""
    return isinstance(trailer, BaseNode) and [code_of(child) for child in trailer.children] == ["(", ")"]


def returned_call(statement: NodeOrLeaf) -> BaseNode | None:
    """Return the call that a `return` statement returns; None where it returns something else."""
    if statement.type != "return_stmt" or not isinstance(statement, BaseNode):
        return None
    value = statement.children[1]
    is_call = (
        value.type == "atom_expr" and isinstance(value, BaseNode) and code_of(value.children[-1])[:1] == "("
    )
    return value if is_call else None


def end_of_branch(suite: NodeOrLeaf) -> Literal["acts", "refuses", ""]:
    """Return how a branch of a guard ends; an empty text where it is no guard."""
    last = last_statement(suite)
    if returned_call(last) is not None:
        return "acts"
    return "refuses" if last.type in {"return_stmt", "raise_stmt"} else ""


def statements_after(node: NodeOrLeaf) -> list[NodeOrLeaf]:
    """Return the statements that follow one in its block."""
    parent = node.parent
    if parent is None:
        return []
    number = number_of(node, parent)
    return [child for child in parent.children[number + 1 :] if child.type not in {"newline", "endmarker"}]


def action_of(node: NodeOrLeaf) -> BaseNode | None:
    """Return the call that an `if` statement guards: the one it returns, or the one that its block returns at last."""
    if node.type != "if_stmt" or not isinstance(node, BaseNode) or function_of(node) is None:
        return None
    end = end_of_branch(node.children[3])
    if end == "acts":
        return returned_call(last_statement(node.children[3]))
    following = statements_after(node)
    return returned_call(last_statement(following[-1])) if end == "refuses" and following else None


def is_refusal_before_more(node: NodeOrLeaf) -> bool:
    """Return whether a `return` or `raise` is the end of an `if` after which its block goes on, and returns no call."""
    if not isinstance(node, BaseNode) or returned_call(node) is not None or len(node.children) != 2:
        return False
    block = node.parent
    while block is not None and block.type in {"simple_stmt", "suite"}:
        block = block.parent
    return block is not None and block.type == "if_stmt" and bool(statements_after(block))


def number_of(node: NodeOrLeaf, parent: BaseNode) -> int:
    """Return which child of its parent a node is. A mutant is made from a copy, which is itself no child."""
    return next(number for number, child in enumerate(parent.children) if child.start_pos == node.start_pos)


def parent_of(node: NodeOrLeaf) -> BaseNode:
    """Return the node that a node is in; only the module itself is in none."""
    parent: BaseNode | None = node.parent
    assert parent is not None  # noqa: S101 - see above
    return parent


def function_of(node: NodeOrLeaf) -> Function | None:
    """Return the function that a node is in."""
    parent = node.parent
    while parent is not None and not isinstance(parent, Function):
        parent = parent.parent
    return parent


def parameters_of(node: NodeOrLeaf) -> list[str]:
    """Return the names of the arguments of the function that a node is in, without `self` and `cls`."""
    function = function_of(node)
    if function is None:
        return []
    names = [parameter.name.value for parameter in function.get_params()]
    return [name for name in names if name not in {"self", "cls"}]


def is_read(name: Name) -> bool:
    """Return whether a name is read as a variable, and is no attribute and no keyword of a call."""
    parent = parent_of(name)
    if parent.type == "trailer" and code_of(parent.children[0]) == ".":
        return False
    return not (
        parent.type == "argument" and number_of(name, parent) == 0 and code_of(parent.children[1]) == "="
    )


def is_in_condition(node: NodeOrLeaf) -> bool:
    """Return whether a node is in the condition of an `if`, an `elif`, a `while` or a conditional expression."""
    child, parent = node, node.parent
    while parent is not None and parent.type not in {"suite", "simple_stmt", "funcdef", "lambdef"}:
        if parent.type in {"if_stmt", "while_stmt"}:
            return True
        if parent.type == "test" and number_of(child, parent) == 2:
            return True
        child, parent = parent, parent.parent
    return False


def is_ordered(name: Name) -> bool:
    """Return whether a name is itself an operand beside `<`, `>`, `<=` or `>=`, and what it is compared with is not 0."""
    parent = parent_of(name)
    if parent.type != "comparison":
        return False
    number = number_of(name, parent)
    codes = [code_of(child) for child in parent.children]
    pairs = [codes[max(0, number - 2) : number], codes[number + 2 : number : -1]]
    return any(pair[1] in ORDERS and pair[0] != "0" for pair in pairs if pair)


def is_read_of_state(node: NodeOrLeaf) -> bool:
    """Return whether a node assigns to a name, in a function, a value with an item, an attribute or a call in it."""
    if node.type != "expr_stmt" or not isinstance(node, BaseNode) or function_of(node) is None:
        return False
    if len(node.children) != 3 or code_of(node.children[1]) != "=" or node.children[0].type != "name":
        return False
    pending: list[NodeOrLeaf] = [node.children[2]]
    while pending:
        candidate = pending.pop()
        if candidate.type == "trailer":
            return True
        pending += candidate.children if isinstance(candidate, BaseNode) else []
    return False


def decisions_of(node: NodeOrLeaf) -> list[tuple[int, bool]]:
    """Return the numbers of the conditions of an `if` statement, and whether what follows each is a refusal."""
    if node.type != "if_stmt" or not isinstance(node, BaseNode):
        return []
    words = [child.value if isinstance(child, Keyword) else "" for child in node.children]
    ends = {
        number + 1: end_of_branch(node.children[number + 3])
        for number, word in enumerate(words)
        if word in {"if", "elif"}
    }
    return [(number, end == "refuses") for number, end in ends.items() if end]


def in_brackets(node: NodeOrLeaf) -> str:
    """Return the code of an expression, in brackets unless it is a name, a literal, a call or in brackets itself."""
    is_whole = isinstance(node, Leaf) or node.type in {"atom", "atom_expr"}
    return code_of(node) if is_whole else f"({code_of(node)})"
