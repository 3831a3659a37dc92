"""Splice a crossing into a function's own code object.

The body stays in its own frame: tracebacks, recursion depth, `sys._getframe`, `super()`, closures and `locals()` are
then right by construction. What is put in:

- a prologue behind the first RESUME. It reads the gate; where that is closed it pushes None, else it calls `enter`
  with the arguments and pushes what that gives, the token. The token lies at the bottom of the evaluation stack for as
  long as the frame lives: no new local, no new cell.
- at each return, `leave(token, value)`; around each yielded item, `hand_out(token, item)` and `take_back(token, sent)`;
  outermost in the exception table, `fail(token, error)`. Each is skipped where the token is None.
- a false token that is not None is a *serving*: the prologue returns, raises or yields what it gives, and the body is
  not run.
- where the point says so, `substitute(token, argument)` gives what the body gets for one argument.

None of it has a location, so that no line event is added. Rejected: a trampoline code object (165 of CPython's own
tests fail, recursion depth is halved) and a prologue that hands the body to a driver (30 to 44 fail).
"""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any

from autochron._runtime import codeflags
from autochron.errors import WeavingError
from autochron.weaving import gate
from autochron.weaving.assembly import (
    NO_LOCATION,
    OPCODES,
    Handler,
    Instruction,
    Location,
    assemble,
    disassemble,
    operation,
    stack_depths,
)
from autochron.weaving.emitter import Emitter

_3_12 = sys.version_info >= (3, 12)
_3_13 = sys.version_info >= (3, 13)

_RESUME_KIND = 3
_AT_START, _AFTER_YIELD, _AFTER_YIELD_FROM, _AFTER_AWAIT = range(4)
_DEPTH_ONE = 4
"""3.13: a bit of RESUME that lets `close` drop a frame without running it."""
_STOP_ITERATION_ERROR = 3
_ASYNC_GENERATOR_WRAP = 4

_GENERATORS = codeflags.CO_GENERATOR | codeflags.CO_COROUTINE | codeflags.CO_ASYNC_GENERATOR


def splice(code: CodeType, point: gate.Point) -> CodeType:
    """Return a code object that crosses `point` each time it runs.

    Raises:
        WeavingError: the code has a shape that this doesn't know; the caller keeps the original.
    """
    return _Splice(code, point).done()


_Cover = tuple[Instruction, int, int] | None
"""Where an exception goes on: (handler's first instruction, depth that is kept, whether lasti is pushed); or out."""


class _Splice:
    """One code object being spliced.

    The exception table is kept as a map from each instruction to what covers it, and written anew at the end.
    """

    def __init__(self, code: CodeType, point: gate.Point) -> None:
        self.code = code
        self.point = point
        self.kind = codeflags.function_kind(code)
        self.assembly = disassemble(code)
        self.constants: list[Any] = list(code.co_consts)
        self.tail: list[Instruction] = []
        self.cover: dict[int, _Cover] = {}
        self.told: list[Instruction] = []
        """What of the prologue the outermost handler covers."""

    def done(self) -> CodeType:
        instructions = self.assembly.instructions
        start = self._find_start()
        depths = stack_depths(self.assembly, start)
        self._read_cover()
        self._cover_start(instructions[: start + 1])
        body = self._edit_body(instructions[start + 1 :], depths)
        prologue = self._prologue(body[0])
        outermost = self._outermost()
        self.assembly.instructions = instructions[: start + 1] + prologue + body + self.tail + outermost
        self.assembly.handlers = self._write_cover((outermost[0], 1, True))
        return assemble(
            self.assembly,
            constants=tuple(self.constants),
            stack_size=self.code.co_stacksize + max(len(self.point.parameters) + 5, 8),
        )

    def _emitter(self, location: Location = NO_LOCATION) -> Emitter:
        return Emitter(self.constants, location)

    def _find_start(self) -> int:
        resume = OPCODES["RESUME"]
        for index, instruction in enumerate(self.assembly.instructions):
            if instruction.opcode == resume:
                if instruction.argument & _RESUME_KIND != _AT_START:
                    break
                return index
        raise WeavingError("its code does not begin as the compiler's does")

    # --- the exception table -------------------------------------------------------------------------------------

    def _read_cover(self) -> None:
        """Note what covers each instruction, with room for the token underneath."""
        instructions = self.assembly.instructions
        index_of = {id(instruction): index for index, instruction in enumerate(instructions)}
        for handler in self.assembly.handlers:
            end = len(instructions) if handler.end is None else index_of[id(handler.end)]
            for instruction in instructions[index_of[id(handler.start)] : end]:
                self.cover[id(instruction)] = (handler.target, handler.depth + 1, handler.lasti)

    def _cover_start(self, early: list[Instruction]) -> None:
        """Cover what stands before the token is there.

        Only a generator's start is covered at all, by the handler that turns a StopIteration into a RuntimeError
        (3.12 and later); it gets a copy of its own, because here the stack is one shorter.
        """
        guard: _Cover = None
        if any(id(instruction) in self.cover for instruction in early):
            if self.kind == "sync":
                raise WeavingError("a handler covers its start")
            emit = self._emitter()
            guard = (emit.put("CALL_INTRINSIC_1", _STOP_ITERATION_ERROR), 0, True)
            emit.put("RERAISE", 1)
            self._add_tail(emit, None)
        for instruction in early:
            if id(instruction) in self.cover:
                self.cover[id(instruction)] = guard
            else:
                self.cover[id(instruction)] = None

    def _add_tail(self, emit: Emitter, cover: _Cover) -> None:
        self.tail += emit.instructions
        self._set_cover(emit.instructions, cover)

    def _set_cover(self, instructions: list[Instruction], cover: _Cover) -> None:
        for instruction in instructions:
            self.cover[id(instruction)] = cover

    def _set_cover_like(self, instructions: list[Instruction], model: Instruction) -> None:
        if id(model) in self.cover:
            self._set_cover(instructions, self.cover[id(model)])

    def _write_cover(self, outermost: _Cover) -> list[Handler]:
        """Write the table; what nothing covers goes to the outermost handler."""
        handlers: list[Handler] = []
        current: _Cover = None
        for instruction in self.assembly.instructions:
            cover = self.cover.get(id(instruction), outermost)
            if cover != current:
                if current is not None:
                    handlers[-1].end = instruction
                if cover is not None:
                    handlers.append(Handler(instruction, None, *cover))
                current = cover
        return handlers

    def _outermost(self) -> list[Instruction]:
        """`fail(token, error)` and on with the error: entered with [token, lasti, error]."""
        emit = self._emitter()
        again = Instruction(operation("RERAISE"), 1)
        emit.put("COPY", 3)
        emit.jump_if_none(again)
        emit.call_on(gate.fail, 3, 1)
        emit.put("POP_TOP")
        emit.place(again)
        self._set_cover(emit.instructions, None)
        return emit.instructions

    # --- the prologue ----------------------------------------------------------------------------------------------

    def _prologue(self, body: Instruction) -> list[Instruction]:
        emit = self._emitter()
        emit.constant(gate.GATE)
        emit.constant(_ZERO)
        emit.put("BINARY_SUBSCR")
        emit.put("COPY", 1)
        emit.jump_if_none(body)
        emit.put("PUSH_NULL")
        if not _3_13:
            emit.put("SWAP", 2)
        emit.constant(self.point)
        self._arguments(emit)
        emit.call(2)
        given = Instruction(operation("NOP")) if self.point.replaced else body
        emit.put("COPY", 1)
        emit.jump_if_true(given)
        emit.put("COPY", 1)
        emit.jump_if_none(body)
        getattr(self, f"_serve_{self.kind}")(emit)
        if given is not body:
            self._substitute(emit, given)
        if not _3_13:
            # A signal handler may raise where a loop goes back to the body's start. Up to 3.12 the table is then asked of
            # what stands before that, which must be covered as the body is.
            self.told.append(emit.put("NOP"))
        for instruction in emit.instructions:
            if instruction not in self.told:
                self.cover.setdefault(id(instruction), None)
        return emit.instructions

    def _substitute(self, emit: Emitter, given: Instruction) -> None:
        """[token] → each argument is what `substitute(token, argument)` gives, and on into the body."""
        start, cells = len(emit.instructions), self._cells()
        emit.place(given)
        for index in self.point.replaced:
            kind = "DEREF" if index in cells else "FAST"
            emit.function(gate.substitute)
            emit.put("COPY", 3)
            emit.put(f"LOAD_{kind}", index)
            emit.call(2)
            emit.put(f"STORE_{kind}", index)
        self.told += emit.instructions[start:]

    def _cells(self) -> set[int]:
        make_cell = OPCODES["MAKE_CELL"]
        return {each.argument for each in self.assembly.instructions if each.opcode == make_cell}

    def _arguments(self, emit: Emitter) -> None:
        count, cells = len(self.point.parameters), self._cells()
        for index in range(count):
            emit.put("LOAD_DEREF" if index in cells else "LOAD_FAST", index)
        emit.put("BUILD_TUPLE", count)

    def _return_or_raise(self, emit: Emitter) -> None:
        """Raise or return, from [serving, value, error]. RERAISE adds no traceback entry for the prologue."""
        emit.put("COPY", 1)
        good = Instruction(operation("POP_TOP"))
        emit.jump_if_none(good)
        emit.put("RERAISE", 0)
        emit.place(good)
        emit.put("SWAP", 2)
        emit.put("POP_TOP")
        emit.put("RETURN_VALUE")

    def _serve_sync(self, emit: Emitter) -> None:
        emit.call_on(gate.serve, 1)
        emit.put("UNPACK_SEQUENCE", 2)
        self._return_or_raise(emit)

    def _serve_coroutine(self, emit: Emitter) -> None:
        emit.call_on(gate.serve_async, 1)
        emit.put("GET_AWAITABLE", 0)
        self._delegate_to(emit, _AFTER_AWAIT)
        emit.put("UNPACK_SEQUENCE", 2)
        self._return_or_raise(emit)

    def _serve_generator(self, emit: Emitter) -> None:
        emit.call_on(gate.serve_items, 1)
        self._delegate_to(emit, _AFTER_YIELD_FROM)
        emit.put("UNPACK_SEQUENCE", 2)
        self._return_or_raise(emit)

    def _serve_async_generator(self, emit: Emitter) -> None:
        again = Instruction(operation("NOP"))
        emit.constant(None)
        emit.place(again)  # [serving, sent]
        emit.call_on(gate.serve_step, 2, 1)
        emit.put("SWAP", 2)
        emit.put("POP_TOP")
        emit.put("GET_AWAITABLE", 0)
        self._delegate_to(emit, _AFTER_AWAIT)
        emit.put("UNPACK_SEQUENCE", 3)  # [serving, item, error, done]
        item = Instruction(operation("POP_TOP"))
        emit.put("POP_JUMP_IF_FALSE" if _3_12 else "POP_JUMP_FORWARD_IF_FALSE", 0, item)
        self._return_or_raise(emit)
        emit.place(item)
        if _3_12:
            emit.put("CALL_INTRINSIC_1", _ASYNC_GENERATOR_WRAP)
        else:
            emit.put("ASYNC_GEN_WRAP")
        handed = emit.put("YIELD_VALUE", 1 if _3_12 and not _3_13 else 0)
        after = emit.put("RESUME", _AFTER_YIELD)
        emit.put("JUMP_BACKWARD", 0, again)
        self._catch_thrown_at_serving(handed, after, again)

    def _catch_thrown_at_serving(self, handed: Instruction, after: Instruction, again: Instruction) -> None:
        """Ask the serving what becomes of what is thrown in: the next step tells it, or it leaves."""
        emit = self._emitter()
        out = Instruction(operation("RERAISE"), 1)
        emit.call_on(gate.thrown, 3, 1)  # on [serving, lasti, error]
        emit.jump_if_true(out)
        emit.put("POP_TOP")
        emit.put("POP_TOP")
        emit.constant(None)
        emit.put("JUMP_BACKWARD", 0, again)
        emit.place(out)
        self._add_tail(emit, None)
        self._set_cover([handed, after], (emit.instructions[0], 1, True))

    def _delegate_to(self, emit: Emitter, resume: int) -> None:
        """Drive an iterator to its end: [serving, iterator] → [serving, its value]."""
        handed, end = emit.delegate_to(resume)
        if _3_12:
            # Turns the StopIteration out of a `throw` into the value; 3.11 does so in C.
            tail = self._emitter()
            first = tail.put("CLEANUP_THROW")
            tail.put("JUMP_BACKWARD", 0, end)
            self._add_tail(tail, None)
            self.cover[id(handed)] = (first, 3, False)  # [serving, iterator, sent]

    # --- the body --------------------------------------------------------------------------------------------------

    def _edit_body(self, body: list[Instruction], depths: dict[int, int]) -> list[Instruction]:
        out: list[Instruction] = []
        index = 0
        while index < len(body):
            instruction = body[index]
            name = instruction.name
            depth = depths.get(id(instruction))
            size = 1
            if depth is None:  # unreachable
                out.append(instruction)
            elif name in {"RETURN_VALUE", "RETURN_CONST"}:
                out += self._leave(instruction)
            elif size := self._item_size(body, index):
                out += self._hand_out(body[index : index + size], depth)
            elif name == "GET_YIELD_FROM_ITER" and self.kind == "generator" and not _3_12:
                out.append(instruction)
                out += self._delegate(instruction, depth)
                size = 1
            else:
                out.append(instruction)
                size = 1
            index += size or 1
        return out

    def _item_size(self, body: list[Instruction], index: int) -> int:
        """Return how many instructions hand out an item from here: 0 where none does."""
        name = body[index].name
        if self.kind == "generator" and name == "YIELD_VALUE":
            after = body[index + 1].argument & _RESUME_KIND
            return 2 if after == _AFTER_YIELD or (after == _AFTER_YIELD_FROM and _3_12) else 0
        if self.kind == "async_generator" and (
            name == "ASYNC_GEN_WRAP"
            or (name == "CALL_INTRINSIC_1" and body[index].argument == _ASYNC_GENERATOR_WRAP)
        ):
            if body[index + 1].name != "YIELD_VALUE":
                raise WeavingError("it wraps an item that it does not yield")
            return 3
        return 0

    def _replace(self, old: Instruction, new: list[Instruction]) -> list[Instruction]:
        """Let the first new instruction take the old one's identity, so that jumps find it, and cover all alike."""
        first = new[0]
        old.opcode, old.argument, old.target, old.location = (
            first.opcode,
            first.argument,
            first.target,
            first.location,
        )
        out = [old, *new[1:]]
        self._set_cover_like(out, old)
        return out

    def _leave(self, old: Instruction) -> list[Instruction]:
        """[token, value] → `leave(token, value)` if there is a token, and return."""
        emit = self._emitter(old.location)
        if old.name == "RETURN_CONST":
            emit.put("LOAD_CONST", old.argument)
        plain = Instruction(operation("SWAP"), 2)
        emit.put("COPY", 2)
        emit.jump_if_none(plain)
        emit.call_on(gate.leave, 2, 1)
        emit.put("SWAP", 2)
        emit.put("POP_TOP")
        emit.place(plain)
        emit.put("POP_TOP")
        emit.put("RETURN_VALUE")
        out = self._replace(old, emit.instructions)
        self._set_cover(out, None)
        return out

    def _hand_out(self, old: list[Instruction], depth: int) -> list[Instruction]:
        """[token, …, item] → `hand_out(token, item)`, the yield itself, `take_back(token, sent)`."""
        first, after = old[0], old[-1]
        token = depth + 1
        moved = Instruction(first.opcode, first.argument, None, first.location)
        rest = [moved, *old[1:]]
        handed = rest[-2]
        if _3_13:
            after.argument &= ~_DEPTH_ONE  # else `close` would drop the frame without running `fail`
        elif _3_12:
            handed.argument += 1
        emit = self._emitter(first.location)
        emit.put("COPY", token)
        emit.jump_if_none(moved)
        emit.call_on(gate.hand_out, token, 1)
        emit.put("POP_TOP")
        before = emit.instructions
        emit = self._emitter(after.location)
        on = Instruction(operation("NOP"))
        emit.put("COPY", token)
        emit.jump_if_none(on)
        emit.call_on(gate.take_back, token, 1)
        emit.put("POP_TOP")
        emit.place(on)
        self._set_cover_like([*rest, *emit.instructions], first)
        for covered, model in zip(rest, old, strict=True):
            self._set_cover_like([covered], model)
        self._catch_thrown(handed, after, depth)
        return self._replace(first, before) + rest + emit.instructions

    def _catch_thrown(self, handed: Instruction, after: Instruction, depth: int) -> None:
        """Lead what is thrown in at a yield through `take_thrown` to the handlers of the body."""
        emit = self._emitter()
        again = Instruction(operation("RERAISE"), 1)
        token = depth + 3  # [token, …, sent, lasti, error]
        emit.put("COPY", token)
        emit.jump_if_none(again)
        emit.call_on(gate.take_thrown, token, 1)
        emit.put("POP_TOP")
        emit.place(again)
        self.tail += emit.instructions
        self._set_cover_like(emit.instructions, handed)
        self._set_cover([handed, after], (emit.instructions[0], depth + 1, True))

    def _delegate(self, get: Instruction, depth: int) -> list[Instruction]:
        """[token, …, iterator] → put a `Delegate` in its place if there is a token."""
        emit = self._emitter(get.location)
        on = Instruction(operation("NOP"))
        emit.put("COPY", depth + 1)
        emit.jump_if_none(on)
        emit.call_on(gate.delegate, depth + 1, 1)
        emit.put("SWAP", 2)
        emit.put("POP_TOP")
        emit.place(on)
        self._set_cover_like(emit.instructions, get)
        return emit.instructions


_ZERO = 0
