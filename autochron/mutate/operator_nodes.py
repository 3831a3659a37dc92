"""Helpers for operators: leaves to put in the place of nodes of parso's tree."""

from __future__ import annotations

from typing import TypeAlias

from parso.tree import BaseNode, Leaf, NodeOrLeaf, TypedLeaf

Position: TypeAlias = tuple[tuple[int, int], tuple[int, int]]
"""Where something begins and ends: (line, column) each; lines from 1, columns from 0."""


def is_word(character: str) -> bool:
    """Return whether a character may be part of a word, so that two of them need a blank between them."""
    # A quote would make the word before it a prefix of a string.
    return character.isalnum() or character in "_'\""


def first_leaf(node: NodeOrLeaf) -> Leaf:
    """Return the first leaf of a node, or the leaf itself."""
    leaf: Leaf = node.get_first_leaf()
    return leaf


def replaced(node: NodeOrLeaf, text: str) -> TypedLeaf:
    """Return a leaf with a text to put in the place of a node, after the same blanks."""
    prefix = first_leaf(node).prefix
    first = node.get_code(include_prefix=False)[0]
    if not prefix and node.start_pos[1] and is_word(text[0]) and not is_word(first):
        prefix = " "  # a bracket that separated words was removed
    return TypedLeaf("mutated", text, node.start_pos, prefix)


def replace_child(parent: BaseNode, index: int, text: str) -> None:
    """Replace a child by a text, with a blank before it."""
    child = parent.children[index]
    prefix = first_leaf(child).prefix or " "
    parent.children[index] = TypedLeaf("mutated", text, child.start_pos, prefix)
