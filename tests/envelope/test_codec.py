"""The typed codec restores each supported type to an equal value, and refuses every other type."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import fractions
import json
import math
import pathlib
import re
import sys
import time
import traceback
import types
import uuid
import zoneinfo
from typing import Any

import msgspec
import pydantic_core
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autochron.envelope import types as names
from autochron.envelope.codec import decode, encode
from autochron.errors import CodecError, OpaqueError
from tests.late import anthropic, httpx, httpx2, openai

from . import sample_types as samples


def same(left: Any, right: Any) -> bool:
    """Return whether two values are equal and of the same type at every level."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return math.copysign(1, left) == math.copysign(1, right) and (
            left == right or (left != left and right != right)
        )
    if isinstance(left, complex):
        return same(left.real, right.real) and same(left.imag, right.imag)
    if isinstance(left, dict):
        pairs = zip(left.items(), right.items(), strict=True)
        return len(left) == len(right) and all(same(a, c) and same(b, d) for (a, b), (c, d) in pairs)
    if isinstance(left, (list, tuple, collections.deque)):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, (set, frozenset)):
        return sorted(map(repr, left)) == sorted(map(repr, right))
    if isinstance(left, decimal.Decimal):
        return str(left) == str(right)
    if isinstance(left, (dt.datetime, dt.time)):
        return left == right and left.fold == right.fold and same(left.tzinfo, right.tzinfo)
    if isinstance(left, msgspec.Struct):
        return all(same(getattr(left, f), getattr(right, f)) for f in left.__struct_fields__)
    if hasattr(left, "__dict__") and not isinstance(left, type):
        return same(vars(left), vars(right))
    return bool(left == right)


_zones = (
    st.none()
    | st.timezones()
    | st.just(dt.UTC)
    | st.timedeltas(dt.timedelta(hours=-23), dt.timedelta(hours=23)).map(dt.timezone)
    | st.integers(-86_399, 86_399).map(pydantic_core.TzInfo)
)
_hashable = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.text(
        alphabet=st.characters(min_codepoint=0xD7F0, max_codepoint=0xE010, exclude_categories=()), max_size=3
    )
    | st.sampled_from(["$type", "$", "$tuple", "a"])
    | st.binary()
    | st.complex_numbers()
    | st.datetimes(timezones=_zones)
    | st.dates()
    | st.times(timezones=st.none() | st.just(dt.UTC))
    | st.timedeltas()
    | st.decimals().filter(lambda v: not v.is_snan())
    | st.fractions()
    | st.uuids()
    | st.sampled_from(
        [*samples.Side, *samples.Rank, samples.Permission(3), samples.Permission(0), samples.MyInt(3)]
    )
    | st.sampled_from(
        [pathlib.Path("/a/b"), pathlib.PureWindowsPath("c:\\x"), range(3), range(9, 1, -2), ...]
    )
)


def _grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    pairs = st.tuples(inner, inner)
    return (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(_hashable, inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "$b", "c"]), inner, max_size=3)
        | st.frozensets(_hashable, max_size=4)
        | st.sets(_hashable, max_size=4)
        | st.lists(inner, max_size=3).map(samples.MyTuple)
        | st.lists(inner, max_size=3).map(samples.MyList)
        | st.lists(inner, max_size=3).map(lambda v: collections.deque(v, maxlen=7))
        | st.dictionaries(st.text(), inner, max_size=3).map(samples.MyDict)
        | st.dictionaries(st.text(), inner, max_size=3).map(lambda v: collections.defaultdict(list, v))
        | st.dictionaries(st.text(), inner, max_size=3).map(collections.OrderedDict)
        | st.dictionaries(st.text(alphabet="ab $"), inner, max_size=3).map(_attributes)
        | pairs.map(lambda p: samples.Point(*p))
        | pairs.map(lambda p: samples.TypedPoint(*p))
        | pairs.map(lambda p: samples.Quote("x", p))
        | pairs.map(lambda p: samples.Frozen("x", *p))
        | pairs.map(lambda p: samples.Struct(*p))
    )


def _attributes(state: dict[str, Any]) -> Any:
    quote = samples.Quote("x")
    vars(quote).update(state)
    return quote


_values = st.recursive(_hashable, _grown, max_leaves=12)


@settings(max_examples=200, deadline=None)
@given(_values)
def test_decoding_an_encoded_value_gives_an_equal_value(value: Any) -> None:
    encoded = encode(value)
    assert encoded.opaque == ()
    json.loads(encoded.body)
    assert same(decode(encoded.body), value)


@settings(max_examples=100, deadline=None)
@given(_values)
def test_an_encoded_value_with_sorted_keys_can_be_decoded(value: Any) -> None:
    encoded = encode({"a": value}).body
    sorted_body = msgspec.json.encode(msgspec.json.decode(encoded), order="sorted")
    decode(sorted_body)


@pytest.mark.parametrize(
    "value",
    [
        samples.Slotted((1,), {2}),
        samples.Packet("a", [(1,), samples.Packet("b", None)]),
        samples.Attrs((1,)),
        samples.FrozenAttrs([1]),
        samples.MyStr("x"),
        samples.MyFloat(1.5),
        samples.MySet({1}),
        samples.MyOrdered(a=1),
        types.SimpleNamespace(a=(1,)),
        collections.Counter("aab"),
        time.localtime(),
        zoneinfo.ZoneInfo("UTC"),
        dt.datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=zoneinfo.ZoneInfo("Europe/Paris")),
        fractions.Fraction(1, 3),
        re.IGNORECASE | re.MULTILINE,
        bytearray(b"x"),
        slice(1, None, 2),
        uuid.UUID(int=3),
        dict,
        types.NoneType,
        NotImplemented,
        msgspec.UNSET,
        2**13000,
        types.MappingProxyType({"a": (1,)}),
        samples.Box[int](item=3),
    ],
)
def test_values_of_other_types_are_restored(value: Any) -> None:
    encoded = encode(value)
    assert encoded.opaque == ()
    restored = decode(encoded.body)
    assert type(restored) is type(value)
    assert restored == value


def test_slots_of_a_subclass_are_restored() -> None:
    value = samples.MyStr("x")
    value.note = (1,)
    assert decode(encode(value).body).note == (1,)


def test_a_pydantic_model_is_restored_with_its_set_fields_and_without_validation() -> None:
    value = samples.Model(a=(1,), z=3)
    value._secret = {4}
    restored = decode(encode(value).body)
    assert restored == value
    assert restored.a == (1,)
    assert restored.model_fields_set == {"a", "z"}
    assert restored.model_extra == {"z": 3}
    assert restored._secret == {4}
    strict = samples.Strict.model_construct(n=0)
    assert decode(encode(strict).body).n == 0
    unset = samples.Model.model_construct(a=1)
    assert decode(encode(unset).body).model_dump(exclude_unset=True) == {"a": 1}


def test_a_time_zone_of_pydantic_is_refused_unless_pydantic_is_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body = encode(dt.datetime(2026, 1, 2, tzinfo=pydantic_core.TzInfo(-3600))).body
    assert b'"zone":{"$timezone":[-1,82800,0],"of":"pydantic_core"}' in body
    monkeypatch.delitem(sys.modules, "pydantic_core")
    with pytest.raises(CodecError, match="pydantic_core isn't imported in this program; import it"):
        decode(body)


def test_decoding_runs_no_initialiser() -> None:
    value = samples.Quote("x")
    value.symbol = "forbidden"
    assert decode(encode(value).body) == value
    assert decode(encode(samples.MyDict(a=1)).body) == {"a": 1}


# --- exceptions
# ----------------------------------------------------------------------------------------------------


def _raised(make: Any) -> BaseException:
    try:
        make()
    except BaseException as error:
        return error
    raise AssertionError


def _state(error: BaseException) -> tuple[Any, ...]:
    members = (
        "errno strerror filename value code name path msg lineno offset text object start end reason".split()
    )
    return type(error), error.args, str(error), {m: getattr(error, m) for m in members if hasattr(error, m)}


@pytest.mark.parametrize(
    "make",
    [
        lambda: open("/nonexistent/file"),
        lambda: {}["missing"],
        lambda: b"\xff".decode(),
        lambda: "\ud800".encode(),
        lambda: compile("a b", "f.py", "exec"),
        lambda: __import__("nonexistent_module"),
        lambda: sys.exit(3),
        lambda: next(iter(())),
        lambda: int("x"),
        lambda: undefined_name,  # noqa: F821
        lambda: None.attribute,
        lambda: 1 / 0,
        lambda: json.loads("{"),
    ],
)
def test_builtin_exceptions_are_restored(make: Any) -> None:
    error = _raised(make)
    restored = decode(encode(error).body)
    assert _state(restored) == _state(error)
    assert vars(restored) == vars(error)


def test_causes_contexts_notes_and_attributes_of_exceptions_are_restored() -> None:
    def make() -> None:
        try:
            raise KeyError("inner")
        except KeyError as error:
            outer = samples.Picky("outer", code=7)
            outer.add_note("a note")
            raise outer from error

    restored = decode(encode(_raised(make)).body)
    assert isinstance(restored, samples.Picky)
    assert (str(restored), restored.code, restored.__notes__) == ("outer", 7, ["a note"])
    assert restored.__cause__.args == ("inner",)
    assert restored.__context__ is restored.__cause__
    assert restored.__suppress_context__


def test_exception_groups_are_restored() -> None:
    value = ExceptionGroup("g", [ValueError(1), ExceptionGroup("h", (KeyError(2),))])
    restored = decode(encode(value).body)
    assert type(restored) is ExceptionGroup
    assert [type(e) for e in restored.exceptions] == [ValueError, ExceptionGroup]
    assert restored.exceptions[1].exceptions[0].args == (2,)
    assert type(restored.exceptions[1].args[1]) is tuple


@pytest.mark.sdks
@pytest.mark.parametrize(("library", "http"), [(openai, httpx2), (anthropic, httpx2)])
def test_exceptions_of_sdks_are_restored(library: Any, http: Any) -> None:
    request = http.Request(
        "POST", "https://api.example.invalid/v1/x?a=b", json={"model": "m"}, headers={"x-a": "1"}
    )
    response = http.Response(
        429, request=request, json={"error": {"code": "c"}}, headers=[("a", "1"), ("a", "2")]
    )
    error = library.RateLimitError("slow down", response=response, body={"code": "c"})
    restored = decode(encode(error).body)
    assert type(restored) is library.RateLimitError
    assert str(restored) == "slow down"
    assert restored.status_code == 429
    assert restored.response.json() == {"error": {"code": "c"}}
    assert restored.response.headers.raw == response.headers.raw
    assert restored.response.request.content == request.content
    assert str(restored.request.url) == str(request.url)
    assert restored.body == {"code": "c"}


@pytest.mark.sdks
@pytest.mark.parametrize("http", [httpx, httpx2])
def test_http_responses_are_restored(http: Any) -> None:
    request = http.Request("GET", "https://api.example.invalid/")
    response = http.Response(200, request=request, content=b"\xff\x00", headers={"content-type": "image/png"})
    response.elapsed = dt.timedelta(seconds=2)
    restored = decode(encode(response).body)
    assert (restored.status_code, restored.content, restored.elapsed) == (200, b"\xff\x00", response.elapsed)
    assert restored.is_closed
    unread = http.Response(200, request=request, stream=http.ByteStream(b"x"))
    with pytest.raises(http.ResponseNotRead):
        _ = decode(encode(unread).body).content
    for value in (request.url, request.headers):
        assert decode(encode(value).body) == value


def _deep(n: int) -> None:
    if n:
        _deep(n - 1)
    else:
        raise ValueError("deep")


def test_a_restored_traceback_prints_the_same_lines() -> None:
    try:
        _deep(2)
    except ValueError as error:
        encoded = encode(error, traceback_below=sys._getframe())
        expected = traceback.format_tb(error.__traceback__)[1:]
    restored = decode(encoded.body)
    assert traceback.format_tb(restored.__traceback__) == expected
    try:
        raise restored
    except ValueError:
        assert "_deep(n - 1)" in traceback.format_exc()


# --- what is refused
# -----------------------------------------------------------------------------------------------


def test_opaque_parts_are_listed_when_encoded_and_refused_when_decoded() -> None:
    assert encode([samples.Link("a")]).opaque[0].endswith("sample_types:Link")
    encoded = encode({"a": [samples.Plain(), (1, lambda: 1)], "b": {1: object()}})
    assert encoded.opaque[0].startswith("a.0: ")
    assert encoded.opaque[0].endswith("sample_types:Plain")
    assert [entry.partition(":")[0] for entry in encoded.opaque] == ["a.0", "a.1.1", "b.(key)"]
    assert b"0x" not in encoded.body
    with pytest.raises(OpaqueError, match=r"a\.0 was recorded as .*Plain"):
        decode(encoded.body)


def test_cycles_depth_and_local_classes_are_opaque() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    assert encode(cycle).opaque == ("0: builtins:list",)
    deep: Any = []
    deeper: Any = ()
    for _ in range(10_000):
        deep, deeper = [deep], (deeper,)
    for value in (deep, deeper):
        assert len(encode(value).opaque) == 1

    class Local(samples.Quote):
        pass

    assert b"top level" in encode(Local("x")).body


@pytest.mark.parametrize(
    "body",
    [
        b'{"$type":"os:system"}',
        b'{"$type":"subprocess:Popen"}',
        b'{"$type":"builtins:object"}',
        b'{"$type":"not_imported:X"}',
        b'{"$error":"os:system"}',
        b'{"$error":"builtins:int","args":[]}',
        b'{"$enum":"builtins:int","value":1}',
        b'{"$http":"os:system"}',
        b'{"$http":"httpx:get"}',
        b'{"$unknown":1}',
        b'{"$tuple":3}',
        b'{"$ref":"os:environ"}',
        b'{"$path":"x","flavour":"os"}',
        b"{",
    ],
)
def test_any_other_body_is_refused(body: bytes) -> None:
    with pytest.raises(CodecError):
        decode(body)


def test_a_type_of_the_main_module_is_stored_with_its_file(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "agent.py"
    file.write_text("from dataclasses import dataclass\n@dataclass\nclass Quote:\n    a: int\n")
    monkeypatch.setattr(names, "_root", [str(tmp_path)])

    def load(name: str) -> types.ModuleType:
        module = types.ModuleType(name)
        module.__file__ = str(file)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(file.read_text(), str(file), "exec"), vars(module))
        return module

    main = load("__main__")
    body = encode(main.Quote(1)).body
    assert body == b'{"$type":"@agent.py:Quote","a":1}'
    assert type(decode(body)) is main.Quote
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))
    agent = load("agent")
    assert type(decode(body)) is agent.Quote
    monkeypatch.delitem(sys.modules, "agent")
    load("__main__")
    assert type(decode(b'{"$type":"agent:Quote","a":1}')).__name__ == "Quote"


def test_looking_up_a_type_runs_no_module_getattr(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("lazy_module")
    module.__getattr__ = lambda name: pytest.fail(f"__getattr__({name}) ran")  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, "lazy_module", module)
    with pytest.raises(CodecError, match="has no X"):
        decode(b'{"$type":"lazy_module:X"}')


@pytest.mark.parametrize("name", ["Lost", "LostModel"])
def test_a_field_that_the_type_no_longer_has_is_refused(name):
    body = encode(
        getattr(samples, name)(1, kept=2) if name == "Lost" else samples.LostModel(gone=1, kept=2)
    ).body
    assert decode(body).kept == 2
    with pytest.raises(
        CodecError, match="was recorded with went, which it no longer has; record the trace again"
    ):
        decode(body.replace(b'"gone":', b'"went":'))


def test_attributes_beside_the_fields_of_an_object_are_restored():
    lost = samples.Lost(1, kept=2)
    lost.beside = [3]
    assert vars(decode(encode(lost).body)) == vars(lost)


def test_attributes_beside_the_fields_of_a_model_are_restored():
    model = samples.LostModel(gone=1, kept=2)
    vars(model)["_request_id"] = "req_1"  # the SDK of OpenAI sets it
    restored = decode(encode(model).body)
    assert (vars(restored), restored.model_fields_set) == (vars(model), {"gone", "kept"})
    with pytest.raises(CodecError, match="was recorded with went"):
        decode(encode(model).body.replace(b'"gone":', b'"went":'))
