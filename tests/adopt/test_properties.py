"""Whatever the source: without marks it comes back byte for byte, and what was adopted has nothing to adopt."""

import ast
import os
import sysconfig

import libcst
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autochron.adopt.adoption import plan
from autochron.adopt.edits import Edits, edited
from tests.adopt.workshop import adopted, contents, write

LIBRARY = sysconfig.get_path("stdlib")
MODULES = ["abc.py", "contextlib.py", "textwrap.py", "queue.py", "shlex.py", "sched.py"]


@pytest.mark.parametrize("name", MODULES)
def test_a_source_without_marks_comes_back_byte_for_byte(name):
    with open(os.path.join(LIBRARY, name), encoding="utf-8", newline="") as file:
        text = file.read()
    assert edited(text, libcst.parse_module(text), Edits(), has_type_checking=False) == text


def test_spaces_that_libcst_loses_are_kept(tmp_path):
    source = """\
        from chronicle import boundary

        try:
            @boundary("f")
            def f(): pass
        except (KeyError, ValueError) :
            pass
        """
    write(tmp_path, {"agent.py": source})
    adopted(tmp_path)
    assert (tmp_path / "agent.py").read_text() == (
        "try:\n    def f(): pass\nexcept (KeyError, ValueError) :\n    pass\n"
    )


SUBJECTS = ["textwrap.py", "queue.py", "shlex.py", "sched.py"]


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(SUBJECTS), chance=st.randoms(use_true_random=False))
@pytest.mark.slow
def test_marks_that_are_put_into_a_module_come_out_again_and_leave_it_byte_for_byte(
    tmp_path_factory, name, chance
):
    with open(os.path.join(LIBRARY, name), encoding="utf-8", newline="") as file:
        text = file.read()
    folder = write(tmp_path_factory.mktemp("project"), {f"my_{name}": with_marks(text, chance).encode()})
    adopted(folder)
    assert (folder / f"my_{name}").read_bytes().decode() == text


def with_marks(text, chance):
    """Return a source with an import of Chronicle's before another one, and marks on functions without a decorator."""
    tree = ast.parse(text)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    names = [node.name for node in nodes]
    plain = [node for node in nodes if not node.decorator_list and names.count(node.name) == 1]
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    lines = text.splitlines(keepends=True)
    added = [(chance.choice(imports).lineno - 1, "from chronicle import boundary as _mark\n")]
    for node in chance.sample(plain, 3):
        indent = " " * node.col_offset
        form = chance.choice(
            ["@_mark({!r})\n", "@_mark(\n{indent}    {!r},\n{indent}    kind='tool',\n{indent})\n"]
        )
        added.append((node.lineno - 1, indent + form.format(node.name, indent=indent)))
    for place, line in sorted(added, reverse=True):
        lines.insert(place, line)
    return "".join(lines)


NAMES = st.sampled_from(["a", "b", "c", "d"])
COMMENTS = st.sampled_from(["", "  # a comment", "  # noqa: E501"])
BLANKS = st.sampled_from(["", "\n", "\n\n", "# apart\n\n", "\n# above\n"])
IMPORTS = st.sampled_from(
    [
        "from chronicle import boundary as mark\n",
        "from chronicle.boundary import boundary as mark  # marks\n",
        "import os\n\nfrom chronicle import (\n    boundary as mark,\n)\nimport sys\n",
        "try:\n    from chronicle import boundary as mark\nexcept ImportError:\n    mark = None\n",
        "x = 1; from chronicle import boundary as mark; y = 2\n",
    ]
)


@st.composite
def definitions(draw, number, depth=0):
    """Draw a function or a class with functions, marked or not; names differ by the number."""
    name = f"{draw(NAMES)}{number}"
    indent = "    " * depth
    lines = [f"{indent}{line}" if line else "" for line in draw(BLANKS).splitlines()]
    if depth == 0 and draw(st.integers(0, 3)) == 0:
        inner = draw(definitions(number * 10, 1)) + draw(definitions(number * 10 + 1, 1))
        return "\n".join([*lines, f"{indent}class {name.upper()}:{draw(COMMENTS)}"]) + "\n" + inner
    decorators = draw(
        st.sampled_from(
            [
                [],
                [f'@mark("{name}")'],
                [f'@mark("{name}", kind="tool")' + draw(COMMENTS)],
                ["@staticmethod", "# between", f'@mark("{name}",', '    kind="llm",' + draw(COMMENTS), ")"],
                [f"@mark(name='{name}')", "@staticmethod" + draw(COMMENTS)],
            ]
        )
    )
    head = draw(st.sampled_from(["def", "async def"]))
    body = draw(
        st.sampled_from(
            [" return x", f"\n{indent}    return x", f"\n{indent}    '''Doc.'''\n\n{indent}    yield x"]
        )
    )
    return (
        "\n".join(
            [
                *lines,
                *(indent + line for line in decorators),
                f"{indent}{head} {name}(x):{body}{draw(COMMENTS)}",
            ]
        )
        + "\n"
    )


@st.composite
def programs(draw):
    parts = [draw(definitions(number)) for number in range(1, draw(st.integers(2, 5)))]
    return draw(st.sampled_from(["", '"""Doc."""\n', "# first\n\n"])) + draw(IMPORTS) + "".join(parts)


def without_marks(source):
    """Return the tree of a source without Chronicle, which the new source must have."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.decorator_list = [each for each in node.decorator_list if "mark(" not in ast.unparse(each)]
    tree.body = [
        node
        for node in tree.body
        if not isinstance(node, ast.Try)
        and not (isinstance(node, ast.ImportFrom) and "chronicle" in node.module)
    ]
    return ast.dump(tree)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(source=programs())
def test_any_program_loses_its_marks_and_nothing_else(tmp_path_factory, source):
    folder = write(tmp_path_factory.mktemp("project"), {"agent.py": source.encode()})
    _adoption, tables = adopted(folder)
    text = (folder / "agent.py").read_text()
    assert ast.dump(ast.parse(text)) == without_marks(source)
    assert len(tables) == source.count("mark(")
    comments = [line.partition("#")[2] for line in source.splitlines() if "#" in line and "noqa" not in line]
    assert sorted(
        line.partition("#")[2] for line in text.splitlines() if "#" in line and "noqa" not in line
    ) == sorted(comments)
    before = contents(folder)
    again = plan([str(folder)])
    assert (again.changes, again.tables, contents(folder)) == ([], [], before)
