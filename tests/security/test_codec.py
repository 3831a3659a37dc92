"""Decoding rebuilds only values of allowed types, and calls nothing that the trace names."""

import collections
import dataclasses
import enum
import glob
import json
import os
import subprocess
import sys
import zoneinfo

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autochron.envelope import codec
from autochron.envelope.reading import _READERS
from autochron.model import Raised, Returned, Streamed
from autochron.store.tracefile import read_trace
from tests.envelope import sample_types
from tests.security.decoding import CALLED, LIBRARY, RAN, decoded, fuzz, warm
from tests.security.hostile import HOSTILE
from tests.security.watched import watched

# Streams between tasks are built open. They are garbage-collected unclosed when the value around them is refused.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def factory():
    """A function of the project."""
    CALLED.append("factory")


def own_name(name):
    return f"{__name__}:{name}"


class Tool:
    """A class of the project that is no value type."""

    def run(self):
        return "run"


@dataclasses.dataclass
class Order:
    """A value type of the project."""

    number: int = 0

    def total(self):
        """Add up."""
        return self.number

    @property
    def label(self):
        """Show it."""
        return f"order {self.number}"


class Model(pydantic.BaseModel):
    """A model of the project."""

    number: int = 0


@pytest.fixture(autouse=True, scope="module")
def _warm():
    warm()


REFUSED = {
    "a function of Python's": {"$ref": "os:system"},
    "a builtin": {"$ref": "builtins:eval"},
    "a class that acts": {"$ref": "subprocess:Popen"},
    "a function of a library": {"$ref": "json:loads"},
    "through a module": {"$ref": f"{__name__}:os.system"},
    "an import of the project": {"$ref": own_name("subprocess")},
    "a name that was imported": {"$ref": own_name("watched")},
    "through an object": {"$ref": own_name("LIBRARY.function")},
    "through a function": {"$ref": own_name("factory.__globals__")},
    "a method": {"$ref": own_name("Tool.run")},
    "what is neither": {"$ref": own_name("REFUSED")},
    "a library's class that is no value": {"$ref": "installed_library:Plain"},
    "a module": {"$module": "os"},
    "a module of a library": {"$module": "installed_library"},
    "a factory that acts": {
        "$type": "collections:defaultdict",
        "$type.value": {},
        "$type.default": {"$ref": "os:getcwd"},
    },
    "a factory that is no name": {
        "$type": "collections:defaultdict",
        "$type.value": {},
        "$type.default": {"$tuple": []},
    },
    "a class that is no value": {"$type": "subprocess:Popen", "args": "true"},
    "a project's class that is no value": {"$type": own_name("Tool")},
    "what is forgotten": {"$type": "installed_library:Forgotten", "a": 1},
    "a dictionary that is forgotten": {"$type": "installed_library:Deleted", "$type.value": {}},
    "a struct with a hook": {"$type": "installed_library:Struct", "a": 1},
    "a flag with a hook": {"$enum": "installed_library:Level", "value": 6},
    "in front of a method": {"$type": own_name("Order"), "number": 1, "$type.beside": ["total"], "total": 3},
    "in front of a property": {
        "$type": own_name("Order"),
        "number": 1,
        "$type.beside": ["label"],
        "label": 3,
    },
    "in front of a library's method": {
        "$type": "installed_library:Record",
        "a": 1,
        "$type.beside": ["run"],
        "run": 3,
    },
    "in front of a special method": {
        "$type": own_name("Order"),
        "$type.beside": ["__eq__"],
        "$type.state": {"__eq__": 3},
    },
    "in front of the class": {
        "$type": own_name("Order"),
        "$type.beside": ["__class__"],
        "$type.state": {"__class__": 3},
    },
    "in front of a model's method": {"$type": own_name("Model"), "number": 1, "model_dump": 3},
    "in a model's extra": {"$type": own_name("Model"), "number": 1, "$type.extra": {"model_dump": 3}},
    "in a model's private": {"$type": own_name("Model"), "number": 1, "$type.private": {"model_dump": 3}},
    "in front of an exception's method": {
        "$error": "builtins:ValueError",
        "args": [],
        "attributes": {"with_traceback": 3},
    },
    "in front of a list's method": {
        "$type": "tests.envelope.sample_types:MyList",
        "$type.value": [],
        "append": 3,
    },
    "a field that is gone": {"$type": own_name("Order"), "number": 1, "price": 3},
    "an exception that is none": {"$error": "builtins:int", "args": [7]},
    "an exception that is a function": {"$error": own_name("factory"), "args": []},
    "an enumeration that is none": {"$enum": "builtins:int", "value": 7},
    "an unknown tag": {"$exec": "1"},
    "an unknown constant": {"$constant": "__import__"},
    "a path of another kind": {"$path": "x", "flavour": "__loader__"},
    "a float that is none": {"$float": "1"},
    "a zone that leads elsewhere": {"$zone": "../../etc/passwd"},
    "too long a number": {"$int": "9" * 5000},
    "a time that is none": {"$datetime": "never"},
    "too much time": {"$timedelta": [10**12, 0, 0]},
    "text that is none": {"$str": "\\x4"},
    "bytes that are none": {"$bytes": "a"},
    "an argument of the wrong type": {"$tuple": 3},
    "what is unhashable": {"$set": [[1]]},
    "an http class that is none": {"$http": "httpx:Client"},
    "a stream that is none": {
        "$channel": {"type": "subprocess:Popen", "slot": "args", "channel": "send", "empty": []}
    },
}


@pytest.mark.parametrize("node", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("around", ["alone", "in a list", "in a value"])
def test_a_forbidden_node_is_refused_and_runs_nothing(node, around):
    wrapped = {
        "alone": node,
        "in a list": [1, node],
        "in a value": {"$type": own_name("Order"), "number": node},
    }[around]
    body = json.dumps(wrapped).encode()
    seen, value, error = decoded(body)
    assert (seen.found, RAN, CALLED) == ([], [], [])
    assert error is not None, value
    assert str(error).isprintable()


ADMITTED = {
    "a function of the project": ({"$ref": own_name("factory")}, factory),
    "a class of the project": ({"$ref": own_name("Tool")}, Tool),
    "a value type": ({"$ref": "datetime:date"}, __import__("datetime").date),
    "a builtin type": ({"$ref": "builtins:dict"}, dict),
    "an exception": ({"$ref": "builtins:ValueError"}, ValueError),
    "a module of the project": ({"$module": "tests.envelope.sample_types"}, sample_types),
    "a value of a library": (
        {"$type": "installed_library:Pair", "a": 1},
        LIBRARY.Pair(1),
    ),
    "a record of a library": ({"$type": "installed_library:Record", "a": 1}, None),
    "an exception of a library": ({"$error": "installed_library:Failure", "args": [1]}, None),
    "a factory that is a type": (
        {"$type": "collections:defaultdict", "$type.value": {}, "$type.default": {"$ref": "builtins:list"}},
        collections.defaultdict(list),
    ),
    "a factory of the project": (
        {
            "$type": "collections:defaultdict",
            "$type.value": {},
            "$type.default": {"$ref": own_name("factory")},
        },
        collections.defaultdict(factory),
    ),
}


@pytest.mark.parametrize(("node", "value"), ADMITTED.values(), ids=ADMITTED)
def test_an_allowed_node_is_decoded_and_runs_nothing(node, value):
    with watched() as seen:
        decoded_value = codec.decode(json.dumps(node).encode())
    assert (seen.found, RAN, CALLED) == ([], [], [])
    if value is not None:
        assert decoded_value == value
        assert type(decoded_value) is type(value)


@pytest.mark.parametrize(
    "value", [print, json.loads, json, subprocess.Popen, LIBRARY.function, Tool().run, LIBRARY.Forgotten()]
)
def test_a_value_that_decoding_would_refuse_is_encoded_as_opaque(value):
    assert codec.encode(value).opaque != ()
    RAN.clear()  # the last value runs its `__del__`


# --- arbitrary trees and mutated traces --------------------------------------------------------------------
NAMES = st.sampled_from(
    [
        *(
            "os:system",
            "builtins:eval",
            "builtins:exec",
            "subprocess:Popen",
            "subprocess:run",
            "builtins:__import__",
            "os:_exit",
        ),
        *(
            "sys:modules",
            "builtins:open",
            "shutil:rmtree",
            "tempfile:TemporaryDirectory",
            "pickle:loads",
            "socket:socket",
        ),
        *(
            "builtins:int",
            "builtins:dict",
            "builtins:type",
            "builtins:object",
            "builtins:ValueError",
            "builtins:BaseExceptionGroup",
        ),
        *(
            "collections:defaultdict",
            "collections:Counter",
            "collections:deque",
            "types:SimpleNamespace",
            "enum:Enum",
            "enum:Flag",
        ),
        *(f"installed_library:{name}" for name in vars(LIBRARY) if not name.startswith("__")),
        *(f"tests.envelope.sample_types:{name}" for name in vars(sample_types) if not name.startswith("__")),
        *(
            own_name(name)
            for name in (
                "Tool",
                "Tool.run",
                "Order",
                "Order.total",
                "Model",
                "factory",
                "LIBRARY",
                "os.system",
                "st.text",
            )
        ),
        *(
            "pydantic:BaseModel",
            "msgspec:Struct",
            "httpx:Client",
            "httpx:URL",
            "httpx:Request",
            "send",
            "time:struct_time",
        ),
        *(
            "@agent.py:run",
            ":",
            "",
            "os",
            "os:",
            ":system",
            "@:x",
            "__main__:x",
            "os:path.join",
            "wrapt:ObjectProxy",
        ),
    ]
)

KEYS = st.sampled_from(
    [
        *(
            "$type.value",
            "$type.default",
            "$type.state",
            "$type.beside",
            "$type.extra",
            "$type.private",
            "$type.set",
            "$type.hidden",
        ),
        *(
            "$type.arguments",
            "$type.maxlen",
            "args",
            "attributes",
            "members",
            "group",
            "message",
            "cause",
            "context",
            "traceback",
        ),
        *(
            "name",
            "value",
            "zone",
            "fold",
            "of",
            "flavour",
            "a",
            "number",
            "__class__",
            "__dict__",
            "__del__",
            "__reduce__",
            "run",
        ),
        *(
            "status",
            "headers",
            "content",
            "request",
            "url",
            "method",
            "lines",
            "title",
            "type",
            "slot",
            "channel",
            "empty",
            "symbol",
        ),
    ]
)

TAGS = st.sampled_from([*_READERS, "$exec"])
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | NAMES
    | KEYS
    | st.sampled_from([text for text in HOSTILE if "\ud800" not in text])
)


def _nodes(children):
    def node(tag, content, fields):
        return {tag: content, **fields}

    fields = st.dictionaries(KEYS, children, max_size=4)
    return (
        st.lists(children, max_size=4)
        | st.dictionaries(KEYS | st.text(max_size=5), children, max_size=4)
        | st.builds(node, TAGS, children | NAMES, fields)
        | st.builds(node, st.sampled_from(["$type", "$error", "$enum", "$ref"]), NAMES, fields)
    )


TREES = st.recursive(LEAVES, _nodes, max_leaves=12)


def problems_of(body):
    """Decode a body, and return descriptions of everything that ran and should not have."""
    seen, _, error = decoded(body)
    problems = [*seen.found, *RAN, *CALLED]
    if error is not None and not str(error).replace("\n", "").replace("\t", "").isprintable():
        problems.append(f"not one line: {error}")
    return problems


def _run_trees(count):
    @fuzz(count)
    @given(TREES)
    def run(tree):
        assert problems_of(json.dumps(tree).encode()) == []

    run()


class Finder:
    """A meta path finder, as an installed library may add it."""

    def __init__(self):
        self.asked = []

    def find_spec(self, *args, **_kwargs):
        self.asked.append(args[0])


def test_import_finders_are_queried_for_time_zones_only(monkeypatch):
    finder = Finder()
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, finder])
    hostile = [text for text in HOSTILE if not text.isalnum()]
    for name in [*hostile, "os:system", "os.system", "a/../b", "a/./b", "a//b", "/a", "a/", "a b/c", "", "é"]:
        assert problems_of(json.dumps({"$zone": name}).encode()) == []
    assert finder.asked == []
    for name in ["os", "Mars/Base"]:
        assert problems_of(json.dumps({"$zone": name}).encode()) == []
    assert {name.partition(".")[0] for name in finder.asked} == {"tzdata"}


def test_every_time_zone_is_restored():
    names = sorted(zoneinfo.available_timezones())
    assert names
    for name in names:
        assert codec.decode(codec.encode(zoneinfo.ZoneInfo(name)).body) is zoneinfo.ZoneInfo(name)


def _corpus():
    """Return the bodies of the outcomes in the traces of `incidents`."""
    contents = set()
    for path in glob.glob(
        os.path.join(os.path.dirname(__file__), "..", "..", "incidents", "*", "trace.jsonl")
    ):
        for envelope in read_trace(path).envelopes:
            outcome = envelope.outcome
            bodies = [*outcome.items, outcome.end] if isinstance(outcome, Streamed) else [outcome]
            for body in bodies:
                content = (
                    body.value
                    if isinstance(body, Returned)
                    else body.error
                    if isinstance(body, Raised)
                    else body
                )
                if isinstance(content, bytes) and 1 < len(content) < 4000:
                    contents.add(content)
    return sorted(contents)


def _run_mutants(count):
    corpus = _corpus()
    assert len(corpus) > 20
    pieces = st.sampled_from(
        [
            b'"$ref":"os:system"',
            b'"$type":',
            b'{"$error":"builtins:OSError","args":[',
            b"]",
            b"}",
            b"[",
            b'"',
            b"1e400",
            b"\xff",
            b"$",
        ]
    )

    @fuzz(count)
    @given(
        st.sampled_from(corpus),
        st.lists(
            st.tuples(st.integers(0, 4000), st.integers(0, 30), pieces | st.binary(max_size=3)),
            min_size=1,
            max_size=4,
        ),
    )
    def run(body, edits):
        for at, length, piece in edits:
            at %= len(body) + 1
            body = body[:at] + piece + body[at + length :]
        assert problems_of(body) == []

    run()


def test_decoding_any_tree_runs_nothing():
    _run_trees(500)


def test_decoding_any_mutant_of_a_real_body_runs_nothing():
    _run_mutants(500)


@pytest.mark.thorough
@pytest.mark.timeout(1_800)
def test_decoding_any_of_many_trees_runs_nothing():
    _run_trees(120_000)


@pytest.mark.thorough
@pytest.mark.timeout(1_800)
def test_decoding_any_of_many_mutants_runs_nothing():
    _run_mutants(80_000)


def test_enum_members_are_looked_up_by_name(monkeypatch):
    assert codec.decode(b'{"$enum":"installed_library:Level","name":"LOW"}') is LIBRARY.Level.LOW
    assert isinstance(LIBRARY.Level.LOW, enum.Enum)
    assert msgspec.json.decode(b"1") == 1
    assert RAN == []
