"""Bind call sites: replace the callee where it is pushed, and leave the CALL instruction as it is.

The instruction that pushes the callee is found by the position of the callee's expression. Instructions behind it pass the
callee to `CodeSite.bind`, whose result takes the callee's place on the stack. A method load becomes a plain attribute load.
If a metavariable stands for a key or a receiver, its value is copied below the operands of the instruction that consumes it,
and passed to `bind_saved` with the callee.

Rejected: replacing the CALL. CPython duplicates CALLs, so that one push feeds several; DICT_MERGE on 3.13 reads the callee's
slot; and the depths of exception handlers shift.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from types import CodeType
from typing import Any

from autochron._runtime.instruction_set import SINCE_3_12, SINCE_3_13, is_subscript
from autochron.errors import WeavingError
from autochron.matching.sites import CallSite, Position, label_of
from autochron.weaving.assembler import assemble, disassemble, refuse_shape
from autochron.weaving.assembly import Assembly, Instruction, operation
from autochron.weaving.emitter import Emitter
from autochron.weaving.ledger import Ledger
from autochron.weaving.sites import CodeSite, SiteRule

_NAMES = frozenset(
    {
        *("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_DEREF", "LOAD_CLASSDEREF"),
        *("LOAD_FROM_DICT_OR_GLOBALS", "LOAD_FROM_DICT_OR_DEREF", "LOAD_FAST_BORROW"),
    }
)
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_FUSED = frozenset({"LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"})
_CALLS = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX"})
_LOAD_ATTR = operation("LOAD_ATTR")
_EXTRA_STACK = 4
"""Stack slots that binding needs in addition to those of saved values."""


class Binding:
    """One call site to bind: the rules that fit it, and the positions of its instructions.

    Attributes:
        bound: number of instructions that push its callee and were bound.
        callee: positions that the instruction that pushes the callee may have.
        calls: positions that the CALL may have.
        form: what pushes the callee: `name`, `attribute` or `subscript`.
        line: the line of the call.
        saves: by (`receiver` or `key`, positions of the instruction that consumes it): the index among the saved values.
        site: what the inserted instructions call.
    """

    __slots__ = ("bound", "callee", "calls", "form", "line", "saves", "site")

    def __init__(self, sites: Sequence[CallSite], module: str, file: str) -> None:
        first = sites[0]
        self.callee = frozenset(first.callee)
        self.calls = frozenset(first.calls)
        self.form = first.form
        self.line = first.line
        self.saves: dict[tuple[str, tuple[Position, ...]], int] = {}
        for saved in (saved for site in sites for saved in site.saved):
            self.saves.setdefault((saved.of, saved.positions), 0)
        # If the source does not say which function an attribute is, its receiver decides that at run time.
        decides = ("receiver", first.callee)
        checks = first.form == "attribute" and any(site.check is not None for site in sites)
        if checks:
            self.saves.setdefault(decides, 0)
        # In the order in which the program computes them: an outer attribute ends later, and a receiver lies below a key.
        ordered = sorted(self.saves, key=lambda save: (save[1][0][1], save[1][0][3], save[0] == "key"))
        self.saves = {save: index for index, save in enumerate(ordered)}
        self.bound = 0
        rules = [
            SiteRule(
                site.rule,
                site.check,
                site.constants,
                tuple((saved.name, self.saves[saved.of, saved.positions]) for saved in site.saved),
                site.arguments,
            )
            for site in sites
        ]
        label = label_of(first.qualname, first.rule)
        self.site = CodeSite(
            module,
            label,
            file=file,
            line=first.line,
            rules=tuple(rules),
            receiver=self.saves[decides] if checks else -1,
        )


def bindings_of(sites: Iterable[CallSite], module: str, file: str) -> list[Binding]:
    """Return one binding for each call, with all rules that fit it."""
    by_call: dict[Position, list[CallSite]] = {}
    for site in sites:
        by_call.setdefault(site.calls[0], []).append(site)
    return [Binding(call_sites, module, file) for call_sites in by_call.values()]


def bind_calls(code: CodeType, bindings: Sequence[Binding], ledger: Ledger) -> CodeType:
    """Return a code object in which calls are bound, also in nested code objects; the same object if none is.

    A call that can't be bound stays as it is, and the ledger gets the reason.
    """
    lines = frozenset(binding.line for binding in bindings)
    bound = _bind(code, bindings, lines, ledger)
    for binding in bindings:
        if binding.bound:
            ledger.bound(binding.site)
    return bound


def refuse_unbound(code: CodeType, bindings: Iterable[Binding], ledger: Ledger) -> bool:
    """Refuse the sites for which no instruction was found, and return whether the code has no columns."""
    refused = ledger.refused
    blind = all(end is None for _, _, _, end in code.co_positions())
    reason = (
        "the code has no columns (-X no_debug_ranges), so the call can't be told from others"
        if blind
        else "no instruction that pushes its callee has the callee's position in the source"
    )
    for binding in bindings:
        label = f"{binding.site.module}:{binding.line} {binding.site.label}"
        if not binding.bound and label not in refused:
            ledger.refuse(label, reason)
    return blind


def _bind(code: CodeType, bindings: Sequence[Binding], lines: frozenset[int], ledger: Ledger) -> CodeType:
    constants = code.co_consts
    inner = tuple(
        [
            _bind(constant, bindings, lines, ledger) if isinstance(constant, CodeType) else constant
            for constant in constants
        ]
    )
    if any(new is not old for new, old in zip(inner, constants, strict=True)):
        code = code.replace(co_consts=inner)
    own_lines = {line for _, _, line in code.co_lines() if line is not None} & lines
    return (
        _Binder(code, [binding for binding in bindings if binding.line in own_lines], ledger).bind()
        if own_lines
        else code
    )


class _Binder:
    """One code object being bound."""

    def __init__(self, code: CodeType, bindings: list[Binding], ledger: Ledger) -> None:
        self._code = code
        self._assembly: Assembly = disassemble(code)
        self._ledger = ledger
        self._bindings = bindings

    def bind(self) -> CodeType:
        """Return the code with all of its bindings, or the same code object if none can be bound."""
        joined = self._join()
        if not joined:
            return self._code
        pushes = {id(push): binding for binding in joined for push in joined[binding][0]}
        consumes: dict[int, list[str]] = {}
        for binding, (_, consumers) in joined.items():
            for role, positions in binding.saves:
                for instruction in consumers:
                    if instruction.location in positions:
                        consumes.setdefault(id(instruction), []).append(role)
        emitter = Emitter(list(self._code.co_consts))
        for instruction in self._assembly.instructions:
            self._emit(emitter, instruction, consumes.get(id(instruction), ()), pushes.get(id(instruction)))
        extra = _EXTRA_STACK + max(len(binding.saves) for binding in joined)
        self._assembly.instructions[:] = emitter.instructions
        try:
            code = assemble(
                self._assembly,
                constants=tuple(emitter.constants),
                stack_size=self._code.co_stacksize + extra,
            )
        except WeavingError as error:
            for binding in joined:
                self._refuse(binding, error.message)
            return self._code
        for binding, (pushed, _) in joined.items():
            binding.bound += len(pushed)
        return code

    def _join(self) -> dict[Binding, tuple[list[Instruction], list[Instruction]]]:
        """Return, by binding in this code, the instructions that push its callee and those that consume saved values."""
        instructions = self._assembly.instructions
        called = {instruction.location for instruction in instructions if instruction.name in _CALLS}
        joined: dict[Binding, tuple[list[Instruction], list[Instruction]]] = {}
        for binding in self._bindings:
            if called.isdisjoint(binding.calls) or self._is_refused(binding):
                continue
            pushes = self._fused(binding) + [
                instruction
                for instruction, after in pairwise(instructions)
                if instruction.location in binding.callee
                and _form_of(instruction) == binding.form
                # What an annotation in a class looks a name up in has the name's position, too.
                and not after.name.startswith("LOAD_FROM_DICT_OR_")
            ]
            if not pushes:
                continue
            places = {position for _, positions in binding.saves for position in positions}
            consumers = [
                instruction
                for instruction in instructions
                if instruction.location in places and _form_of(instruction) in ("attribute", "subscript")
            ]
            if self._is_plain(binding, pushes, consumers):
                joined[binding] = (pushes, consumers)
        return joined

    def _is_refused(self, binding: Binding) -> bool:
        """Refuse a call of a form that does not work on this interpreter."""
        try:
            refuse_shape(binding.form)
        except WeavingError as error:
            self._refuse(binding, error.message)
            return True
        return False

    def _fused(self, binding: Binding) -> list[Instruction]:
        """Return the fused instructions of Python 3.13 that push the callee after another value.

        They have the other value's position, but the PUSH_NULL behind them has the callee's.
        """
        if not (SINCE_3_13 and binding.form == "name"):
            return []
        instructions = self._assembly.instructions
        return [
            before
            for before, null in pairwise(instructions)
            if null.name == "PUSH_NULL" and null.location in binding.callee and before.name in _FUSED
        ]

    def _is_plain(self, binding: Binding, pushes: list[Instruction], consumers: list[Instruction]) -> bool:
        """Return whether the saved values can stay on the stack until the callee is pushed; refuse the binding if not."""
        per_push = len({positions for _, positions in binding.saves})
        if len(consumers) != per_push * len(pushes):
            self._refuse(binding, "the value of a metavariable is not computed exactly once for each call")
            return False
        if not consumers:
            return True
        index_of = {id(instruction): index for index, instruction in enumerate(self._assembly.instructions)}
        starts = [index_of[id(handler.start)] for handler in self._assembly.handlers]
        for number, push in enumerate(pushes):
            first = index_of[id(consumers[number * per_push])]
            if any(first < start <= index_of[id(push)] for start in starts):
                self._refuse(binding, "a comprehension stands between a metavariable and the callee")
                return False
        return True

    def _refuse(self, binding: Binding, reason: str) -> None:
        self._ledger.refuse(f"{binding.site.module}:{binding.line} {binding.site.label}", reason)

    def _emit(
        self, emitter: Emitter, instruction: Instruction, saves: Sequence[str], binding: Binding | None
    ) -> None:
        if not saves and binding is None:
            emitter.instructions.append(instruction)
            return
        emitter.location = instruction.location
        if saves:
            instruction = _save(emitter, instruction, saves)
        if binding is None:
            emitter.instructions.append(instruction)
            return
        is_method = _make_plain(instruction)
        emitter.instructions.append(instruction)
        count = len(binding.saves)
        if count:
            emitter.put("BUILD_TUPLE", count + 1)
        site = binding.site
        is_pair = count == 1 and site.receiver == 0
        _call_bind(emitter, site.bind_received if is_pair else site.bind_saved if count else site.bind)
        if is_method:
            emitter.put("PUSH_NULL")
            if not SINCE_3_13:
                emitter.put("SWAP", 2)


def _form_of(instruction: Instruction) -> str:
    """Return what an instruction loads: a `name`, an `attribute` or a `subscript`; an empty string for another one."""
    if instruction.name in _NAMES:
        return "name"
    if instruction.name in _ATTRIBUTES:
        return "attribute"
    return "subscript" if is_subscript(instruction.opcode, instruction.argument) else ""


def _save(emitter: Emitter, instruction: Instruction, saves: Sequence[str]) -> Instruction:
    """Emit copies of an instruction's operands below them, and return the instruction to emit next.

    The given instruction object becomes the first of the copying ones, so that jumps to it stay valid.
    """
    consumer = Instruction(instruction.opcode, instruction.argument, None, instruction.location)
    has_key = _form_of(instruction) == "subscript"
    before = len(emitter.instructions)
    for role in sorted(saves, key=lambda role: role == "key"):
        if not has_key:
            emitter.put("COPY", 1)  # r -> r, r
        elif role == "receiver":
            emitter.put("COPY", 2)  # c, k -> c, k, c
            emitter.put("SWAP", 2)  # -> c, c, k
        else:
            emitter.put("COPY", 1)  # c, k -> c, k, k
            emitter.put("SWAP", 3)  # -> k, k, c
            emitter.put("SWAP", 2)  # -> k, c, k
    first = emitter.instructions[before]
    instruction.opcode, instruction.argument = first.opcode, first.argument
    emitter.instructions[before] = instruction
    return consumer


def _make_plain(instruction: Instruction) -> bool:
    """Make an instruction push the callee alone, and return whether it pushed a NULL or a receiver with it."""
    if instruction.name == "LOAD_METHOD":
        instruction.opcode = _LOAD_ATTR
        return True
    pushes_receiver = instruction.name == "LOAD_ATTR" and SINCE_3_12 and instruction.argument & 1
    if pushes_receiver or (instruction.name == "LOAD_GLOBAL" and SINCE_3_13 and instruction.argument & 1):
        instruction.argument &= ~1
        return True
    return False


def _call_bind(emitter: Emitter, bind: Any) -> None:
    """Replace the top of the stack by the result of calling `bind` with it."""
    if SINCE_3_13:
        emitter.constant(bind)
        emitter.put("SWAP", 2)
        emitter.put("PUSH_NULL")
        emitter.put("SWAP", 2)
    else:
        emitter.put("PUSH_NULL")
        emitter.put("SWAP", 2)
        emitter.constant(bind)
        emitter.put("SWAP", 2)
    emitter.call(1)
