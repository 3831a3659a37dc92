"""Marks are taken out, all else stays as it was, and the rules say what the marks said."""

import pytest

from tests.adopt.workshop import adopted, write

TAKEN = {
    "an alias of the package": (
        """\
        import chronicle as c

        @c.boundary("plan", kind="llm")
        def plan(q):
            return q

        @c.boundary(name="refund", kind='tool')  # money
        def refund(order, *, amount=1):
            return {"order": order}
        """,
        """\
        def plan(q):
            return q

        # money
        def refund(order, *, amount=1):
            return {"order": order}
        """,
        [("plan", "model", "agent:plan"), ("refund", "tool", "agent:refund")],
    ),
    "aliases of names, stacked and over lines": (
        '''\
        """A module."""

        from chronicle import boundary as step
        from chronicle.boundary import boundary as mark
        import os

        # before
        @staticmethod
        @step(
            "plan",  # the planner
            kind="llm",
        )
        # between
        def plan(q): return os.sep
        class Tools:
            @mark("refund", kind="tool")
            def refund(self, x):
                return x

            @classmethod
            @mark("audit",
                kind="tool")
            def audit(cls, y): return y

            class Inner:
                @mark("go")
                async def go(self, z):
                    return z
        ''',
        '''\
        """A module."""

        import os

        # before
        @staticmethod
        # the planner
        # between
        def plan(q): return os.sep
        class Tools:
            def refund(self, x):
                return x

            @classmethod
            def audit(cls, y): return y

            class Inner:
                async def go(self, z):
                    return z
        ''',
        [
            ("plan", "model", "agent:plan"),
            ("refund", "tool", "agent:Tools.refund"),
            ("audit", "tool", "agent:Tools.audit"),
            ("go", "tool", "agent:Tools.Inner.go"),
        ],
    ),
    "a star import": (
        """\
        from chronicle import *

        @boundary("x", kind="router")
        def x(): return 1
        """,
        """\
        def x(): return 1
        """,
        [("x", "router", "agent:x")],
    ),
    "an import for where it is installed": (
        """\
        try:
            from chronicle import boundary
        except ImportError:
            def boundary(name, **options):
                return lambda function: function

        @boundary("t", kind="tool")
        def t(x): return x
        """,
        """\
        def t(x): return x
        """,
        [("t", "tool", "agent:t")],
    ),
    "nested functions and a name that is shadowed": (
        """\
        from chronicle import boundary

        def make(prefix):
            @boundary("inner", kind="tool")
            def inner(x):
                return prefix + x
            return inner

        def other():
            def boundary(name):
                return lambda f: f
            @boundary("mine")
            def g(): return 1
            return g
        """,
        """\
        def make(prefix):
            def inner(x):
                return prefix + x
            return inner

        def other():
            def boundary(name):
                return lambda f: f
            @boundary("mine")
            def g(): return 1
            return g
        """,
        [("inner", "tool", "agent:make.<locals>.inner")],
    ),
    "applied, assigned and passed": (
        """\
        import chronicle

        def _search(q): return [q]
        search = chronicle.boundary("search", kind="tool")(_search)  # the index

        def lookup(q): return q
        lookup = chronicle.boundary("lookup", kind="tool")(lookup)

        ask = chronicle.boundary("ask", kind="llm")(lambda q: q.upper())

        def dispatch(model, messages, **kw):
            return {"completion": model}

        complete = chronicle.wrap_llm(
            "llm",
            dispatch,  # by hand
        )

        def a(q): return q
        TOOLS = {"a": chronicle.boundary("a", kind="tool")(a)}

        class Agent:
            def __init__(self):
                self.run = chronicle.boundary("run", kind="llm")(self.run)

            def run(self, q): return q
        """,
        """\
        def _search(q): return [q]
        search = _search  # the index

        def lookup(q): return q

        ask = lambda q: q.upper()

        def dispatch(model, messages, **kw):
            return {"completion": model}

        # by hand
        complete = dispatch

        def a(q): return q
        TOOLS = {"a": a}

        class Agent:
            def __init__(self):
                pass

            def run(self, q): return q
        """,
        [
            ("search", "tool", "agent:_search"),
            ("lookup", "tool", "agent:lookup"),
            ("ask", "model", "agent:ask"),
            ("llm", "model", "agent:dispatch"),
            ("a", "tool", "agent:a"),
            ("run", "model", "agent:Agent.run"),
        ],
    ),
    "names that are constants": (
        """\
        from chronicle import boundary
        TOOL = "issue_refund"
        KIND: str = "tool"

        @boundary(TOOL, kind=KIND)
        def refund(): return 1

        @boundary("a" "b")
        def ab(): return 2
        """,
        """\
        TOOL = "issue_refund"
        KIND: str = "tool"

        def refund(): return 1

        def ab(): return 2
        """,
        [("issue_refund", "tool", "agent:refund"), ("ab", "tool", "agent:ab")],
    ),
    "imports that share a line or parentheses": (
        """\
        import json, chronicle; from chronicle import (
            boundary,  # the mark
            wrap_llm,
        )
        @boundary("a")
        def a(): return json.dumps(1);
        """,
        """\
        # the mark
        import json
        def a(): return json.dumps(1);
        """,
        [("a", "tool", "agent:a")],
    ),
    "data classes that only become dictionaries": (
        """\
        from __future__ import annotations
        from chronicle.envelope.schema import Input, ToolCall
        from chronicle import boundary

        @boundary("plan", kind="llm")
        def plan(state: dict) -> dict:
            call = ToolCall(
                id="1",
                name="refund",
                arguments={"order": 1},  # of the state
            )
            return {**state, "calls": [call.model_dump(), ToolCall(id=None, name="x", arguments={}).model_dump()]}

        def shown(given: Input) -> str:
            return str(given)
        """,
        """\
        from __future__ import annotations
        from typing import TYPE_CHECKING

        if TYPE_CHECKING:
            from chronicle.envelope.schema import Input

        def plan(state: dict) -> dict:
            call = dict(
                id="1",
                name="refund",
                arguments={"order": 1},  # of the state
            )
            return {**state, "calls": [call, dict(id=None, name="x", arguments={})]}

        def shown(given: Input) -> str:
            return str(given)
        """,
        [("plan", "model", "agent:plan")],
    ),
    "overloads, parentheses, and an import in a function": (
        """\
        from typing import overload
        from chronicle.boundary import boundary

        def run():
            from chronicle import boundary as mark  # here

            @(mark("inner", kind="tool"))
            def inner(): return 1
            return inner()

        def only():
            import chronicle

        @overload
        def f(x: int) -> int: ...
        @overload
        def f(x: str) -> str: ...
        @boundary(kind="tool", name="f")
        def f(x): return x

        g = boundary("g")(fn=run)
        """,
        """\
        from typing import overload

        def run():
            # here

            def inner(): return 1
            return inner()

        def only():
            pass

        @overload
        def f(x: int) -> int: ...
        @overload
        def f(x: str) -> str: ...
        def f(x): return x

        g = run
        """,
        [
            ("inner", "tool", "agent:run.<locals>.inner"),
            ("f", "tool", "agent:f"),
            ("g", "tool", "agent:run"),
        ],
    ),
    "a graph, and nodes": (
        """\
        import chronicle
        from langgraph.graph import StateGraph

        def agent(s): return s
        def tools(s): return s
        def other(s): return s
        def route(s): return "tools"
        def build():
            g = StateGraph(dict)
            g.add_node("agent", agent).add_node(tools)
            g.add_conditional_edges("agent", route, {"tools": "tools"})
            app = g.compile()
            return chronicle.instrument(app)

        for name, node in chronicle.instrument_langgraph({"other": other}, kind="llm").items():
            print(name)
        """,
        """\
        from langgraph.graph import StateGraph

        def agent(s): return s
        def tools(s): return s
        def other(s): return s
        def route(s): return "tools"
        def build():
            g = StateGraph(dict)
            g.add_node("agent", agent).add_node(tools)
            g.add_conditional_edges("agent", route, {"tools": "tools"})
            app = g.compile()
            return app

        for name, node in {"other": other}.items():
            print(name)
        """,
        [
            ("agent", "tool", "agent:agent"),
            ("tools", "tool", "agent:tools"),
            ("agent:route", "router", "agent:route"),
            ("other", "model", "agent:other"),
        ],
    ),
}


@pytest.mark.parametrize("case", TAKEN)
def test_a_mark_is_taken_out_and_becomes_a_rule(tmp_path, case):
    source, expected, rules = TAKEN[case]
    write(tmp_path, {"agent.py": source})
    _, tables = adopted(tmp_path)
    write(tmp_path / "expected", {"agent.py": expected})
    assert (tmp_path / "agent.py").read_text() == (tmp_path / "expected/agent.py").read_text()
    assert [(table["name"], table["kind"], table["define"]) for table in tables] == rules


@pytest.mark.parametrize("case", TAKEN)
def test_what_was_adopted_has_nothing_to_adopt(tmp_path, case):
    write(tmp_path, {"agent.py": TAKEN[case][0]})
    adopted(tmp_path)
    adoption, _ = adopted(tmp_path)
    assert (adoption.changes, adoption.tables) == ([], [])


def test_a_wrapped_client_becomes_a_rule_like_that_of_the_pack(tmp_path):
    source = """\
        import anthropic
        from openai import OpenAI, AsyncOpenAI
        from chronicle import wrap

        client = wrap(OpenAI(api_key="k"))

        class Agent:
            def __init__(self, other: AsyncOpenAI):
                self.client = OpenAI()
                wrap(self.client)  # recorded
                self.other = wrap(other)
                self.claude = wrap(anthropic.Anthropic(), name="claude")
        """
    expected = """\
        import anthropic
        from openai import OpenAI, AsyncOpenAI

        client = OpenAI(api_key="k")

        class Agent:
            def __init__(self, other: AsyncOpenAI):
                self.client = OpenAI()
                # recorded
                self.other = other
                self.claude = anthropic.Anthropic()
        """
    write(tmp_path, {"agent.py": source})
    _, tables = adopted(tmp_path)
    write(tmp_path / "expected", {"agent.py": expected})
    assert (tmp_path / "agent.py").read_text() == (tmp_path / "expected/agent.py").read_text()
    assert [(table["name"], table["kind"], table["codec"], table["target"][0]) for table in tables] == [
        ("llm", "model", "http", "openai._base_client:SyncAPIClient.request"),
        ("claude", "model", "http", "anthropic._base_client:SyncAPIClient.request"),
    ]
    assert tables[0]["when"] == {"options.method": "post", "options.url": "*/chat/completions"}
    assert tables[0]["meta"]["sdk"] == "openai"


def test_modules_are_named_as_they_are_imported(tmp_path):
    marked = 'from chronicle import boundary\n@boundary("a")\ndef f(): pass\n'
    write(
        tmp_path,
        {
            "pyproject.toml": "",
            "src/shop/__init__.py": "",
            "src/shop/tools.py": marked,
            "examples/demos/one.py": marked.replace("def f", "def one"),
            "script.py": "from examples.demos.one import one\nfrom shop import tools\n",
            "lib/alone.py": marked.replace("def f", "def alone"),
        },
    )
    _, tables = adopted(tmp_path)
    assert {table["define"] for table in tables} == {"shop.tools:f", "examples.demos.one:one", "alone:alone"}


def test_a_function_of_another_module_is_named_there(tmp_path):
    write(
        tmp_path,
        {
            "tools.py": "def refund(order): return order\n",
            "agent.py": """\
                import tools
                from tools import refund
                from chronicle import boundary

                safe = boundary("safe", kind="tool")(refund)
                """,
        },
    )
    adoption, tables = adopted(tmp_path)
    assert [table["define"] for table in tables] == ["tools:refund"]
    assert ["crosses wherever `refund` is called" in note for note in adoption.notes] == [True]
