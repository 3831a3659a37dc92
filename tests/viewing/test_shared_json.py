"""A page writes equal parts of inputs and outcomes once, and loses nothing of them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autochron.viewing.shared_json import SharedJson, written_or_text

WORDS = st.text(max_size=80) | st.sampled_from(["§", "§+", "§n", "§cut", "§§", "__proto__", "a" * 300])
NUMBERS = st.integers(-(2**80), 2**80) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=40,
)


def read(shared, text):
    """Return the value of a written text, as the page's script reads it."""
    return resolve(shared, json.loads(text))


def resolve(shared, value):
    if isinstance(value, list):
        return [resolve(shared, item) for item in value]
    if not isinstance(value, dict):
        return value
    [*keys] = value
    if len(keys) == 1 and keys[0].startswith("§"):
        inner = value[keys[0]]
        match keys[0]:
            case "§":
                return read(shared, shared.parts[inner])
            case "§n" | "§deep":
                return json.loads(inner)
            case "§+":
                return read(shared, shared.parts[inner[0]]) + [resolve(shared, item) for item in inner[1:]]
            case "§§":
                return {key: resolve(shared, item) for key, item in inner}
    return {key: resolve(shared, item) for key, item in value.items()}


def same(first, second):
    return json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


@given(st.lists(VALUES, max_size=6), st.booleans(), st.sampled_from([None, 2]))
def test_what_is_written_can_be_read_again(values, ascii_only, indent):
    shared = SharedJson(1 << 30)
    bodies = [
        json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "replace")
        for value in values
    ]
    written = [written_or_text(shared, body) for body in bodies]
    expected = [json.loads(body) for body in bodies]
    assert all(same(value, read(shared, text)) for value, text in zip(expected, written, strict=True))
    assert all("\n" not in text for text in (*written, *shared.parts))


@pytest.mark.parametrize(
    "number",
    ["9007199254740993", "1.0", "-0", "-0.0", "1e22", "1E-7", "123456789012345678901234567890", "0.10"],
)
@pytest.mark.parametrize("around", ["%s", "[%s]", '{"a":%s}'])
def test_numbers_that_javascript_changes_are_kept_as_they_were_written(number, around):
    shared = SharedJson(1 << 30)
    assert f'{{"§n":"{number}"}}' in written_or_text(shared, (around % number).encode())


@pytest.mark.parametrize("number", ["0", "7", "-12", "0.5", "-3.25", "123456789012345", "4821300"])
def test_plain_numbers_are_written_as_they_are(number):
    assert written_or_text(SharedJson(1 << 30), number.encode()) == number


def test_a_conversation_grows_with_its_turns_and_not_with_their_square():
    def size(turns):
        shared = SharedJson(1 << 30)
        messages = []
        for turn in range(turns):
            messages.append({"role": "user", "content": f"message {turn}: " + "x" * 500})
            written_or_text(shared, json.dumps({"model": "m", "messages": messages}).encode())
        return shared.size

    assert size(200) < 2.2 * size(100)
    assert size(200) < 200 * 700


def test_a_long_chain_of_lists_is_whole():
    shared = SharedJson(1 << 30)
    messages, texts = [], []
    for turn in range(60):
        messages.append(f"message {turn} of the conversation")
        texts.append((list(messages), written_or_text(shared, json.dumps(messages).encode())))
    assert all(read(shared, text) == expected for expected, text in texts)


@pytest.mark.parametrize(
    "body",
    [b"nul", b"{", b'{"a":}', b"\xff\xfe", b"", b"[1,]", b'{"a": "\xff"}' * 9, b"not json at all " * 20],
)
def test_what_is_no_json_becomes_text(body):
    shared = SharedJson(1 << 30)
    assert read(shared, written_or_text(shared, body)) == body.decode("utf-8", "replace")


def test_a_full_page_leaves_out_large_parts_and_counts_them():
    shared = SharedJson(5_000)
    bodies = [json.dumps({"n": number, "text": str(number) * 3_000}).encode() for number in range(1, 6)]
    written = [written_or_text(shared, body) for body in bodies]
    assert (shared.cut, written[-1]) == (3, f'{{"§cut":{len(bodies[-1])}}}')


@pytest.mark.parametrize("inner", ["1.5", '{"§":0}', '{"§n":"forged"}', "12345678901234567890"])
@pytest.mark.parametrize("levels", [99, 100, 101, 400])
def test_what_lies_very_deep_is_written_as_its_text(inner, levels):
    body = b"[" * levels + inner.encode() + b"]" * levels
    shared = SharedJson(1 << 30)
    assert same(read(shared, written_or_text(shared, body)), json.loads(body))


def test_what_is_too_deep_for_a_decoder_is_its_text():
    body = b"[" * 5_000 + b"]" * 5_000
    assert written_or_text(SharedJson(1 << 30), body) == f'{{"§deep":"{body.decode()}"}}'


def test_escapes_are_written_as_the_characters_themselves():
    body = json.dumps({"caf\u00e9": "\u4e2d\u6587"}).encode()
    shared = SharedJson(1 << 30)
    assert "\u4e2d\u6587" in written_or_text(shared, body) + "".join(shared.parts)


@pytest.mark.parametrize(
    "number",
    [
        "123456789012345.123",
        "0.00000001",
        "0.10000000000000000001",
        "3.14159265358979312",
        "0.12345678901234567",
    ],
)
def test_decimals_that_javascript_changes_are_kept(number):
    assert (
        written_or_text(SharedJson(1 << 30), f'{{"a":{number}}}'.encode()) == f'{{"a":{{"§n":"{number}"}}}}'
    )
