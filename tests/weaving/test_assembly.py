"""Disassembling and assembling code changes nothing, and a splice changes nothing of the original instructions."""

import dis
import importlib.util
import itertools
import sys
import sysconfig
import types
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from autochron.errors import WeavingError
from autochron.weaving import splice as splicing
from autochron.weaving.assembly import (
    Assembly,
    Handler,
    Instruction,
    assemble,
    disassemble,
    operation,
    stack_depths,
)
from autochron.weaving.weave import Mark, point_of
from tests.weaving import ways

SOME = (
    "asyncio.base_events", "asyncio.runners", "argparse", "collections", "contextlib", "dataclasses", "enum", "functools",
    "inspect", "json.decoder", "logging", "pickle", "subprocess", "tarfile", "typing", "unittest.mock",
)  # fmt: skip
PROGRAMS = ("functions", "generators", "coroutines")


def code_of(module):
    spec = importlib.util.find_spec(module)
    return compile(Path(spec.origin).read_bytes(), spec.origin, "exec", dont_inherit=True)


def code_in(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_in(constant)


PARTS = 12
"""The standard library is divided into parts, so that each stays far below the time limit of a test.

Each build runs every sixth part; `--thorough` runs all.
"""


def standard_library(part):
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py"))[part::PARTS]:
        if "site-packages" not in path.parts and "lib2to3" not in path.parts:
            try:
                yield compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
            except (SyntaxError, ValueError, RecursionError):
                continue


def assert_same(assembled, code):
    assert assembled.co_code == code.co_code
    assert assembled.co_exceptiontable == code.co_exceptiontable
    assert list(assembled.co_positions()) == list(code.co_positions())
    assert list(assembled.co_lines()) == list(code.co_lines())
    assert assembled == code


# --- round trips ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", SOME)
def test_a_round_trip_changes_nothing(module):
    for code in code_in(code_of(module)):
        assert_same(assemble(disassemble(code)), code)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_round_trip_of_a_program_changes_nothing(program):
    for code in code_in(ways.compiled(program)):
        assert_same(assemble(disassemble(code)), code)


TEMPLATE = compile("def f(): pass", "template", "exec").co_consts[0]

lines = st.integers(1, 5000)
columns = st.integers(0, 400)
locations = st.one_of(
    st.just((None, None, None, None)),
    st.tuples(lines, st.integers(0, 300), columns, columns).map(
        lambda draw: (draw[0], draw[0] + draw[1], draw[2], draw[3])
    ),
    st.tuples(lines, st.just(0), st.integers(0, 90), st.integers(0, 20)).map(
        lambda draw: (draw[0], draw[0], draw[2], draw[2] + draw[3])
    ),
)


@hypothesis.given(st.lists(locations, min_size=1, max_size=60))
def test_any_locations_are_restored(places):
    instructions = [Instruction(operation("NOP"), 0, None, place) for place in places]

    code = assemble(Assembly(TEMPLATE, instructions, []))

    assert list(code.co_positions()) == places


@hypothesis.given(st.data())
def test_any_exception_handlers_are_restored(data):
    count = data.draw(st.integers(2, 400))
    instructions = [Instruction(operation("NOP")) for _ in range(count)]
    cuts = sorted(data.draw(st.sets(st.integers(0, count - 1), max_size=20)))
    handlers = []
    for start, end in itertools.pairwise([*cuts, None]):
        target = data.draw(st.integers(0, count - 1))
        depth, lasti = data.draw(st.integers(0, 5000)), data.draw(st.booleans())
        handlers.append(
            Handler(
                instructions[start],
                None if end is None else instructions[end],
                instructions[target],
                depth,
                lasti,
            )
        )

    code = assemble(Assembly(TEMPLATE, instructions, handlers))

    restored = disassemble(code)
    index = {id(instruction): at for at, instruction in enumerate(restored.instructions)}
    original_index = {id(instruction): at for at, instruction in enumerate(instructions)}

    def shape(handler, index):
        end = None if handler.end is None else index[id(handler.end)]
        return index[id(handler.start)], end, index[id(handler.target)], handler.depth, handler.lasti

    assert [shape(handler, index) for handler in restored.handlers] == [
        shape(handler, original_index) for handler in handlers
    ]


@hypothesis.given(st.lists(st.tuples(st.integers(0, 70_000), st.integers(0, 700)), min_size=1, max_size=40))
def test_jumps_and_arguments_of_any_size_are_restored(parts):
    instructions, jumps = [], []
    for argument, padding in parts:
        jump = Instruction(operation("JUMP_FORWARD"))
        instructions += [Instruction(operation("LOAD_CONST"), argument), jump]
        jumps.append(jump)
        instructions += [Instruction(operation("NOP")) for _ in range(padding)]
    end = Instruction(operation("NOP"))
    instructions.append(end)
    for jump in jumps:
        jump.target = end

    restored = disassemble(assemble(Assembly(TEMPLATE, instructions, [])))

    assert [instruction.opcode for instruction in restored.instructions] == [
        instruction.opcode for instruction in instructions
    ]
    loads = [
        instruction.argument for instruction in restored.instructions if instruction.name == "LOAD_CONST"
    ]
    assert loads == [argument for argument, _ in parts]
    assert all(
        instruction.target is restored.instructions[-1]
        for instruction in restored.instructions
        if instruction.name == "JUMP_FORWARD"
    )


def test_an_extended_argument_that_a_jump_does_not_need_is_kept():
    end = Instruction(operation("NOP"))
    jump = Instruction(operation("JUMP_FORWARD"), 0, end)
    jump.width = 2

    code = assemble(Assembly(TEMPLATE, [jump, end], []))

    assert len(code.co_code) == 6
    assert assemble(disassemble(code)) == code


def test_a_jump_that_changes_its_direction_is_refused():
    target = Instruction(operation("NOP"))

    with pytest.raises(WeavingError, match="changed its direction"):
        assemble(Assembly(TEMPLATE, [target, Instruction(operation("JUMP_FORWARD"), 0, target)], []))


def test_an_instruction_that_this_python_does_not_have_is_refused():
    with pytest.raises(WeavingError, match="no SUCH_OPCODE"):
        operation("SUCH_OPCODE")


# --- splices ----------------------------------------------------------------------------------------------------------


def covers(assembly):
    """Return, for each instruction, (index of its handler, depth, lasti), or None."""
    instructions = assembly.instructions
    index = {id(instruction): at for at, instruction in enumerate(instructions)}
    result = [None] * len(instructions)
    for handler in assembly.handlers:
        end = len(instructions) if handler.end is None else index[id(handler.end)]
        for at in range(index[id(handler.start)], end):
            result[at] = (index[id(handler.target)], handler.depth, bool(handler.lasti))
    return result


def assert_spliced_well(code):
    before = disassemble(code)
    splice = splicing._Splice(code, point_of(code, "m", Mark(())))
    originals = list(splice.assembly.instructions)
    start = splice._find_start()
    woven = splice.build()
    after = disassemble(woven)
    assert len(after.instructions) == len(splice.assembly.instructions)
    at = {id(spliced): number for number, spliced in enumerate(splice.assembly.instructions)}
    old, new = covers(before), covers(after)

    def is_outermost(cover):
        return cover is not None and cover[1:] == (1, True) and new[cover[0]] is None

    for number, instruction in enumerate(before.instructions):
        place = at[id(originals[number])]
        ends = instruction.name in {"RETURN_VALUE", "RETURN_CONST"}
        if number <= start or ends or after.instructions[place].name != instruction.name:
            continue  # before the token exists, or replaced
        actual, expected = new[place], None
        if old[number] is not None:
            target, depth, lasti = old[number]
            expected = (at[id(originals[target])], depth + 1, lasti)
        if instruction.name in {"YIELD_VALUE", "RESUME"} and actual != expected and not is_outermost(actual):
            # An error thrown in at a yield passes through an additional handler, and then to the original one.
            actual = new[actual[0]]
            if instruction.name == "RESUME" and actual != expected and not is_outermost(actual):
                assert (
                    after.instructions[actual[0]].name == "CLEANUP_THROW"
                )  # passes on every error except StopIteration
                actual = new[actual[0]]
        assert is_outermost(actual) if expected is None else actual == expected, (
            code.co_qualname,
            instruction,
        )
    assert_sound(woven, after)
    assert woven.co_flags == code.co_flags


def assert_sound(code, assembly):
    """Check that the stack depth is the same on every path to an instruction, and within the stack size."""
    start = next(at for at, resume in enumerate(assembly.instructions) if resume.name == "RESUME")
    depths = stack_depths(assembly, start)
    for at, instruction in enumerate(assembly.instructions):
        depth = depths.get(id(instruction))
        if depth is None:
            continue
        assert 0 <= depth <= code.co_stacksize
        argument = (
            instruction.argument
            if instruction.opcode >= dis.HAVE_ARGUMENT or sys.version_info >= (3, 13)
            else None
        )
        if instruction.target is not None and instruction.name != "END_ASYNC_FOR":
            assert depths[id(instruction.target)] == depth + dis.stack_effect(
                instruction.opcode, argument, jump=True
            )
        ends = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"}
        if instruction.name in ends or instruction.name.startswith(("JUMP_FORWARD", "JUMP_BACKWARD")):
            continue
        following = assembly.instructions[at + 1]
        assert depths[id(following)] == depth + dis.stack_effect(instruction.opcode, argument, jump=False)
    for handler in assembly.handlers:
        assert depths[id(handler.target)] == handler.depth + 1 + bool(handler.lasti)


@pytest.mark.parametrize("module", SOME)
def test_a_splice_keeps_every_handler(module):
    for code in ways.functions_in(code_of(module)):
        assert_spliced_well(code)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_splice_of_a_program_keeps_every_handler(program):
    for code in ways.functions_in(ways.compiled(program)):
        assert_spliced_well(code)


# --- both, of the whole standard library, which takes as long to compile as either ------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [pytest.param(part, marks=[pytest.mark.thorough] if part else []) for part in range(PARTS)],
)
@pytest.mark.filterwarnings("ignore")
def test_the_standard_library_is_restored_and_a_splice_of_it_keeps_every_handler(part):
    refused = []
    for module_code in standard_library(part):
        for code in code_in(module_code):
            assert_same(assemble(disassemble(code)), code)
        for code in ways.functions_in(module_code):
            try:
                assert_spliced_well(code)
            except WeavingError as error:
                refused.append((code.co_filename, code.co_qualname, error.message))
    assert refused == []
