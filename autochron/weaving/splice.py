"""Splice a crossing into a function's own code object.

The body stays in its own frame, so tracebacks, recursion depth, `sys._getframe`, `super()`, closures and `locals()` are
right by construction. The inserted instructions are:

- a prologue behind the first RESUME. It reads the gate. If the gate is empty it pushes None, else it calls `enter` with the
  arguments and pushes the result, the token. The token stays at the bottom of the evaluation stack as long as the frame
  lives, so there is no new local variable and no new cell.
- at each return, `leave(token, value)`; around each yield, `hand_out(token, item)` and `take_back(token, sent)`; in an
  outermost exception handler, `fail(token, error)`. Each call is skipped if the token is None.
- a false token that is not None is a *serving*: the prologue returns, raises or yields what the serving provides, and the
  body does not run.
- for each parameter in the point's `replaced`, `substitute(token, argument)`, whose result the body gets as that argument.

The prologue has no location, so no line event is added. Rejected: a trampoline code object (165 of CPython's own tests
fail, and the recursion depth is halved), and a prologue that passes the body to a driver (30 to 44 tests fail).

Comments and docstrings write the evaluation stack as `[bottom, …, top]`.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

from autochron._runtime import codeflags
from autochron._runtime.instruction_set import (
    AFTER_AWAIT,
    AFTER_YIELD,
    AFTER_YIELD_FROM,
    AT_START,
    DEPTH_ONE,
    JUMP_IF,
    RESUME_KIND,
    SENT_SLOTS,
    SINCE_3_12,
    SINCE_3_13,
)
from autochron.errors import WeavingError
from autochron.weaving import gate
from autochron.weaving.assembler import assemble, disassemble, refuse_shape
from autochron.weaving.assembly import (
    NO_LOCATION,
    OPCODES,
    Handler,
    Instruction,
    Location,
    operation,
    stack_depths,
)
from autochron.weaving.emitter import Emitter

_STOP_ITERATION_ERROR = 3
_ASYNC_GENERATOR_WRAP = 4

_GENERATORS = codeflags.CO_GENERATOR | codeflags.CO_COROUTINE | codeflags.CO_ASYNC_GENERATOR


def splice(code: CodeType, point: gate.Point) -> CodeType:
    """Return a copy of a code object that crosses `point` each time it runs.

    Raises:
        WeavingError: the code does not have a form that the compiler emits; the caller keeps the original.
    """
    return _Splice(code, point).build()


_Cover = tuple[Instruction, int, int] | None
"""Which handler an exception goes to: (its first instruction, stack depth to unwind to, whether lasti is pushed); or none."""


class _Splice:
    """One code object being spliced.

    While it is edited, the exception table is a map from each instruction (by id) to the handler that covers it. An
    instruction that is not in the map is covered by the outermost handler.
    """

    def __init__(self, code: CodeType, point: gate.Point) -> None:
        self.code = code
        self.point = point
        self.kind = codeflags.function_kind(code)
        refuse_shape(self.kind)
        self.assembly = disassemble(code)
        self.constants: list[Any] = list(code.co_consts)
        self.cover: dict[int, _Cover] = {}
        self.tail: list[Instruction] = []
        """Handlers of ours, placed behind the body."""
        self.guarded: list[Instruction] = []
        """The instructions of the prologue that the outermost handler covers."""

    def build(self) -> CodeType:
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
                if instruction.argument & RESUME_KIND != AT_START:
                    break
                return index
        raise WeavingError("its code does not begin as the compiler's code does")

    # --- the exception table -------------------------------------------------------------------------------------

    def _read_cover(self) -> None:
        """Map each instruction to its handler, whose depth is one more because of the token at the bottom."""
        instructions = self.assembly.instructions
        index_of = {id(instruction): index for index, instruction in enumerate(instructions)}
        for handler in self.assembly.handlers:
            end = len(instructions) if handler.end is None else index_of[id(handler.end)]
            for instruction in instructions[index_of[id(handler.start)] : end]:
                self.cover[id(instruction)] = (handler.target, handler.depth + 1, handler.lasti)

    def _cover_start(self, early: list[Instruction]) -> None:
        """Set the handler of the instructions before the prologue, where the token is not on the stack yet.

        The compiler covers such instructions only in generators and coroutines from Python 3.12 on, with a handler that turns
        a StopIteration into a RuntimeError. They get a copy of that handler, because here the stack is one slot shorter.
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
        """Return the exception table; instructions that are not in the map go to the outermost handler."""
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
        """Return the handler that calls `fail(token, error)` and re-raises; it begins with [token, lasti, error]."""
        emit = self._emitter()
        reraise = Instruction(operation("RERAISE"), 1)
        emit.put("COPY", 3)
        emit.jump_if_none(reraise)
        emit.call_on(gate.fail, 3, 1)
        emit.put("POP_TOP")
        emit.place(reraise)
        self._set_cover(emit.instructions, None)
        return emit.instructions

    # --- the prologue ----------------------------------------------------------------------------------------------

    def _prologue(self, body: Instruction) -> list[Instruction]:
        emit = self._emitter()
        emit.constant(gate.GATE)
        emit.constant(_ZERO)
        emit.subscript()
        emit.put("COPY", 1)
        emit.jump_if_none(body)
        emit.put("PUSH_NULL")
        if not SINCE_3_13:
            emit.put("SWAP", 2)
        emit.constant(self.point)
        self._arguments(emit)
        emit.call(2)
        substitution = Instruction(operation("NOP")) if self.point.replaced else body
        emit.put("COPY", 1)
        emit.jump_if_true(substitution)
        emit.put("COPY", 1)
        emit.jump_if_none(body)
        getattr(self, f"_serve_{self.kind}")(emit)
        if substitution is not body:
            self._substitute(emit, substitution)
        if not SINCE_3_13:
            # A signal handler may raise where a loop jumps back to the body's start. Up to 3.12 CPython then looks up the
            # instruction before the jump's target in the table, so that must be covered as the body is.
            self.guarded.append(emit.put("NOP"))
        for instruction in emit.instructions:
            if instruction not in self.guarded:
                self.cover.setdefault(id(instruction), None)
        return emit.instructions

    def _substitute(self, emit: Emitter, start: Instruction) -> None:
        """Replace arguments by the results of `substitute(token, argument)`, then enter the body; begins with [token]."""
        count, cells = len(emit.instructions), self._cells()
        emit.place(start)
        for index in self.point.replaced:
            kind = "DEREF" if index in cells else "FAST"
            emit.function(gate.substitute)
            emit.put("COPY", 3)
            emit.put(f"LOAD_{kind}", index)
            emit.call(2)
            emit.put(f"STORE_{kind}", index)
        self.guarded += emit.instructions[count:]

    def _cells(self) -> set[int]:
        make_cell = OPCODES["MAKE_CELL"]
        return {
            instruction.argument
            for instruction in self.assembly.instructions
            if instruction.opcode == make_cell
        }

    def _arguments(self, emit: Emitter) -> None:
        count, cells = len(self.point.parameters), self._cells()
        for index in range(count):
            emit.put("LOAD_DEREF" if index in cells else "LOAD_FAST", index)
        emit.put("BUILD_TUPLE", count)

    def _return_or_raise(self, emit: Emitter) -> None:
        """Raise the error or return the value; begins with [serving, value, error].

        RERAISE, because it adds no traceback entry for the prologue.
        """
        emit.put("COPY", 1)
        no_error = Instruction(operation("POP_TOP"))
        emit.jump_if_none(no_error)
        emit.put("RERAISE", 0)
        emit.place(no_error)
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
        self._delegate_to(emit, AFTER_AWAIT)
        emit.put("UNPACK_SEQUENCE", 2)
        self._return_or_raise(emit)

    def _serve_generator(self, emit: Emitter) -> None:
        emit.call_on(gate.serve_items, 1)
        self._delegate_to(emit, AFTER_YIELD_FROM)
        emit.put("UNPACK_SEQUENCE", 2)
        self._return_or_raise(emit)

    def _serve_async_generator(self, emit: Emitter) -> None:
        step = Instruction(operation("NOP"))
        emit.none()
        emit.place(step)  # [serving, sent]
        emit.call_on(gate.serve_step, 2, 1)
        emit.put("SWAP", 2)
        emit.put("POP_TOP")
        emit.put("GET_AWAITABLE", 0)
        self._delegate_to(emit, AFTER_AWAIT)
        emit.put("UNPACK_SEQUENCE", 3)  # [serving, item, error, done]
        item = Instruction(operation("POP_TOP"))
        emit.put(f"{JUMP_IF}FALSE", 0, item)
        self._return_or_raise(emit)
        emit.place(item)
        if SINCE_3_12:
            emit.put("CALL_INTRINSIC_1", _ASYNC_GENERATOR_WRAP)
        else:
            emit.put("ASYNC_GEN_WRAP")
        yielding = emit.put("YIELD_VALUE", 1 if SINCE_3_12 and not SINCE_3_13 else 0)
        resume = emit.put("RESUME", AFTER_YIELD)
        emit.put("JUMP_BACKWARD", 0, step)
        self._catch_thrown_at_serving(yielding, resume, step)

    def _catch_thrown_at_serving(self, yielding: Instruction, resume: Instruction, step: Instruction) -> None:
        """Ask the serving about an error that is thrown in: it propagates, or the next step follows."""
        emit = self._emitter()
        reraise = Instruction(operation("RERAISE"), 1)
        emit.call_on(gate.thrown, 3, 1)  # on [serving, lasti, error]
        emit.jump_if_true(reraise)
        emit.put("POP_TOP")
        emit.put("POP_TOP")
        emit.none()
        emit.put("JUMP_BACKWARD", 0, step)
        emit.place(reraise)
        self._add_tail(emit, None)
        self._set_cover([yielding, resume], (emit.instructions[0], 1, True))

    def _delegate_to(self, emit: Emitter, resume: int) -> None:
        """Drive an iterator to its end: [serving, iterator] becomes [serving, the iterator's value]."""
        yielding, end = emit.delegate_to(resume)
        if SINCE_3_12:
            # CLEANUP_THROW turns the StopIteration of a `throw` into the value; 3.11 does so in C.
            tail = self._emitter()
            first = tail.put("CLEANUP_THROW")
            tail.put("JUMP_BACKWARD", 0, end)
            self._add_tail(tail, None)
            self.cover[id(yielding)] = (first, 1 + SENT_SLOTS, False)  # [serving, iterator, (NULL,) sent]

    # --- the body --------------------------------------------------------------------------------------------------

    def _edit_body(self, body: list[Instruction], depths: dict[int, int]) -> list[Instruction]:
        edited: list[Instruction] = []
        index = 0
        while index < len(body):
            instruction = body[index]
            name = instruction.name
            depth = depths.get(id(instruction))
            size = 1
            if depth is None:  # unreachable
                edited.append(instruction)
            elif name in {"RETURN_VALUE", "RETURN_CONST"}:
                edited += self._leave(instruction)
            elif size := self._item_size(body, index):
                edited += self._hand_out(body[index : index + size], depth)
            elif name == "GET_YIELD_FROM_ITER" and self.kind == "generator" and not SINCE_3_12:
                edited.append(instruction)
                edited += self._delegate(instruction, depth)
                size = 1
            else:
                edited.append(instruction)
                size = 1
            index += size or 1
        return edited

    def _item_size(self, body: list[Instruction], index: int) -> int:
        """Return how many instructions from here on yield an item; 0 if none is yielded here."""
        name = body[index].name
        if self.kind == "generator" and name == "YIELD_VALUE":
            after = body[index + 1].argument & RESUME_KIND
            return 2 if after == AFTER_YIELD or (after == AFTER_YIELD_FROM and SINCE_3_12) else 0
        if self.kind == "async_generator" and (
            name == "ASYNC_GEN_WRAP"
            or (name == "CALL_INTRINSIC_1" and body[index].argument == _ASYNC_GENERATOR_WRAP)
        ):
            if body[index + 1].name != "YIELD_VALUE":
                raise WeavingError("it wraps an item that it does not yield")
            return 3
        return 0

    def _replace(self, old: Instruction, new: list[Instruction]) -> list[Instruction]:
        """Return the new instructions, with the old one's cover.

        The old instruction object becomes the first of them, so that jumps to it stay valid.
        """
        first = new[0]
        old.opcode, old.argument, old.target, old.location = (
            first.opcode,
            first.argument,
            first.target,
            first.location,
        )
        replaced = [old, *new[1:]]
        self._set_cover_like(replaced, old)
        return replaced

    def _leave(self, old: Instruction) -> list[Instruction]:
        """Return `leave(token, value)` in place of a return, if there is a token; begins with [token, value]."""
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
        replaced = self._replace(old, emit.instructions)
        self._set_cover(replaced, None)
        return replaced

    def _hand_out(self, old: list[Instruction], depth: int) -> list[Instruction]:
        """Put `hand_out(token, item)` before a yield and `take_back(token, sent)` behind it.

        Args:
            old: the instructions of the yield, which begin with [token, …, item].
            depth: of the stack before them, without the token.
        """
        first, resume = old[0], old[-1]
        token = depth + 1
        moved = Instruction(first.opcode, first.argument, None, first.location)
        yielded = [moved, *old[1:]]
        yielding = yielded[-2]
        if SINCE_3_13:
            resume.argument &= ~DEPTH_ONE  # else `close` would drop the frame without running `fail`
        elif SINCE_3_12:
            yielding.argument += 1
        emit = self._emitter(first.location)
        emit.put("COPY", token)
        emit.jump_if_none(moved)
        emit.call_on(gate.hand_out, token, 1)
        emit.put("POP_TOP")
        prefix = emit.instructions
        emit = self._emitter(resume.location)
        body = Instruction(operation("NOP"))
        emit.put("COPY", token)
        emit.jump_if_none(body)
        emit.call_on(gate.take_back, token, 1)
        emit.put("POP_TOP")
        emit.place(body)
        self._set_cover_like([*yielded, *emit.instructions], first)
        for instruction, model in zip(yielded, old, strict=True):
            self._set_cover_like([instruction], model)
        self._catch_thrown(yielding, resume, depth)
        return self._replace(first, prefix) + yielded + emit.instructions

    def _catch_thrown(self, yielding: Instruction, resume: Instruction, depth: int) -> None:
        """Pass an error that is thrown in at a yield to `take_thrown`, and then to the body's own handlers."""
        emit = self._emitter()
        reraise = Instruction(operation("RERAISE"), 1)
        token = depth + 3  # [token, …, sent, lasti, error]
        emit.put("COPY", token)
        emit.jump_if_none(reraise)
        emit.call_on(gate.take_thrown, token, 1)
        emit.put("POP_TOP")
        emit.place(reraise)
        self.tail += emit.instructions
        self._set_cover_like(emit.instructions, yielding)
        self._set_cover([yielding, resume], (emit.instructions[0], depth + 1, True))

    def _delegate(self, get: Instruction, depth: int) -> list[Instruction]:
        """Replace the iterator of a `yield from` by a relay if there is a token; begins with [token, …, iterator]."""
        emit = self._emitter(get.location)
        body = Instruction(operation("NOP"))
        emit.put("COPY", depth + 1)
        emit.jump_if_none(body)
        emit.call_on(gate.delegate, depth + 1, 1)
        emit.put("SWAP", 2)
        emit.put("POP_TOP")
        emit.place(body)
        self._set_cover_like(emit.instructions, get)
        return emit.instructions


_ZERO = 0
