"""Emit instructions for the Python version that runs."""

from __future__ import annotations

from typing import Any

from autochron._runtime.instruction_set import (
    COMMON_NONE,
    JUMP_IF,
    SINCE_3_12,
    SINCE_3_13,
    SINCE_3_15,
    SUBSCRIPT,
    SUBSCRIPT_ARGUMENT,
)
from autochron.weaving.assembly import NO_LOCATION, Instruction, Location, operation


class Emitter:
    """A list of instructions under construction.

    Attributes:
        constants: the code object's constants; `constant` appends to it.
        instructions: the instructions so far.
        location: the location that new instructions get.
    """

    __slots__ = ("constants", "instructions", "location")

    def __init__(self, constants: list[Any], location: Location = NO_LOCATION) -> None:
        self.constants = constants
        self.instructions: list[Instruction] = []
        self.location = location

    def put(self, name: str, argument: int = 0, target: Instruction | None = None) -> Instruction:
        """Append an instruction.

        Raises:
            WeavingError: this Python version has no such instruction.
        """
        instruction = Instruction(operation(name), argument, target, self.location)
        self.instructions.append(instruction)
        return instruction

    def place(self, label: Instruction) -> None:
        """Append an instruction that exists already, because a jump refers to it."""
        label.location = self.location
        self.instructions.append(label)

    def constant(self, value: object) -> None:
        """Push an object, which is compared to the known constants by identity."""
        index = next((position for position, known in enumerate(self.constants) if known is value), None)
        if index is None:
            index = len(self.constants)
            self.constants.append(value)
        self.put("LOAD_CONST", index)

    def none(self) -> None:
        """Push None."""
        if SINCE_3_15:
            self.put("LOAD_COMMON_CONSTANT", COMMON_NONE)
        else:
            self.constant(None)

    def call_on(self, function: object, *depths: int) -> None:
        """Call a function with copies of stack items; `depths` count from the top, which is 1, before the call."""
        self.function(function)
        for index, depth in enumerate(depths):
            self.put("COPY", depth + 2 + index)
        self.call(len(depths))

    def jump_if_none(self, target: Instruction) -> None:
        """Pop the top of the stack and jump forward if it is None."""
        self.put(f"{JUMP_IF}NONE", 0, target)

    def jump_if_true(self, target: Instruction) -> None:
        """Pop the top of the stack and jump forward if it is true."""
        if SINCE_3_13:
            self.put("TO_BOOL")
        self.put(f"{JUMP_IF}TRUE", 0, target)

    def subscript(self) -> None:
        """Replace a container and a key by the item."""
        self.put(SUBSCRIPT, SUBSCRIPT_ARGUMENT)

    def function(self, value: object) -> None:
        """Push a callable and a NULL in the order that CALL requires, which takes two slots."""
        if SINCE_3_13:
            self.constant(value)
            self.put("PUSH_NULL")
        else:
            self.put("PUSH_NULL")
            self.constant(value)

    def call(self, count: int) -> None:
        """Call the callable below `count` arguments."""
        if not SINCE_3_12:
            self.put("PRECALL", count)
        self.put("CALL", count)

    def delegate_to(self, resume: int) -> tuple[Instruction, Instruction]:
        """Drive the iterator on the stack to its end and leave its value there.

        Args:
            resume: the argument of RESUME.

        Returns:
            The instruction that yields and the one at the end.
        """
        if SINCE_3_15:
            self.put("PUSH_NULL")
        self.none()
        send = Instruction(operation("SEND"))
        self.place(send)
        yielding = self.put("YIELD_VALUE", (1 if SINCE_3_13 else 2) if SINCE_3_12 else 0)
        self.put("RESUME", resume)
        self.put("JUMP_BACKWARD_NO_INTERRUPT", 0, send)
        end = Instruction(operation("END_SEND") if SINCE_3_12 else operation("NOP"))
        self.place(end)
        send.target = end
        return yielding, end
