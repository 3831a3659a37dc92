"""Disassemble and assemble code objects by the `bytecode` package, for a Python that our own assembler is not verified for.

The package knows which instructions jump, and how locations and handlers are encoded, for each version of CPython that it
supports. Two of its defaults are not used, because they lose what the compiler wrote: the depths of handlers are kept, and
the stack size is given. It takes about six times as long as `assembly`. See `assembler_choice`.
"""

from __future__ import annotations

import opcode
from types import CodeType
from typing import Any

import bytecode
from bytecode import ConcreteBytecode, ConcreteInstr
from bytecode.concrete import ExceptionTableEntry
from bytecode.instr import InstrLocation

from autochron._runtime.instruction_set import cache_units
from autochron.errors import WeavingError
from autochron.weaving.assembly import Assembly, Handler, Instruction, Location

VERSION: str = bytecode.__version__

_CACHE = "CACHE"
_CACHES = cache_units()
_TAKING_ARGUMENTS = frozenset(getattr(opcode, "hasarg", range(opcode.HAVE_ARGUMENT, 256)))


def disassemble(code: CodeType) -> Assembly:
    """Return the instructions and handlers of a code object.

    Raises:
        WeavingError: the package can't read the code.
    """
    try:
        concrete = ConcreteBytecode.from_code(code)
        return _PackageReading(code, concrete).assembly()
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise WeavingError(f"the bytecode package can't read it ({type(error).__name__}: {error})") from error


class _PackageReading:
    """One code object being read."""

    def __init__(self, code: CodeType, concrete: Any) -> None:
        self._code = code
        self._concrete = concrete
        self._instructions: list[Instruction] = []
        self._at: dict[int, Instruction] = {}
        """The instructions by their offset, in code units, with that of the first prefix."""

    def assembly(self) -> Assembly:
        jumps: list[tuple[Instruction, int]] = []
        offset = 0
        for concrete in self._concrete:
            size = concrete.size // 2
            if concrete.name != _CACHE:
                instruction = Instruction(
                    concrete.opcode,
                    concrete.arg if type(concrete.arg) is int else 0,  # else it is the package's UNSET
                    None,
                    _location(concrete.location),
                )
                target = concrete.get_jump_target(offset) if concrete.has_jump() else None
                if target is not None:
                    instruction.width = size
                    jumps.append((instruction, target))
                self._instructions.append(instruction)
                self._at[offset] = instruction
            offset += size
        for instruction, target in jumps:
            instruction.target = self._at[target]
        return Assembly(self._code, self._instructions, self._handlers(offset))

    def _handlers(self, size: int) -> list[Handler]:
        handlers = []
        for entry in self._concrete.exception_table:
            end = entry.stop_offset + 1  # the package counts the last one in
            last = self._at[end] if end < size else None
            start, target = self._at[entry.start_offset], self._at[entry.target]
            handlers.append(Handler(start, last, target, entry.stack_depth, entry.push_lasti))
        return handlers


def assemble(
    assembly: Assembly, *, constants: tuple[object, ...] | None = None, stack_size: int | None = None
) -> CodeType:
    """Return the code object of an edited assembly, as `assembly.assemble` does."""
    code = assembly.code
    try:
        concrete = ConcreteBytecode.from_code(code)
        concrete.consts = list(code.co_consts if constants is None else constants)
        offsets, size = _lay_out(concrete, assembly.instructions)
        concrete.exception_table = [
            ExceptionTableEntry(
                offsets[id(handler.start)],
                (size if handler.end is None else offsets[id(handler.end)]) - 1,
                offsets[id(handler.target)],
                handler.depth,
                bool(handler.lasti),
            )
            for handler in assembly.handlers
        ]
        concrete.exception_table = sorted(
            (entry for entry in concrete.exception_table if entry.stop_offset >= entry.start_offset),
            key=lambda entry: entry.start_offset,
        )
        assembled = concrete.to_code(
            stacksize=code.co_stacksize if stack_size is None else stack_size,
            compute_exception_stack_depths=False,
        )
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise WeavingError(
            f"the bytecode package can't write it ({type(error).__name__}: {error})"
        ) from error
    return code.replace(
        co_code=assembled.co_code,
        co_consts=assembled.co_consts,
        co_stacksize=assembled.co_stacksize,
        co_linetable=assembled.co_linetable,
        co_exceptiontable=assembled.co_exceptiontable,
    )


def _lay_out(concrete: Any, instructions: list[Instruction]) -> tuple[dict[int, int], int]:
    """Replace the instructions of the package's list, and return where each of ours lies and the size, in code units.

    Raises:
        WeavingError: a jump changed its direction.
    """
    written = [_concrete(instruction) for instruction in instructions]
    while True:
        offsets: dict[int, int] = {}
        position = 0
        for instruction, one in zip(instructions, written, strict=True):
            offsets[id(instruction)] = position
            position += one.size // 2 + _CACHES[instruction.opcode]
        has_grown = False
        for index, (instruction, one) in enumerate(zip(instructions, written, strict=True)):
            if instruction.target is None:
                continue
            after = offsets[id(instruction)] + one.size // 2 + _CACHES[instruction.opcode]
            distance = offsets[id(instruction.target)] - after
            if one.is_backward_rel_jump():
                distance = -distance
            if distance < 0:
                raise WeavingError(f"{instruction.name} changed its direction")
            instruction.argument = distance
            written[index] = _concrete(instruction, one.size // 2)
            has_grown = has_grown or written[index].size > one.size
        if not has_grown:
            break
    concrete[:] = [
        part
        for instruction, one in zip(instructions, written, strict=True)
        for part in (one, *[_cache(one)] * _CACHES[instruction.opcode])
    ]
    return offsets, position


def _concrete(instruction: Instruction, width: int = 1) -> Any:
    """Return an instruction in the package's form, with at least so many code units."""
    argument = instruction.argument
    needed = 1 if argument < 256 else (argument.bit_length() + 7) // 8
    least = max(width, instruction.width)
    given = (argument,) if instruction.opcode in _TAKING_ARGUMENTS else ()
    return ConcreteInstr(
        instruction.name,
        *given,
        location=_instr_location(instruction.location),
        extended_args=least - 1 if least > needed else None,
    )


def _cache(one: Any) -> Any:
    return ConcreteInstr(_CACHE, 0, location=one.location)


def _location(location: Any) -> Location:
    if location is None:
        return (None, None, None, None)
    return (location.lineno, location.end_lineno, location.col_offset, location.end_col_offset)


def _instr_location(location: Location) -> Any:
    return InstrLocation(
        *location
    )  # also where nothing is known: for None the package takes the location before
