"""Insert a call in front of a Python function's own code, in place.

The function stays the same object: its identity, its signature, early references to it and its tracebacks stay as they
are. The call comes before all instructions of the compiler, also before those that make a generator or a coroutine. So
it is made when the function is called. Until its RESUME a frame doesn't count as begun and `f_back` skips it: the
hook's caller is the function's caller.

Not with `bytecode`: it takes milliseconds to disassemble and assemble a large function, and only offsets change here.
"""

from __future__ import annotations

import functools
import opcode
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from autochron._runtime.instruction_set import JUMP_IF, SINCE_3_12, SINCE_3_13, cache_units

_CACHES = cache_units()

_NO_LOCATION = 15
"""The kind of an entry in a line table whose code is on no line."""

_MOST_UNITS = 8
"""The most code units that one entry of a line table covers."""

_SPACE = 2
"""The stack slots that a call needs beside its arguments."""


def with_call(code: CodeType, hook: Callable[..., None], parameters: tuple[int, ...] = ()) -> CodeType:
    """Return this code with a call of `hook` in front.

    Args:
        code: the code of a function.
        hook: called when the function is called.
        parameters: the indices of the parameters that the hook is passed.
    """
    return _with_prefix(code, _plain_call(len(code.co_consts), parameters), hook, _SPACE + len(parameters))


def _with_prefix(code: CodeType, prefix: bytes, constant: Any, space: int) -> CodeType:
    """Return this code with instructions in front, one more constant, and room on the stack."""
    units = len(prefix) // 2
    return code.replace(
        co_code=prefix + code.co_code,
        co_consts=(*code.co_consts, constant),
        co_stacksize=max(code.co_stacksize, space),
        co_linetable=_lines_of_prefix(units) + code.co_linetable,
        co_exceptiontable=_shifted(code.co_exceptiontable, units),
    )


def with_answer(
    code: CodeType, hook: Callable[..., tuple[Any] | None], parameters: tuple[int, ...]
) -> CodeType:
    """Return this code with a call of `hook` in front, whose result may replace the function's.

    Only for plain functions: the hook's value is no generator or coroutine.

    Args:
        code: the code of a function.
        hook: called when the function is called. If it returns a tuple of one value, the function returns that value at
            once. If it returns None, the function goes on.
        parameters: the indices of the parameters that the hook is passed.
    """
    answer = _operation("UNPACK_SEQUENCE", 1) + _operation("RETURN_VALUE")
    parts = [
        _call_operations(len(code.co_consts), parameters),
        _operation("COPY", 1),
        _operation(f"{JUMP_IF}NONE", len(answer) // 2),
        answer,
        _operation("POP_TOP"),
    ]
    return _with_prefix(code, b"".join(parts), hook, _SPACE + len(parameters))


@functools.cache
def _plain_call(constant: int, parameters: tuple[int, ...]) -> bytes:
    """Return the instructions that call a constant and drop its result."""
    return _call_operations(constant, parameters) + _operation("POP_TOP")


def _call_operations(constant: int, parameters: tuple[int, ...]) -> bytes:
    """Return the instructions that call a constant with the values of parameters."""
    count = len(parameters)
    load = _operation("LOAD_CONST", constant)
    parts = [load, _operation("PUSH_NULL")]
    if not SINCE_3_13:
        parts.reverse()
    parts += [_operation("LOAD_FAST", index) for index in parameters]
    if not SINCE_3_12:
        parts.append(_operation("PRECALL", count))
    parts.append(_operation("CALL", count))
    return b"".join(parts)


def _operation(name: str, argument: int = 0) -> bytes:
    """Return the bytes of an instruction, with those of its inline caches behind it."""
    extended = b"".join(
        bytes((opcode.opmap["EXTENDED_ARG"], argument >> shift & 0xFF))
        for shift in (24, 16, 8)
        if argument >> shift
    )
    return extended + bytes((opcode.opmap[name], argument & 0xFF)) + b"\0\0" * _CACHES[opcode.opmap[name]]


@functools.cache
def _lines_of_prefix(units: int) -> bytes:
    """Return the line table of so many code units that are on no line."""
    entries = bytearray()
    while units:
        length = min(units, _MOST_UNITS)
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
    """Yield the numbers of an exception table: six bits a byte, the highest first. Bit 6 says that a byte follows."""
    bytes_left = iter(table)
    for byte in bytes_left:
        number = byte & 63
        last_byte = byte
        while last_byte & 64:
            last_byte = next(bytes_left)
            number = number << 6 | last_byte & 63
        yield number


def _number(number: int, *, first: bool = False) -> bytes:
    """Encode a number as `_numbers` reads it; bit 7 marks the first number of an entry."""
    groups = [number & 63]
    while number := number >> 6:
        groups.append(number & 63 | 64)
    groups.reverse()
    if first:
        groups[0] |= 128
    return bytes(groups)
