"""What can't be taken out is refused with its line and the reason, and nothing is changed."""

import pytest

from autochron.adopt.adoption import plan
from autochron.errors import AdoptionError
from tests.adopt.workshop import adopted, contents, refused, write

REFUSED = {
    "a mark under a condition": (
        """\
        import os
        from chronicle import boundary
        def f(x): return x
        if os.environ.get("TRACE"):
            f = boundary("f")(f)
        """,
        5, "it marks under `if`, and a rule holds always",
    ),
    "a mark in a comprehension": (
        """\
        import chronicle
        def a(): return 1
        tools = [chronicle.boundary("a")(a) for _ in range(2)]
        """,
        3, "it marks in a comprehension",
    ),
    "a mark that holds once a function has run": (
        """\
        import chronicle
        class Agent:
            def run(self): return 1
        def setup():
            Agent.run = chronicle.boundary("run")(Agent.run)
        """,
        5, "it marks only once `setup` has run",
    ),
    "a client of an unknown class": (
        """\
        import chronicle
        def make(client):
            return chronicle.wrap(client)
        """,
        3, "what client `client` is can't be told from the source",
    ),
    "a mark outside of another decorator": (
        """\
        import functools
        from chronicle import boundary
        @boundary("r", kind="tool")
        @functools.cache
        def r(x): return x
        """,
        3, "the mark is outside of `@functools.cache`",
    ),
    "a mark that is kept as a value": (
        """\
        from functools import partial
        from chronicle import boundary
        tool = partial(boundary, kind="tool")
        """,
        3, "`boundary` is used as a value",
    ),
    "a name that the source doesn't show": (
        """\
        from chronicle import boundary
        PREFIX = "shop"
        @boundary(f"{PREFIX}.a")
        def a(): return 1
        """,
        3, '`name` is `f"{PREFIX}.a"`, whose text is not known',
    ),
    "a name with braces": (
        """\
        from chronicle import boundary
        @boundary("{a}")
        def a(): return 1
        """,
        2, "braces are a template",
    ),
    "arguments in a dictionary": (
        """\
        from chronicle import boundary
        options = {"kind": "tool"}
        @boundary("a", **options)
        def a(): return 1
        """,
        3, "`**options` hides the arguments of the mark",
    ),
    "a mark without arguments": (
        """\
        from chronicle import boundary
        @boundary
        def a(): return 1
        """,
        2, "has no arguments",
    ),
    "a class": (
        """\
        from chronicle import boundary
        @boundary("c")
        class C: pass
        """,
        2, "the mark is on a class",
    ),
    "two marks on one function": (
        """\
        from chronicle import boundary
        @boundary("a")
        @boundary("b")
        def f(): return 1
        """,
        3, "`f` has two marks",
    ),
    "one of two definitions of a name": (
        """\
        import sys
        from chronicle import boundary
        if sys.platform == "linux":
            @boundary("a", kind="tool")
            def a(): return 1
        else:
            def a(): return 2
        """,
        4, "1 of the 2 definitions of this name are marked",
    ),
    "a function that is used without the mark": (
        """\
        from chronicle import boundary
        def f(x): return x
        g = boundary("g")(f)
        f(1)
        """,
        3, "`f` is used without the mark in line 4",
    ),
    "a function that is unwrapped": (
        """\
        from chronicle import boundary
        @boundary("f")
        def f(x): return x
        raw = f.__wrapped__
        """,
        4, "`f.__wrapped__` does not exist without the mark",
    ),
    "a result that is shaped": (
        """\
        from chronicle import boundary
        @boundary("f", extract_result=len)
        def f(x): return x
        """,
        2, "`extract_result` shapes what is recorded of the result",
    ),
    "Chronicle's own API": (
        """\
        import chronicle
        with chronicle.record("x"):
            pass
        """,
        2, "chronicle.record is Chronicle's own API, and no mark; `autochron run` records the whole program",
    ),
    "Chronicle's own API, named in a text": (
        """\
        from unittest import mock
        with mock.patch("chronicle.session.get_session"):
            pass
        """,
        2, "names Chronicle in a text",
    ),
    "a name that is offered to others": (
        """\
        from chronicle import boundary
        __all__ = ["boundary"]
        """,
        1, "`__all__` offers `boundary` to other modules",
    ),
    "a data class that is used as such": (
        """\
        from chronicle import ToolCall
        call = ToolCall(id="1", name="x", arguments={})
        print(call.name)
        """,
        2, "`ToolCall` is a class of Chronicle's",
    ),
    "the package as a value": (
        """\
        import chronicle
        print(chronicle is not None)
        """,
        2, "`chronicle` is used as a value",
    ),
    "a node that is no function of the project": (
        """\
        import chronicle
        from functools import partial
        def a(s): return s
        nodes = chronicle.instrument_langgraph({"a": partial(a, 1)})
        """,
        4, "`partial(a, 1)` is no function that the source of this project defines",
    ),
    "a graph that is built elsewhere": (
        """\
        import chronicle
        from graphs import graph
        app = chronicle.instrument(graph)
        """,
        3, "how the graph `graph` is built is not known from this file",
    ),
    "nodes that are added in a loop": (
        """\
        import chronicle
        from langgraph.graph import StateGraph
        def a(s): return s
        graph = StateGraph(dict)
        for name in ("a", "b"):
            graph.add_node(name, a)
        app = chronicle.instrument(graph)
        """,
        6, "the graph gets its nodes in a loop",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_with_its_line(tmp_path, case):
    source, line, reason = REFUSED[case]
    write(tmp_path, {"agent.py": source})
    refusals = refused(tmp_path)
    assert [text.startswith(f"agent.py:{line}: ") and reason in text for text in refusals] == [True], refusals


def test_a_name_that_may_be_bound_by_something_else_is_refused(tmp_path):
    source = """\
        import sys
        if sys.argv:
            from chronicle import boundary
        else:
            from mine import boundary
        @boundary("f")
        def f(x): return x
        """
    write(tmp_path, {"agent.py": source})
    assert refused(tmp_path) == [
        "agent.py:3: `boundary` is imported under a condition, so what it is depends on the run",
        "agent.py:6: `boundary` may be bound by something else than Chronicle",
    ]


def test_one_refused_file_keeps_all_as_they_are(tmp_path):
    good = 'from chronicle import boundary\n@boundary("a")\ndef f(): pass\n'
    write(tmp_path, {"good.py": good, "bad.py": good.replace("def", "class").replace("f()", "F")})
    assert [text[:9] for text in refused(tmp_path)] == ["bad.py:2:"]
    _, tables = adopted(tmp_path, "good.py")
    assert [table["define"] for table in tables] == ["good:f"]


@pytest.mark.parametrize(
    "source",
    ["def broken(:\n", "from chronicle import boundary\n@boundary('a'\ndef f(): pass\n", b"\xff\xfe"],
)
def test_a_file_that_does_not_parse_is_told_and_nothing_is_changed(tmp_path, source):
    good = 'from chronicle import boundary\n@boundary("a")\ndef f(): pass\n'
    write(tmp_path, {"good.py": good, "bad.py": source})
    before = contents(tmp_path)
    with pytest.raises(
        AdoptionError, match=r"bad\.py:[12]: the file (does not parse|can't be decoded).*nothing was changed"
    ):
        plan([str(tmp_path / "good.py"), str(tmp_path / "bad.py")])
    assert contents(tmp_path) == before


def test_a_broken_file_of_a_folder_that_has_no_mark_is_in_nobodys_way(tmp_path):
    write(
        tmp_path,
        {"good.py": 'from chronicle import boundary\n@boundary("a")\ndef f(): pass\n', "bad.py": "print 1\n"},
    )
    assert [table["define"] for table in adopted(tmp_path)[1]] == ["good:f"]


def test_a_name_that_another_module_imports_from_here_is_refused(tmp_path):
    write(
        tmp_path,
        {
            "tracing.py": "from chronicle import boundary\n",
            "agent.py": 'from tracing import boundary\n@boundary("a")\ndef f(): pass\n',
        },
    )
    assert refused(tmp_path) == [
        "tracing.py:1: agent.py:1 imports `boundary` from here; import it from Chronicle there"
    ]


def test_one_function_with_two_names_is_refused(tmp_path):
    write(
        tmp_path,
        {
            "tools.py": "def refund(x): return x\n",
            "one.py": 'import chronicle, tools\nsafe = chronicle.boundary("one")(tools.refund)\n',
            "two.py": 'import chronicle, tools\nsafe = chronicle.boundary("two")(tools.refund)\n',
        },
    )
    assert [text.partition(", and")[0].replace(f"{tmp_path}/./", "") for text in refused(tmp_path)] == [
        "two.py:2: `refund` is marked as `two` here and as `one` at one.py:2"
    ]


def test_a_rule_that_would_fit_more_than_was_marked_is_refused(tmp_path):
    marked = 'from chronicle import boundary\n@boundary("a")\ndef f(): pass\n'
    write(tmp_path, {"one/agent.py": marked, "two/agent.py": "def f(): pass\n"})
    assert ["its rule would fit two/agent.py:f as well" in text for text in refused(tmp_path)] == [True]


def test_a_rule_that_the_project_has_for_the_function_is_not_overruled(tmp_path):
    write(
        tmp_path,
        {
            "agent.py": 'from chronicle import boundary\n@boundary("a", kind="tool")\ndef f(): pass\n',
            "autochron.toml": 'version = 1\n[[boundary]]\nname = "other"\nkind = "tool"\ndefine = "agent:f"\n',
        },
    )
    with pytest.raises(AdoptionError, match=r"autochron\.toml:2 has another rule for it, `other`"):
        plan([str(tmp_path)])
