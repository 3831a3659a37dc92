"""How the instructions that weaving writes and looks for differ between versions of CPython.

Sources: the opcode metadata of each version (`Include/internal/pycore_opcode_utils.h`, `Lib/opcode.py`), and what its
compiler writes for the probes of `weaving.probes`.
"""

from __future__ import annotations

import opcode
import sys

VERSION = sys.version_info[:2]

VERIFIED = ((3, 11), (3, 12), (3, 13), (3, 14), (3, 15))
"""The versions for which our own assembler is tested against the standard library, and weaving against CPython's tests."""

SINCE_3_12 = sys.version_info >= (3, 12)
"""Coroutines and generators have a handler around their whole body; jumps have no direction in their names."""

SINCE_3_13 = sys.version_info >= (3, 13)
"""PUSH_NULL follows the callee; conditional jumps take a bool; fused loads of local variables."""

SINCE_3_14 = sys.version_info >= (3, 14)
"""A subscript is a BINARY_OP; `with` loads its methods by LOAD_SPECIAL; loads may borrow a local variable's reference."""

SINCE_3_15 = sys.version_info >= (3, 15)
"""An iterator that SEND drives has a NULL above it; RESUME has one more bit for its kind."""

SUBSCRIPT, SUBSCRIPT_ARGUMENT = ("BINARY_OP", 26) if SINCE_3_14 else ("BINARY_SUBSCR", 0)
"""The instruction for `a[b]`, and its argument."""

RESUME_KIND = 7 if SINCE_3_15 else 3
"""The bits of RESUME's argument that say where it stands."""

DEPTH_ONE = 8 if SINCE_3_15 else 4
"""From 3.13 on: a bit of RESUME that lets `close` drop a frame without running it."""

AT_START, AFTER_YIELD, AFTER_YIELD_FROM, AFTER_AWAIT = range(4)
"""The kinds of RESUME."""

SENT_SLOTS = 3 if SINCE_3_15 else 2
"""The stack slots of SEND: the iterator, from 3.15 on a NULL, and the value that is sent."""

COMMON_NONE = 7
"""From 3.15 on: None, as the argument of LOAD_COMMON_CONSTANT."""

JUMP_IF = "POP_JUMP_IF_" if SINCE_3_12 else "POP_JUMP_FORWARD_IF_"
"""How the names of the conditional jumps forward begin."""


def is_subscript(op: int, argument: int) -> bool:
    """Return whether an instruction is that of `a[b]`."""
    return op == _SUBSCRIPT and (argument == SUBSCRIPT_ARGUMENT or not SINCE_3_14)


_SUBSCRIPT = opcode.opmap.get(SUBSCRIPT, -1)


def cache_units() -> list[int]:
    """Return the number of inline cache units behind each opcode."""
    entries = opcode._inline_cache_entries  # type: ignore[attr-defined]  # noqa: SLF001 - dis has no public form
    if isinstance(entries, list | tuple):  # until 3.12 by number, from then on by name
        return list(entries)
    return [entries.get(name, 0) for name in opcode.opname]
