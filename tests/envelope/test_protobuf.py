"""Messages of protocol buffers are stored as JSON and made again as equal messages of their own class, byte for byte."""

import base64
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.json import decode as from_json

from autochron.envelope import codec, protobuf_fields
from autochron.envelope.bodies import read_body, restore_body, store_body
from autochron.envelope.canonical import canonical
from autochron.envelope.grpc_frames import read_frames, write_frames
from autochron.errors import CodecError
from autochron.redaction.redactor import Redactor
from tests.late import LateLibrary

pytest.importorskip("google.protobuf", reason="protobuf is not installed")
descriptor_pb2, descriptor_pool, message_factory, struct_pb2 = (
    LateLibrary(f"google.protobuf.{name}")
    for name in ("descriptor_pb2", "descriptor_pool", "message_factory", "struct_pb2")
)

NAME = "autochron_tests.Sample"


@pytest.fixture(scope="session")
def sample():
    """Return a class of messages with a field of each kind."""
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="autochron_tests.proto", package="autochron_tests", syntax="proto3"
    )
    color = file.enum_type.add(name="Color")
    color.value.add(name="RED", number=0)
    color.value.add(name="BLUE", number=1)
    message = file.message_type.add(name="Sample")
    for number, (name, kind) in enumerate(
        (
            *(("text", "STRING"), ("raw", "BYTES"), ("small", "INT32"), ("large", "INT64")),
            *(
                ("huge", "UINT64"),
                ("zigzag", "SINT64"),
                ("single", "FLOAT"),
                ("double", "DOUBLE"),
                ("flag", "BOOL"),
            ),
        ),
        start=1,
    ):
        message.field.add(name=name, number=number, type=getattr(field, f"TYPE_{kind}"), label=1)
    message.oneof_decl.add(name="_maybe")
    message.field.add(
        name="maybe", number=20, type=field.TYPE_STRING, label=1, proto3_optional=True, oneof_index=0
    )
    message.field.add(
        name="color", number=21, type=field.TYPE_ENUM, type_name=".autochron_tests.Color", label=1
    )
    message.field.add(
        name="colors", number=22, type=field.TYPE_ENUM, type_name=".autochron_tests.Color", label=3
    )
    message.field.add(name="inner", number=23, type=field.TYPE_MESSAGE, type_name=f".{NAME}", label=1)
    message.field.add(name="many", number=24, type=field.TYPE_MESSAGE, type_name=f".{NAME}", label=3)
    message.field.add(name="numbers", number=25, type=field.TYPE_DOUBLE, label=3)
    for number, (name, key, value) in enumerate(
        (("names", "STRING", "STRING"), ("counts", "INT32", "INT64"), ("inners", "STRING", "MESSAGE")),
        start=30,
    ):
        entry = message.nested_type.add(name=f"{name.capitalize()}Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=getattr(field, f"TYPE_{key}"), label=1)
        of_value = entry.field.add(name="value", number=2, type=getattr(field, f"TYPE_{value}"), label=1)
        if value == "MESSAGE":
            of_value.type_name = f".{NAME}"
        message.field.add(
            name=name, number=number, type=field.TYPE_MESSAGE, type_name=f".{NAME}.{entry.name}", label=3
        )
    pool = descriptor_pool.Default()
    pool.Add(file) if hasattr(pool, "Add") else pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(NAME))


def content(message):
    return message.SerializeToString(deterministic=True)


_text = st.text() | st.sampled_from(["$opaque", "$message", "token", "[masked]"])
_doubles = st.floats(allow_nan=False) | st.just(math.nan)  # of several NaNs the bytes are kept
_fields = st.fixed_dictionaries(
    {},
    optional={
        "text": _text,
        "raw": st.binary(),
        "small": st.integers(-(2**31), 2**31 - 1),
        "large": st.integers(-(2**63), 2**63 - 1),
        "huge": st.integers(0, 2**64 - 1),
        "zigzag": st.integers(-(2**63), 2**63 - 1),
        "single": st.floats(width=32, allow_nan=False),
        "double": _doubles,
        "flag": st.booleans(),
        "maybe": _text,
        "color": st.sampled_from([0, 1, 7]),
        "colors": st.lists(st.sampled_from([0, 1, 7]), max_size=3),
        "numbers": st.lists(_doubles, max_size=3),
        "names": st.dictionaries(_text, _text, max_size=3),
        "counts": st.dictionaries(st.integers(-9, 9), st.integers(-(2**63), 2**63 - 1), max_size=3),
    },
)


@settings(max_examples=200, deadline=None)
@given(_fields, st.lists(_fields, max_size=2), st.dictionaries(_text, _fields, max_size=2))
def test_any_message_is_made_again_byte_for_byte(sample, fields, many, inners):
    message = sample(**fields, many=[sample(**inner) for inner in many])
    for key, inner in inners.items():
        message.inners[key].CopyFrom(sample(**inner))
    if many:
        message.inner.CopyFrom(sample(**many[0]))
    encoded = codec.encode(message)
    again = codec.decode(encoded.body)
    assert encoded.opaque == ()
    assert type(again) is sample
    assert content(again) == content(message)

    body = write_frames([content(message), b"", content(message.inner)])
    stored = store_body(body, f"application/grpc+proto; message={NAME}")
    assert restore_body(stored) == body
    assert from_json(stored)["type"] == NAME


def test_a_message_stands_in_a_trace_as_a_person_reads_it(sample):
    message = sample(
        text="hé", color=1, raw=b"\xff", maybe="", double=math.inf, names={"$a": "b"}, counts={1: 2}
    )
    assert from_json(codec.encode(message).body) == {
        "$message": NAME,
        "fields": {
            "text": "hé",
            "raw": "/w==",
            "double": "inf",
            "maybe": "",
            "color": "BLUE",
            "names": [["$a", "b"]],
            "counts": [[1, 2]],
        },
    }
    assert from_json(canonical(("message",), (sample(text="x"),))) == {
        "message": {"$message": NAME, "fields": {"text": "x"}}
    }


def test_messages_of_other_types_or_contents_are_other_inputs(sample):
    values = [
        sample(),
        sample(text="x"),
        sample(maybe=""),
        struct_pb2.Struct(),
        {"text": "x"},
        unknown(sample),
    ]
    assert len({canonical(("message",), (value,)) for value in values}) == len(values)


def unknown(sample):
    """Return a message with a field that its type does not have: of a server that is newer than the SDK."""
    return sample.FromString(content(sample(text="x")) + b"\xfa\x3f\x02hi")


def test_what_a_message_has_beyond_its_type_is_kept(sample):
    message = unknown(sample)
    encoded = codec.encode(message).body
    again = codec.decode(encoded)
    assert content(again) == content(message) != content(sample(text="x"))
    assert from_json(encoded)["fields"] == {"text": "x", "$unknown": [[1023, 2, "hi"]]}

    body = write_frames([content(sample(text="a")), content(message)])
    stored = store_body(body, f"application/grpc+proto; message={NAME}")
    assert restore_body(stored) == body
    assert read_body(stored) == {"messages": [{"text": "a"}, {"text": "x", "$unknown": [[1023, 2, "hi"]]}]}


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(100, 2**29 - 1), st.just(0), st.integers(0, 2**64 - 1))
        | st.tuples(st.integers(100, 2**29 - 1), st.just(1), st.integers(0, 2**64 - 1))
        | st.tuples(st.integers(100, 2**29 - 1), st.just(5), st.integers(0, 2**32 - 1))
        | st.tuples(st.integers(100, 2**29 - 1), st.just(2), st.text())
    )
)
def test_unknown_fields_of_any_kind_are_kept_at_any_depth(sample, fields):
    extra = protobuf_fields.write([list(field) for field in fields])
    assert protobuf_fields.read(extra) == [list(field) for field in fields]
    inner = sample.FromString(content(sample(maybe="x")) + extra)
    message = sample.FromString(
        content(sample(inner=inner, many=[inner, inner], inners={"a": inner})) + extra
    )
    assert content(codec.decode(codec.encode(message).body)) == content(message)


@pytest.mark.parametrize(
    "extra", [b"\xc2\x3e\x02\xff\x00", b"\xcb\x3e\x08\x01\xcc\x3e"], ids=["bytes", "a group"]
)
def test_what_is_no_text_is_kept_in_base64(sample, extra):
    message = sample.FromString(content(sample(text="x")) + extra)
    encoded = codec.encode(message).body
    assert b'"base64"' in encoded or "\\u" in encoded.decode()
    assert content(codec.decode(encoded)) == content(message)


def test_secrets_are_masked_wherever_they_stand_in_a_message(sample):
    secret = "sk-ant-api03-" + "Ab3dE5gH" * 11 + "-abcdefAA"
    message = sample.FromString(
        content(sample(text=secret, names={"password": secret})) + protobuf_fields.write([[1023, 2, secret]])
    )
    for body in (
        codec.encode(message).body,
        store_body(write_frames([content(message)]), f"application/grpc+proto; message={NAME}"),
    ):
        assert body.count(secret.encode()) == 3
        masked, _ = Redactor().mask_outcome(body)
        assert secret.encode() not in masked
        assert base64.b64encode(secret.encode())[4:-4] not in masked


def test_messages_of_a_type_that_the_program_lacks_are_kept_as_bytes():
    body = write_frames([b"\x0a\x01x"])
    stored = store_body(body, "application/grpc+proto; message=nowhere.Sample")
    assert "messages" not in from_json(stored)
    assert restore_body(stored) == body


@pytest.mark.parametrize(
    "body", [b"\1\0\0\0\0", b"\0\0\0\0\5ab", b"\0\0", b"{}"], ids=["packed", "cut", "short", "JSON"]
)
def test_a_body_that_is_no_whole_frames_is_kept_as_it_is(body):
    stored = store_body(body, f"application/grpc+proto; message={NAME}")
    assert "messages" not in from_json(stored)
    assert restore_body(stored) == body


def test_frames_are_read_as_they_were_written():
    messages = [b"", b"x", b"y" * 70_000]
    assert read_frames(write_frames(messages)) == messages
    assert write_frames([b"ab"]) == b"\0\0\0\0\2ab"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"$message":"nowhere.Sample","fields":{}}', "no module of this program defines it"),
        (b'{"$message":"os.system","fields":{}}', "no module of this program defines it"),
        (b'{"$message":7,"fields":{}}', "no module of this program defines it"),
        (b'{"$message":"autochron_tests.Sample","fields":{"gone":1}}', "has no field gone any more"),
        (b'{"$message":"autochron_tests.Sample","fields":{"small":"x"}}', "can't be made again"),
        (b'{"$message":"autochron_tests.Sample","fields":{"color":"GREEN"}}', "can't be made again"),
        (b'{"$message":"autochron_tests.Sample","fields":[]}', "can't be made again"),
        (b'{"$message":"autochron_tests.Sample","fields":{"$unknown":[[1]]}}', "can't be made again"),
        (b'{"$message":"autochron_tests.Sample","fields":{"$unknown":[[9999,7,1]]}}', "can't be made again"),
        (
            b'{"$message":"autochron_tests.Sample","fields":{"$unknown":{"base64":"/w=="}}}',
            "can't be made again",
        ),
    ],
)
def test_a_message_that_was_edited_wrongly_is_refused(sample, body, message):
    with pytest.raises(CodecError, match=message):
        codec.decode(body)
