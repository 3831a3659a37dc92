"""A call in front of a Python function's own code, put there in place.

The function stays what it is: its identity, its signature, early references to it, what its tracebacks show. The call comes
before all that the compiler put there, also before a generator or a coroutine is made, so it is made when the function is
called. Until its RESUME a frame doesn't count as begun, and `f_back` passes over it: the hook's caller is the function's.

Not `bytecode`: taking apart and putting together a large function costs milliseconds, and nothing in it changes but offsets.
"""

from __future__ import annotations

import functools
import opcode
import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

_NO_LOCATION = 15
"""Of the kinds of entries in a line table, the one for code that stands on no line."""

_MOST = 8
"""So many code units has an entry of a line table at most."""

_SPACE = 2
"""What a call needs of the stack beside its arguments."""


def with_call(code: CodeType, hook: Callable[..., None], parameters: tuple[int, ...] = ()) -> CodeType:
    """Return this code with a call of `hook` in front, which is given the parameters of these indices."""
    return _behind(code, _call(len(code.co_consts), parameters), hook, _SPACE + len(parameters))


def _behind(code: CodeType, prefix: bytes, constant: Any, space: int) -> CodeType:
    units = len(prefix) // 2
    return code.replace(
        co_code=prefix + code.co_code,
        co_consts=(*code.co_consts, constant),
        co_stacksize=max(code.co_stacksize, space),
        co_linetable=_nowhere(units) + code.co_linetable,
        co_exceptiontable=_shifted(code.co_exceptiontable, units),
    )


def with_answer(
    code: CodeType, hook: Callable[..., tuple[Any] | None], parameters: tuple[int, ...]
) -> CodeType:
    """Return this code with a call of `hook` in front, which may answer: with what it gives in a tuple the function returns.

    Where it gives None the function goes on. Only for plain functions: a generator's value is no generator.
    """
    answer = _operation("UNPACK_SEQUENCE", 1) + _operation("RETURN_VALUE")
    parts = [
        _called(len(code.co_consts), parameters),
        _operation("COPY", 1),
        # Until 3.11 jumps say their direction.
        _operation(
            "POP_JUMP_FORWARD_IF_NONE" if sys.version_info < (3, 12) else "POP_JUMP_IF_NONE", len(answer) // 2
        ),
        answer,
        _operation("POP_TOP"),
    ]
    return _behind(code, b"".join(parts), hook, _SPACE + len(parameters))


@functools.cache
def _call(constant: int, parameters: tuple[int, ...]) -> bytes:
    return _called(constant, parameters) + _operation("POP_TOP")


def _called(constant: int, parameters: tuple[int, ...]) -> bytes:
    count = len(parameters)
    load = _operation("LOAD_CONST", constant)
    parts = [load, _operation("PUSH_NULL")]
    if sys.version_info < (3, 13):
        parts.reverse()
    parts += [_operation("LOAD_FAST", index) for index in parameters]
    if sys.version_info < (3, 12):
        parts.append(_operation("PRECALL", count))
    parts.append(_operation("CALL", count))
    return b"".join(parts)


def _operation(name: str, argument: int = 0) -> bytes:
    """Return the bytes of an operation, with those of its caches behind it."""
    extended = b"".join(
        bytes((opcode.opmap["EXTENDED_ARG"], argument >> shift & 0xFF))
        for shift in (24, 16, 8)
        if argument >> shift
    )
    return extended + bytes((opcode.opmap[name], argument & 0xFF)) + b"\0\0" * _caches(name)


def _caches(name: str) -> int:
    entries: Any = opcode._inline_cache_entries  # type: ignore[attr-defined]  # noqa: SLF001 - `dis` reads it, too
    # By number until 3.12, by name since.
    return int(entries.get(name, 0) if isinstance(entries, dict) else entries[opcode.opmap[name]])


@functools.cache
def _nowhere(units: int) -> bytes:
    """Return the line table of so many code units that stand on no line."""
    entries = bytearray()
    while units:
        length = min(units, _MOST)
        entries.append(0x80 | _NO_LOCATION << 3 | length - 1)
        units -= length
    return bytes(entries)


def _shifted(table: bytes, units: int) -> bytes:
    """Return an exception table for code that starts so many units later."""
    shifted = bytearray()
    numbers = _numbers(table)
    for start in numbers:
        length, target, depth = next(numbers), next(numbers), next(numbers)
        shifted += (
            _number(start + units, first=True) + _number(length) + _number(target + units) + _number(depth)
        )
    return bytes(shifted)


def _numbers(table: bytes) -> Iterator[int]:
    """Read numbers of six bits a byte, the highest first; one that goes on has bit 6 set."""
    bytes_left = iter(table)
    for byte in bytes_left:
        number = byte & 63
        going_on = byte
        while going_on & 64:
            going_on = next(bytes_left)
            number = number << 6 | going_on & 63
        yield number


def _number(number: int, *, first: bool = False) -> bytes:
    groups = [number & 63]
    while number := number >> 6:
        groups.append(number & 63 | 64)
    groups.reverse()
    if first:  # bit 7 marks where an entry starts
        groups[0] |= 128
    return bytes(groups)
