"""Disassemble a code object into a list of instructions, and assemble the edited list.

The model has only what an edit needs: instructions that refer to each other, locations, and the exception table. What an
edit does not change is reproduced bit for bit: `assemble(disassemble(code))` equals the code, as a test checks for the
standard library.

Not the `bytecode` package: it computes wrong handler depths for some functions, and its import took 20 ms of every start.
The three formats below are small.

Sources: CPython's Objects/locations.md, Objects/exception_handling_notes.txt, Lib/dis.py.
"""

from __future__ import annotations

import opcode
import sys
from opcode import stack_effect
from types import CodeType

from autochron._runtime.instruction_set import cache_units
from autochron.errors import WeavingError

OPCODES = opcode.opmap
_NAMES = opcode.opname
_EXTENDED_ARG = opcode.opmap["EXTENDED_ARG"]
_JUMPS = frozenset(opcode.hasjrel)
_END_ASYNC_FOR = opcode.opmap["END_ASYNC_FOR"]
_BACKWARD = frozenset(
    op for name, op in opcode.opmap.items() if "JUMP_BACKWARD" in name or name == "END_ASYNC_FOR"
)
"""The jumps whose distance is counted backward. From 3.14 on END_ASYNC_FOR names the END_SEND of its loop; it never jumps."""
_NO_FALL_THROUGH = frozenset(
    op
    for name, op in opcode.opmap.items()
    if name in {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"}
    or name in {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}
)
_UNIT = 2
_MERGES_LOCATIONS = sys.version_info >= (3, 12)
"""Whether the compiler writes one entry of the location table for adjacent instructions with the same location."""


_CACHES = cache_units()

Location = tuple[int | None, int | None, int | None, int | None]
"""(line, end line, column, end column)"""

NO_LOCATION: Location = (None, None, None, None)


class Instruction:
    """One instruction, with its EXTENDED_ARG prefixes.

    Attributes:
        argument: ignored for a jump, whose distance is computed from the target.
        target: the instruction that a jump leads to; None for other instructions.
        width: the least number of code units for a jump and its prefixes. The compiler sometimes leaves a prefix that the
            jump does not need, and it must stay.
    """

    __slots__ = ("argument", "location", "opcode", "target", "width")

    def __init__(
        self, op: int, argument: int = 0, target: Instruction | None = None, location: Location = NO_LOCATION
    ) -> None:
        self.opcode = op
        self.argument = argument
        self.target = target
        self.location = location
        self.width = 1

    @property
    def name(self) -> str:
        """Return the opcode's name."""
        return _NAMES[self.opcode]

    def __repr__(self) -> str:
        return f"{self.name} {self.argument}"


class Handler:
    """One entry of the exception table.

    Attributes:
        start: the first instruction that it covers.
        end: the instruction behind the last one that it covers; None for the end of the code.
        target: the first instruction of the handler.
        depth: the stack depth to unwind to.
        lasti: whether the offset of the instruction that raised is pushed before the exception.
    """

    __slots__ = ("depth", "end", "lasti", "start", "target")

    def __init__(
        self, start: Instruction, end: Instruction | None, target: Instruction, depth: int, lasti: int
    ) -> None:
        self.start = start
        self.end = end
        self.target = target
        self.depth = depth
        self.lasti = lasti


class Assembly:
    """A disassembled code object."""

    __slots__ = ("code", "handlers", "instructions")

    def __init__(self, code: CodeType, instructions: list[Instruction], handlers: list[Handler]) -> None:
        self.code = code
        self.instructions = instructions
        self.handlers = handlers


# --- taking apart --------------------------------------------------------------------------------------------------


def disassemble(code: CodeType) -> Assembly:
    """Return the instructions and handlers of a code object."""
    raw = code.co_code
    positions = list(code.co_positions())
    instructions: list[Instruction] = []
    starts: dict[int, Instruction] = {}
    jumps: list[tuple[Instruction, int]] = []
    offset, size = 0, len(raw)
    while offset < size:
        start, extended = offset, 0
        op = raw[offset]
        while op == _EXTENDED_ARG:
            extended = (extended | raw[offset + 1]) << 8
            offset += _UNIT
            op = raw[offset]
        instruction = Instruction(op, extended | raw[offset + 1], None, positions[start // _UNIT])
        offset += _UNIT + _UNIT * _CACHES[op]
        if op in _JUMPS:
            distance = _UNIT * instruction.argument
            instruction.width = (offset - start) // _UNIT - _CACHES[op]
            jumps.append((instruction, offset - distance if op in _BACKWARD else offset + distance))
        instructions.append(instruction)
        starts[start] = instruction
    for instruction, target_offset in jumps:
        instruction.target = starts[target_offset]
    return Assembly(code, instructions, _read_handlers(code.co_exceptiontable, starts, size))


def _read_handlers(table: bytes, starts: dict[int, Instruction], size: int) -> list[Handler]:
    handlers = []
    stream = iter(table)
    for first in stream:
        start = _read_varint(first, stream) * _UNIT
        length = _read_varint(next(stream), stream) * _UNIT
        target = _read_varint(next(stream), stream) * _UNIT
        depth_lasti = _read_varint(next(stream), stream)
        end = start + length
        last = starts[end] if end < size else None
        handlers.append(Handler(starts[start], last, starts[target], depth_lasti >> 1, bool(depth_lasti & 1)))
    return handlers


def _read_varint(first: int, stream: object) -> int:
    value = first & 63
    while first & 64:
        first = next(stream)  # type: ignore[call-overload]
        value = (value << 6) | (first & 63)
    return value


# --- putting together ----------------------------------------------------------------------------------------------


def assemble(
    assembly: Assembly, *, constants: tuple[object, ...] | None = None, stack_size: int | None = None
) -> CodeType:
    """Return the code object of an edited assembly.

    Args:
        assembly: its instructions and handlers; the rest is that of its original code object.
        constants: the new constants; None for the original ones.
        stack_size: the new stack size, in slots; None for the original one.

    Raises:
        WeavingError: a jump changed its direction.
    """
    instructions = assembly.instructions
    offsets, extents = _lay_out(instructions)
    raw = bytearray()
    for instruction, extent in zip(instructions, extents, strict=True):
        argument = instruction.argument
        for shift in range(8 * (extent - 1), 0, -8):
            raw += bytes((_EXTENDED_ARG, argument >> shift & 255))
        raw += bytes((instruction.opcode, argument & 255))
        raw += bytes(_UNIT * _CACHES[instruction.opcode])
    code = assembly.code
    return code.replace(
        co_code=bytes(raw),
        co_consts=code.co_consts if constants is None else constants,
        co_stacksize=code.co_stacksize if stack_size is None else stack_size,
        co_linetable=_write_locations(code.co_firstlineno, instructions, extents),
        co_exceptiontable=_write_handlers(assembly.handlers, offsets, len(raw) // _UNIT),
    )


def _lay_out(instructions: list[Instruction]) -> tuple[dict[int, int], list[int]]:
    """Compute the distances of jumps, and return where each instruction lies.

    Longer distances need prefixes, which move other instructions, so this repeats until nothing grows.

    Returns:
        The offset of each instruction (by id), and the size of each with its prefixes but without caches; in code units.

    Raises:
        WeavingError: a jump changed its direction.
    """
    extents = [
        _extent(instruction.argument) if instruction.target is None else instruction.width
        for instruction in instructions
    ]
    while True:
        offsets: dict[int, int] = {}
        position = 0
        for instruction, extent in zip(instructions, extents, strict=True):
            offsets[id(instruction)] = position
            position += extent + _CACHES[instruction.opcode]
        grown = False
        for index, instruction in enumerate(instructions):
            if instruction.target is None:
                continue
            after = offsets[id(instruction)] + extents[index] + _CACHES[instruction.opcode]
            distance = offsets[id(instruction.target)] - after
            if instruction.opcode in _BACKWARD:
                distance = -distance
            if distance < 0:
                raise WeavingError(f"{instruction.name} changed its direction")
            instruction.argument = distance
            needed = _extent(distance)
            if needed > extents[index]:
                extents[index], grown = needed, True
        if not grown:
            return offsets, extents


def _extent(argument: int) -> int:
    """Return how many code units an instruction with this argument takes, prefixes included."""
    return 1 if argument < 256 else (argument.bit_length() + 7) // 8


def _write_handlers(handlers: list[Handler], offsets: dict[int, int], size: int) -> bytes:
    rows = []
    for handler in handlers:
        start = offsets[id(handler.start)]
        end = size if handler.end is None else offsets[id(handler.end)]
        if end > start:
            rows.append((start, end - start, offsets[id(handler.target)], handler.depth << 1 | handler.lasti))
    rows.sort()
    table = bytearray()
    for row in rows:
        for index, value in enumerate(row):
            table += _varint_msb(value, 128 if index == 0 else 0)
    return bytes(table)


def _varint_msb(value: int, mark: int) -> bytes:
    """Encode a number in groups of six bits, high ones first, as in the exception table; `mark` is set in the first byte."""
    groups = [value & 63]
    while value := value >> 6:
        groups.append(value & 63 | 64)
    groups.reverse()
    groups[0] |= mark
    return bytes(groups)


def _write_locations(first_line: int, instructions: list[Instruction], extents: list[int]) -> bytes:
    runs: list[tuple[Location, int]] = []
    for instruction, extent in zip(instructions, extents, strict=True):
        units = extent + _CACHES[instruction.opcode]
        if _MERGES_LOCATIONS and runs and runs[-1][0] == instruction.location:
            runs[-1] = (instruction.location, runs[-1][1] + units)
        else:
            runs.append((instruction.location, units))
    table = bytearray()
    line = first_line
    for location, units in runs:
        remaining = units
        while remaining > 0:
            part = min(remaining, 8)
            line = _write_location(table, part, location, line)
            remaining -= part
    return bytes(table)


def _write_location(table: bytearray, units: int, location: Location, previous: int) -> int:
    """Append one entry of the location table, and return the line that the next entry is relative to.

    Args:
        table: the table so far.
        units: how many code units the entry is for, at most 8.
        location: what the entry says.
        previous: the line that this entry is relative to.
    """
    line, end_line, column, end_column = location
    length = units - 1
    if line is None:
        table.append(0x80 | 15 << 3 | length)
        return previous
    delta = line - previous
    if column is None or end_column is None or end_line is None:
        table.append(0x80 | 13 << 3 | length)
        _write_signed(table, delta)
        return line
    if end_line == line and column < 80 and 0 <= end_column - column < 16 and delta == 0:
        table += bytes((0x80 | (column >> 3) << 3 | length, (column & 7) << 4 | end_column - column))
    elif end_line == line and 0 <= delta < 3 and column < 128 and end_column < 128:
        table += bytes((0x80 | 10 + delta << 3 | length, column, end_column))
    else:
        table.append(0x80 | 14 << 3 | length)
        _write_signed(table, delta)
        _write_varint(table, end_line - line)
        _write_varint(table, column + 1)
        _write_varint(table, end_column + 1)
    return line


def _write_varint(table: bytearray, value: int) -> None:
    while value >= 64:
        table.append(64 | value & 63)
        value >>= 6
    table.append(value)


def _write_signed(table: bytearray, value: int) -> None:
    _write_varint(table, -value << 1 | 1 if value < 0 else value << 1)


# --- the depth of the evaluation stack -----------------------------------------------------------------------------


def stack_depths(assembly: Assembly, start: int) -> dict[int, int]:
    """Return the stack depth before each reachable instruction (by id), from depth 0 at index `start`."""
    instructions, handlers = assembly.instructions, assembly.handlers
    index_of = {id(instruction): index for index, instruction in enumerate(instructions)}
    depths: dict[int, int] = {}
    waiting = [(index_of[id(handler.target)], handler.depth + 1 + handler.lasti) for handler in handlers]
    waiting.append((start, 0))
    while waiting:
        index, depth = waiting.pop()
        while index < len(instructions):
            instruction = instructions[index]
            key = id(instruction)
            if key in depths:
                break
            depths[key] = depth
            op, argument = (
                instruction.opcode,
                instruction.argument if instruction.opcode >= _HAVE_ARGUMENT else None,
            )
            if instruction.target is not None and op != _END_ASYNC_FOR:
                taken = depth + stack_effect(op, argument, jump=True)
                waiting.append((index_of[id(instruction.target)], taken))
            if op in _NO_FALL_THROUGH:
                break
            depth += stack_effect(op, argument, jump=False)
            index += 1
    return depths


_HAVE_ARGUMENT = opcode.HAVE_ARGUMENT if sys.version_info < (3, 13) else 0


def operation(name: str) -> int:
    """Return the opcode of a name.

    Raises:
        WeavingError: this Python version has no such instruction.
    """
    try:
        return OPCODES[name]
    except KeyError:
        raise WeavingError(f"this Python has no {name}") from None
