"""The comparison with the study of agent-chronicle, on a source with the same layout."""

import textwrap

import pytest

pytest.importorskip("cosmic_ray")

from bench.chronicle import Guarded, compare, guarded_tools, without_marks

TOOL = '''
from marks import boundary

TOOL = "pay"

@boundary(
    TOOL, kind="tool",
)
@staticmethod
def pay(amount):
    """Pay."""
    if amount > 5:
        return True
    return "paid"
'''

PLAIN = '''

TOOL = "pay"

@staticmethod
def pay(amount):
    """Pay."""
    if amount > 5:
        return True
    return "paid"
'''

# The parts of their module that the comparison uses, with two mutants, of which we make the first one too.
STUDY = """
import ast
import inspect
from types import SimpleNamespace
from examples import tool

SCENARIOS = {"Payout": tool}

def _tool_def(module):
    return next(node for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.FunctionDef))

def _apply(function, number):
    text = ast.unparse(function).replace(*[("> 5", "< 5"), ("True", "None"), ("", "")][number])
    return ast.parse(text).body[0], SimpleNamespace(count=2)
"""


@pytest.fixture
def folder(tmp_path):
    files = {
        "marks.py": "def boundary(*args, **kwargs): return lambda function: function",
        "examples/__init__.py": "",
        "examples/tool.py": TOOL,
        "examples/benchmark/__init__.py": "",
        "examples/benchmark/mutation.py": STUDY,
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return tmp_path


def test_marks_and_their_import_are_removed():
    assert without_marks(TOOL) == PLAIN
    assert without_marks(PLAIN) == PLAIN


def test_guarded_tools_are_read_without_their_marks(folder):
    assert guarded_tools(folder) == [Guarded("Payout", PLAIN, "pay")]


def test_mutants_that_only_one_side_makes_are_counted(folder, capsys):
    assert not compare(folder)
    # Ours: five comparisons, two numbers, a negation, a boolean and a string.
    assert capsys.readouterr().out.splitlines() == [
        "            theirs    ours  the same",
        "Payout           2      10         1",
        "in sum           2      10         1",
    ]
