"""The portable assembler writes what ours does, and a Python that we don't know is probed before anything is woven there."""

import importlib
import inspect
import json
import sys
import types

import pytest
from bytecode import ConcreteBytecode, ControlFlowGraph

from autochron.weaving import assembler_choice, assembly, gate, portable, probes, probing
from autochron.weaving.splice import splice
from tests.cli import processes

MODULES = (
    "argparse",
    "asyncio.base_events",
    "contextlib",
    "dataclasses",
    "inspect",
    "subprocess",
    "tarfile",
    "typing",
)


def codes_of(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_of(constant)


@pytest.mark.parametrize("module", MODULES)
def test_a_round_trip_changes_nothing_but_the_form_of_the_line_table(module):
    file = importlib.import_module(module).__file__
    with open(file, encoding="utf-8") as opened:
        code = compile(opened.read(), file, "exec")
    for each in codes_of(code):
        made = portable.assemble(portable.disassemble(each))
        for name in ("co_code", "co_exceptiontable", "co_stacksize", "co_consts", "co_firstlineno"):
            assert getattr(made, name) == getattr(each, name), each.co_qualname
        assert list(made.co_positions()) == list(each.co_positions()), each.co_qualname


@pytest.mark.parametrize("module", MODULES)
def test_both_take_code_apart_in_the_same_way(module):
    file = importlib.import_module(module).__file__
    with open(file, encoding="utf-8") as opened:
        code = compile(opened.read(), file, "exec")

    def described(taken):
        number = {id(instruction): index for index, instruction in enumerate(taken.instructions)}
        return (
            [
                (each.opcode, each.argument, number.get(id(each.target)), each.location, each.width)
                for each in taken.instructions
            ],
            [
                (
                    number[id(each.start)],
                    number.get(id(each.end)),
                    number[id(each.target)],
                    each.depth,
                    bool(each.lasti),
                )
                for each in taken.handlers
            ],
        )

    for each in codes_of(code):
        assert described(portable.disassemble(each)) == described(assembly.disassemble(each)), (
            each.co_qualname
        )


KNOWN = {"generator"} if sys.version_info < (3, 12) else set()
"""On 3.11 a relay stands in for what a generator delegates to, and its events are others."""


@pytest.mark.parametrize("assembler", ["own", "portable"])
def test_every_probe_holds(assembler, tmp_path):
    program = (
        "import json\nfrom autochron.weaving import assembler_choice, probes\n"
        "print(json.dumps([assembler_choice.CHOSEN, {shape: probes.fault_of(shape) for shape in probes.PROBES}]))\n"
    )
    ended = processes.python(tmp_path, "-c", program, env={"AUTOCHRON_ASSEMBLER": assembler}, fresh=True)
    chosen, faults = json.loads(ended.text)
    assert chosen == assembler
    assert {shape for shape, fault in faults.items() if fault} == KNOWN
    assert set(faults) == set(probes.PROBES) == set(probes.EVENTS) == set(probing.SHAPES)


UNKNOWN = """
import sys
from autochron._runtime import instruction_set
instruction_set.VERIFIED = ((3, 10),)
from autochron.cli import main
sys.argv = ["autochron", *sys.argv[1:]]
main()
"""
RULES = """
version = 1
[[boundary]]
name = "add"
kind = "tool"
target = "lib:add"

[[boundary]]
name = "count"
kind = "tool"
target = "lib:count"
"""
FILES = {
    "autochron.toml": RULES,
    "lib.py": "def add(a, b):\n    return a + b\n\n\ndef count(n):\n    yield from range(n)\n",
    "agent.py": "import lib\nprint(lib.add(1, 2), list(lib.count(3)))\n",
    "unknown.py": UNKNOWN,
}


@pytest.fixture
def folder(tmp_path):
    processes.write(tmp_path, FILES)
    return tmp_path


def on_unknown(folder, *arguments, broken="", **env):
    (folder / "unknown.py").write_text(broken + UNKNOWN)
    return processes.python(
        folder, "unknown.py", *arguments, env={"AUTOCHRON_CACHE": str(folder / "kept"), **env}, fresh=True
    )


@pytest.mark.skipif(sys.version_info < (3, 12), reason="a probe differs on 3.11, see above")
def test_a_python_that_is_not_known_is_woven_by_the_package_and_says_so_once(folder):
    first = on_unknown(folder, "run", "agent.py")
    assert (first.status, first.text) == (0, "3 [0, 1, 2]\n")
    assert "is newer than this autochron, which is verified up to 3.10" in first.said
    assert "7 of 7 probes of this build hold (portable-weaving)" in first.said
    assert "add ×1" in first.said
    assert "count ×1" in first.said
    second = on_unknown(folder, "replay", "last")
    assert (second.status, second.text) == (0, "3 [0, 1, 2]\n")
    assert "portable-weaving" not in second.said


def test_a_shape_that_crashes_is_refused_by_name(folder):
    patched = (
        "from autochron._runtime import instruction_set\ninstruction_set.VERIFIED = ((3, 10),)\n"
        "from autochron.weaving import probing\n"
        "probing._RUN = 'import os; {path!r}; os.abort() if {shape!r} == \"sync\" else None'\n"
    )
    ended = on_unknown(folder, "run", "agent.py", broken=patched)
    assert (ended.status, ended.text) == (0, "3 [0, 1, 2]\n")
    reason = (
        "functions of the shape `sync` are not woven on this Python: it crashed in their probe (signal 6)"
    )
    assert f"lib:add: {reason} (not-woven)" in ended.said
    assert "count ×1" in ended.said


def test_a_wrong_choice_is_told_in_one_line(folder):
    ended = processes.autochron(folder, "run", "agent.py", env={"AUTOCHRON_ASSEMBLER": "best"}, fresh=True)
    assert ended.status != 0
    assert "AUTOCHRON_ASSEMBLER is 'best'; it is own, portable or empty" in ended.said
    assert "Traceback" not in ended.said


def woven_codes(module):
    """Yield the functions of a module, each woven by our own assembler."""
    file = importlib.import_module(module).__file__
    with open(file, encoding="utf-8") as opened:
        code = compile(opened.read(), file, "exec")
    for each in codes_of(code):
        is_plain = each.co_name != "<genexpr>"  # on 3.15 these begin with an iterator on their stack
        if each.co_flags & inspect.CO_NEWLOCALS and each.co_flags & inspect.CO_OPTIMIZED and is_plain:
            yield splice(each, gate.Point(module, each.co_qualname, each.co_varnames[: each.co_argcount]))


@pytest.mark.skipif(assembler_choice.CHOSEN != "own", reason="it checks what our own assembler writes")
@pytest.mark.parametrize("module", MODULES)
def test_the_package_agrees_with_what_ours_writes(module):
    count = 0
    for woven in woven_codes(module):
        count += 1
        made = portable.assemble(portable.disassemble(woven))
        assert made.co_code == woven.co_code, woven.co_qualname
        assert made.co_exceptiontable == woven.co_exceptiontable, woven.co_qualname
        assert list(made.co_positions()) == list(woven.co_positions()), woven.co_qualname
        assert needed_stack(woven) <= woven.co_stacksize, woven.co_qualname
    assert count > 30


def needed_stack(code):
    """Return how many stack slots the package says that a code object needs."""
    taken = ConcreteBytecode.from_code(code).to_bytecode(conserve_exception_block_stackdepth=True)
    graph = ControlFlowGraph.from_bytecode(taken)
    return graph.compute_stacksize(check_pre_and_post=False, compute_exception_stack_depths=False)
