"""`extract_input` becomes `capture` where that can be said."""

import pytest

from tests.adopt.workshop import adopted, refused, write

HEAD = "from chronicle import boundary\nfrom chronicle.envelope.schema import Input\nLIMIT = 3\nmode = 'a'\n"
SAID = {
    "the arguments by position or by name": (
        """
def keep(*args, **kwargs):
    path = args[0] if args else kwargs["path"]
    place = args[1] if len(args) > 1 else kwargs["place"]
    return Input(arguments={"path": path, "place": place})

@boundary("f", kind="tool", extract_input=keep)
def f(path, place, token=None): ...
""",
        ["path", "place"],
    ),
    "parts of arguments": (
        """
def keep(state, key):
    return Input(arguments={"q": state["query"], "user": state.get("user", {}).get("id")})

@boundary("f", extract_input=keep)
def f(state, key): ...
""",
        ["state.query", "state.user.id"],
    ),
    "attributes of each element": (
        """
def keep(model, messages, **kwargs):
    return Input(arguments={"model": model}, messages=[{"role": m.role, "content": m.content} for m in messages])

@boundary("f", kind="llm", extract_input=keep)
def f(model, messages, **kwargs): ...
""",
        ["model", "messages.*.role", "messages.*.content"],
    ),
    "a dictionary by its annotation": (
        """
def keep(*args, **kwargs) -> Input:
    state = args[0] if args else kwargs.get("state", {})
    if not isinstance(state, dict):
        state = {}
    kept = dict(state)
    if len(args) > 1 and isinstance(args[1], dict):
        kept["result"] = args[1]
    return Input(messages=state.get("messages", []), arguments=kept)

@boundary("f", kind="llm", extract_input=keep)
def f(state: dict[str, object], result: "dict", key): ...
""",
        ["state", "result"],
    ),
    "constants, and values computed of what is kept": (
        """
def keep(*args, **kwargs):
    amount = args[1] if len(args) > 1 else kwargs.get("amount", 0)
    kept = {"order": args[0] if args else kwargs["order"], "amount": amount, "limit": LIMIT}
    kept.setdefault("over", amount * 100 - LIMIT)
    kept.update(text=f"{amount}")
    return Input(arguments=kept)

@boundary("f", kind="tool", extract_input=keep)
def f(order, amount, secret): ...
""",
        ["order", "amount"],
    ),
    "another function of the module": (
        """
def first(args): return {"q": args[0]}
def keep(*args): return Input(arguments={**first(args), "n": 1})

@boundary("f", extract_input=keep)
def f(q, /, key=None): ...
""",
        ["q"],
    ),
    "a method, and parts of its receiver": (
        """
class Agent:
    @boundary("f", extract_input=lambda self, q, key=None: Input(arguments={"q": q, "name": self.name}))
    def f(self, q, key=None): ...
""",
        ["q", "self.name"],
    ),
    "defaults, where the extractor does not take all parameters": (
        """
def keep(q, top_k=3): return Input(arguments={"q": q, "k": top_k})

@boundary("f", extract_input=keep)
def f(q, top_k=3, key="k"): ...
""",
        ["q", "top_k"],
    ),
    "messages as objects of Chronicle's": (
        """
from chronicle.envelope.schema import Message

def keep(q, key):
    return Input(messages=[Message(role="user", content=q), Message(role="x", content=None).model_dump()])

@boundary("f", kind="llm", extract_input=keep)
def f(q, key): ...
""",
        ["q"],
    ),
    "everything, which needs no capture": (
        """
@boundary("f", extract_input=lambda a, b: Input(arguments={"a": a, "b": b}))
def f(a, b): ...
""",
        None,
    ),
    "nothing of its own": (
        """
@boundary("f", extract_input=None)
def f(a, b): ...
""",
        None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SAID)
def test_it_becomes_capture(tmp_path, case):
    source, capture = SAID[case]
    write(tmp_path, {"agent.py": (HEAD + source).encode()})
    _, (table,) = adopted(tmp_path)
    assert table.get("capture") == capture
    text = (tmp_path / "agent.py").read_text()
    assert [word for word in ("chronicle", "Input", "def keep") if word in text] == []


UNSAID = {
    "a part that depends on a value": (
        'def keep(q):\n    if q:\n        return Input(arguments={"q": q})\n    return Input(arguments={})\n', "q",
        6, "what it keeps depends on the value of `q`",
    ),
    "a type that no annotation tells": (
        'def keep(q):\n    return Input(arguments={"q": q if isinstance(q, dict) else {}})\n', "q",
        6, "`isinstance(q, dict)`, which no annotation decides",
    ),
    "a digest": (
        'def keep(q):\n    return Input(arguments={"n": len(q)})\n', "q",
        5, "it keeps `n`, which it computes from `q`, and not `q` itself",
    ),
    "a function that isn't the module's": (
        'import json\ndef keep(q):\n    return Input(arguments={"q": json.dumps(q)})\n', "q",
        7, "it calls `json.dumps`",
    ),
    "a global that changes": (
        ('def set_mode(to):\n    global mode\n    mode = to\n'
        'def keep(q):\n    return Input(arguments={"q": q, "mode": mode})\n'), "q",
        9, "it uses `mode`, which is no constant of its module",
    ),
    "nothing": (
        "def keep(q):\n    return Input(arguments={})\n", "q",
        5, "it keeps no argument as it is",
    ),
    "what is left of a dictionary": (
        'def keep(state):\n    kept = dict(state)\n    kept.pop("token", None)\n    return Input(arguments=kept)\n', "state",
        7, "it calls `kept.pop`",
    ),
    "the receiver": (
        'def keep(self, q):\n    return Input(arguments={"self": self, "q": q})\n', "self, q",
        5, "it keeps the receiver `self` itself",
    ),
    "a loop": (
        "def keep(q):\n    kept = {}\n    for each in q:\n        kept[each] = 1\n    return Input(arguments=kept)\n", "q",
        7, "it has a statement that isn't followed",
    ),
    "too many ways of passing the arguments": (
        'def keep(q, **options):\n    return Input(arguments={"q": q})\n',
        "q, a=1, b=1, c=1, d=1, e=1, f=1, g=1, h=1, i=1",
        5, "more than 8 parameters with defaults",
    ),
    "any number of arguments": (
        'def keep(*q):\n    return Input(arguments={"q": q[0]})\n', "*q",
        5, "takes any number of positional arguments",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNSAID)
def test_what_capture_cannot_say_is_refused_with_the_line_of_the_extractor(tmp_path, case):
    source, parameters, line, reason = UNSAID[case]
    mark = f'@boundary("f", extract_input=keep)\ndef f({parameters}): ...\n'
    write(tmp_path, {"agent.py": (HEAD + source + mark).encode()})
    refusals = refused(tmp_path)
    assert [text.startswith(f"agent.py:{line}: ") and reason in text for text in refusals] == [True], refusals


MARKED = """\
    from chronicle import boundary
    from helpers import keep

    @boundary("f", extract_input=keep)
    def f(q, key): return q
    """
HELPERS = """\
    from chronicle import Input

    def keep(q, key): return Input(arguments={"q": q})

    def other(): return 1
    """


def test_an_extractor_that_is_not_in_the_source_is_refused(tmp_path):
    write(tmp_path, {"agent.py": MARKED})
    assert [
        "`extract_input` is `keep`, and what that keeps is not known" in text for text in refused(tmp_path)
    ] == [True]


def test_an_extractor_of_another_file_goes_if_only_marks_use_it(tmp_path):
    write(tmp_path, {"helpers.py": HELPERS, "agent.py": MARKED.replace("keep\n", "keep, other\n")})
    _, (table,) = adopted(tmp_path)
    assert table["capture"] == ["q"]
    assert (tmp_path / "helpers.py").read_text() == "def other(): return 1\n"
    assert (tmp_path / "agent.py").read_text() == "from helpers import other\n\ndef f(q, key): return q\n"


def test_an_extractor_that_another_file_uses_is_refused(tmp_path):
    write(
        tmp_path,
        {
            "helpers.py": HELPERS,
            "agent.py": MARKED,
            "tests.py": "from helpers import keep\nassert keep(1, 2)\n",
        },
    )
    assert [text.partition(";")[0] for text in refused(tmp_path)] == [
        "helpers.py:3: `keep` builds an `Input` for the marks, and tests.py:1 mentions it as well",
    ]


USES = {
    "by its module": "import helpers\nhelpers.keep(1, 2)\n",
    "by its name": "from helpers import keep as kept\nprint(kept)\n",
}


@pytest.mark.parametrize("use", USES)
def test_an_extractor_that_another_marked_file_uses_is_refused(tmp_path, use):
    other = f'{USES[use]}from chronicle import boundary\n@boundary("g")\ndef g(): ...\n'
    write(tmp_path, {"helpers.py": HELPERS, "agent.py": MARKED, "other.py": other})
    assert [text.replace(f"{tmp_path}/./", "") for text in refused(tmp_path)] == [
        "helpers.py:3: `keep` builds an `Input` for the marks, and other.py:2 mentions it as well",
    ]


NAMED = """\
    import chronicle
    from chronicle import Input

    class Helpers:
        @staticmethod
        def keep(q, key): return Input(arguments={"q": q})

    keep = lambda q, key: Input(arguments={"q": q})  # what is kept

    @chronicle.boundary("f", extract_input=Helpers.keep)
    def f(q, key): return q

    @chronicle.boundary("g", extract_input=keep)
    def g(q, key): return q
    h = chronicle.boundary("h", extract_input=lambda q, key: Input(arguments={"q": q}))(lambda q, key: 1)
    """
UNNAMED = """\
    class Helpers:
        pass

    # what is kept

    def f(q, key): return q

    def g(q, key): return q
    h = lambda q, key: 1
    """


def test_extractors_that_are_methods_or_lambdas_go_too(tmp_path):
    write(
        tmp_path,
        {
            "agent.py": NAMED.replace("extract_input=keep", "extract_input=kept").replace(
                "keep = l", "kept = l"
            )
        },
    )
    write(tmp_path, {"expected": UNNAMED})
    _, tables = adopted(tmp_path, "agent.py")
    assert [table["capture"] for table in tables] == [["q"], ["q"], ["q"]]
    assert (tmp_path / "agent.py").read_text() == (tmp_path / "expected").read_text()


def test_an_extractor_in_a_file_that_is_not_named_stays_and_is_told(tmp_path):
    write(tmp_path, {"helpers.py": HELPERS, "agent.py": MARKED})
    before = (tmp_path / "helpers.py").read_bytes()
    adoption, (table,) = adopted(tmp_path, "agent.py")
    assert (table["capture"], (tmp_path / "helpers.py").read_bytes()) == (["q"], before)
    assert ["`keep` is left as it is" in note for note in adoption.notes] == [True]
