"""Redaction masks secrets, leaves other text unchanged, and gives the same result incrementally as from scratch."""

from __future__ import annotations

import base64
import gzip
import json
import time

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autochron.redaction import secret_names
from autochron.redaction.redactor import Redactor
from autochron.redaction.secret_names import SecretNames
from autochron.redaction.secret_patterns import load_patterns
from tests.security.secret_texts import SECRET_NAMES

PLAIN_NAMES = """
max_tokens total_tokens prompt_tokens tokens token_count tokenizer cookie_policy next_page_token
pageToken eos_token key public_key cache_key primary_key keyboard monkey secretary password_policy
is_authorized author authors authorization_url token_type secret_santa_name tokenize accept_cookies
api_key_id session_id
""".split()

PLAIN_TEXTS = [
    "sk-learn is a library",
    "https://example.invalid:8080/path@home",
    "ask user:pass words",
    "the Bearer of bad news",
    "eyJ is how they start",
    "d41d8cd98f00b204e9800998ecf8427e",
    "9b2f7c7e-33b7-4b1e-8f53-7b1c2f6a1d11",
    "call_abcdefghijABCDEFGHIJ0123",
    "chatcmpl-ABCDEFGHIJKLMNOPQRSTUVWXYZ123",
    "token = tokenizer.encode(text)",
    "if password == other:",
    "-----BEGIN PUBLIC KEY-----",
    "AKIA is a prefix",
    "max_tokens=500&page=2",
    "PATH=/usr/bin:/bin",
    "login(user=name, password=password)",
    "call f(api_key=os.environ[name], token=get_token(1)) or f(token=None)",
    "en-us",
]


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_secret_name_masks_strings_and_containers(name: str) -> None:
    body = msgspec.json.encode([{name: "abc"}, {name: 7}, {name: {"a": 1}}, {name: [1]}])
    masked = json.loads(Redactor().mask(body))
    assert masked == [{name: "[masked]"}, {name: 7}, {name: "[masked]"}, {name: "[masked]"}]


@pytest.mark.parametrize("name", PLAIN_NAMES)
def test_a_plain_name_masks_nothing(name: str) -> None:
    body = msgspec.json.encode({name: "abc", "in": json.dumps({name: "x"})})
    assert Redactor().mask(body) == body


@pytest.mark.parametrize("pattern", load_patterns(), ids=lambda pattern: pattern.name)
@pytest.mark.parametrize("frame", ["{}", "see {} there", "a\n{}\nb", "\t{}", "'{}'", "é {} é"])
def test_every_format_is_masked_by_its_own_pattern(pattern, frame: str) -> None:
    text = frame.format(pattern.example)
    assert "[masked]" in pattern.mask(text)
    masked, paths = Redactor().mask_outcome(msgspec.json.encode({"a": [text]}))
    assert paths == ("a.0",)
    value = json.loads(masked)["a"][0]
    assert "[masked]" in value
    assert max(pattern.example.split(), key=len) not in value
    escaped = json.dumps({"a": text}).replace("-", "\\u002d").replace("/", "\\/").encode()
    assert "[masked]" in json.loads(Redactor().mask(escaped))["a"]


@pytest.mark.parametrize("text", PLAIN_TEXTS)
def test_text_that_resembles_a_secret_is_unchanged(text: str) -> None:
    body = msgspec.json.encode({"a": text})
    assert Redactor().mask(body) == body


@pytest.mark.parametrize("empty", ["null", "true", "false", "5", "5.5", '""', "{}", "[]"])
def test_empty_values_and_numbers_under_a_secret_name_are_unchanged(empty: str) -> None:
    body = f'{{"password":{empty},"a":1}}'.encode()
    assert Redactor().mask(body) == body


def test_tokens_of_a_language_model_are_unchanged() -> None:
    for member in (
        {"token": "He", "logprob": -1.0},
        {"token": "He", "bytes": [72, 101], "logprob": -1.0, "top_logprobs": []},
        {"bytes": None, "logprob": -1.0, "token": "He"},
    ):
        body = msgspec.json.encode({"content": [member]})
        assert Redactor().mask(body) == body


def test_json_in_strings_is_masked_by_name_at_any_depth() -> None:
    inner = json.dumps({"api_key": "abc", "n": 1, "deeper": json.dumps({"password": "q"})})
    masked = json.loads(Redactor().mask(msgspec.json.encode({"arguments": inner})))
    arguments = json.loads(masked["arguments"])
    assert arguments == {"api_key": "[masked]", "n": 1, "deeper": '{"password": "[masked]"}'}


@pytest.mark.parametrize(
    "body",
    [
        rb'{"tok\u0065n":"abc"}',
        rb'{"a\ttoken":"abc"}',
        rb'{"x":"{\"tok\\u0065n\":\"abc\"}"}',
        b'{"token" : "abc"}',
        b'{"token"\n:\n"abc"}',
        rb'{"x":"{\"token\"\n: \"abc\"}"}',
        rb'{"x":"say {\"token\": \"abc\"} now"}',
        rb"""{"x":"{'token': 'abc'}"}""",
        rb'{"$dict":[["token","abc"],[1,2]]}',
        rb'{"x":"grant=1&client_secret=abc"}',
        rb'{"x":"client_secret=abc"}',
        rb'{"x":"line\nMY_API_KEY=abcabcabc\n"}',
        '{"é token":"abc"}'.encode(),
        b'{"token":"abc","token":"abc"}',
        b'{"h":[["Authorization","abc"],["x-api-key", "abc"]]}',
        b'[{"$tuple":["password","abc"]}]',
        b'{"name":"password","value":"abc"}',
        b'{"value":"abc","secure":true,"key":"api_key"}',
        rb'{"x":"[{\"name\": \"password\", \"value\": \"abc\"}]"}',
        b'{"x":"login failed: password=abcDef1"}',
        b"""{"x":"Cfg(password='abc', host='h')"}""",
        b'{"x":"Set-Cookie: session=abc; HttpOnly"}',
        b'{"$bytes":"cGFzc3dvcmQ9YWJjYWJj"}',
    ],
)
def test_a_value_under_an_escaped_or_nested_secret_name_is_masked(body: bytes) -> None:
    masked = Redactor().mask(body)
    json.loads(masked)
    assert b"abc" not in masked
    assert b"YWJj" not in masked
    assert Redactor().mask(masked) == masked


def test_the_paths_of_masked_values_in_an_outcome_are_reported() -> None:
    body = b'{"$tuple":[{"api_key":"a"},{"b":{"$type":"m:T","password":"x"}}]}'
    masked, paths = Redactor(extra_paths=("1.b",)).mask_outcome(body)
    assert paths == ("0.api_key", "1.b.password", "1.b")
    assert json.loads(masked) == {"$tuple": [{"api_key": "[masked]"}, {"b": "[masked]"}]}


def test_a_secret_that_is_a_key_is_in_no_reported_path() -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLE"
    masked, paths = Redactor().mask_outcome(msgspec.json.encode({"a": {key: {"password": "x"}}}))
    assert key.encode() not in masked
    assert key not in "".join(paths)


@pytest.mark.parametrize("text", ["x" * 2_000_000, "a=b " + "x" * 2_000_000, "QUJD" * 500_000])
def test_long_text_is_scanned_in_linear_time(text: str) -> None:
    began = time.process_time()
    Redactor().mask(msgspec.json.encode({"a": text}))
    assert time.process_time() - began < 1


def test_the_arguments_of_a_command_are_masked() -> None:
    assert Redactor().mask_arguments(["--password", "abc", "--api-key=abc", "-n", "5"]) == (
        *("--password", "[masked]", "--api-key=[masked]", "-n", "5"),
    )


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_the_quick_check_finds_every_secret_name(name: str) -> None:
    assert SecretNames().may_be_in(f"a text with {name} in it")


def test_the_quick_check_finds_every_secret_word_and_pair() -> None:
    words = [*secret_names._SECRET_WORDS, *(" ".join(pair) for pair in secret_names._SECRET_PAIRS)]
    assert [word for word in words if not SecretNames().may_be_in(word.upper())] == []


def test_more_secret_names_can_be_passed() -> None:
    assert (
        Redactor(["account_nick"]).mask(b'{"myAccountNick":"1","nick":"2"}')
        == b'{"myAccountNick":"[masked]","nick":"2"}'
    )


def test_headers_urls_and_text_are_masked() -> None:
    redactor = Redactor()
    assert redactor.mask_headers([("Authorization", "Basic x"), ("Accept", "y"), ("Set-Cookie", "a=b")]) == (
        ("Authorization", "[masked]"),
        ("Accept", "y"),
        ("Set-Cookie", "[masked]"),
    )
    assert redactor.mask_url("https://u:p@h.invalid/x?api_key=a&key=b&q=c") == (
        "https://u:[masked]@h.invalid/x?api_key=[masked]&key=[masked]&q=c"
    )
    assert redactor.mask_text('login {"password": "hunter2"} ok') == 'login {"password": "[masked]"} ok'
    assert redactor.mask_text("plain") == "plain"


# --- the quick checks and the incremental scan equal the full scan ---

_FRAGMENTS = [
    "token", "api_key", "max_tokens", "password", "content", "$dict", "logprob", "a", "", '"', "\\", "\n",
    "},{", '"},{"', '},{"a":',
    "name", "value", '["token","', "password='abcd'", "$bytes",
    "AKIAIOSFODNN7" + "EXAMPLE", "https://u:pw@h", "é", "\u2028", " : ", "':", "=", "?token=abc",
    "API_KEY=abcdefgh", "{'token': 'x'}",
    '{"token":"abc"}', '{"token" : "abc"}', '{"a":[{"password":"x"},{"b":1}]}', "\t", "key",
]  # fmt: skip
_text = st.lists(st.sampled_from(_FRAGMENTS), max_size=4).map("".join) | st.text(max_size=6)
_bytes = st.builds(
    lambda kind, raw, more: {kind: base64.b64encode(raw).decode(), **more},
    st.sampled_from(["$bytes", "$bytearray"]),
    _text.map(lambda text: text.encode("utf-8", "surrogatepass"))
    | _text.map(lambda text: gzip.compress(text.encode("utf-8", "surrogatepass"), mtime=0))
    | st.binary(max_size=6),
    st.just({}) | st.just({"a": 1}),
)
_plain = st.none() | st.booleans() | st.integers(-99, 99) | _text | _bytes
_json = st.recursive(
    _plain,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(_text, inner, max_size=4)
        | st.lists(st.tuples(_text | inner, inner), max_size=3).map(lambda pairs: {"$dict": pairs})
        | inner.map(lambda v: json.dumps(v))
    ),
    max_leaves=12,
)


def _encode(value: object, style: int) -> bytes:
    if style == 0:
        return msgspec.json.encode(value)
    if style == 1:
        return json.dumps(value).encode()
    return json.dumps(value, indent=1).encode()


def _ungated(body: bytes) -> bytes:
    """Mask without the quick checks: this defines what masking has to do."""

    class Open(Redactor):
        pass

    redactor = Open()
    scanner = redactor._scanner

    class OpenScanner(type(scanner)):
        def suspicious(self, text: str) -> bool:
            return True

        def suspicious_body(self, body: bytes) -> bool:
            return True

    redactor._scanner = OpenScanner(SecretNames())
    return redactor.mask(body)


@settings(max_examples=400, deadline=None)
@given(_json, st.integers(0, 2))
@example({"\tpassword='abcd'": None}, 0)
@example({"token\tpassword='abcd'": None}, 0)
def test_the_quick_check_never_misses_what_the_full_scan_masks(value: object, style: int) -> None:
    body = _encode(value, style)
    masked = Redactor().mask(body)
    json.loads(masked)
    assert masked == _ungated(body)


@settings(max_examples=200, deadline=None)
@given(_json)
@example({"AKIAIOSFODNN7EXAMPLEtoken": "0"})
@example({"$dict": [("AKIAIOSFODNN7EXAMPLEtoken", "0")]})
def test_masking_a_masked_body_changes_nothing(value: object) -> None:
    masked = Redactor().mask(msgspec.json.encode(value))
    assert Redactor().mask(masked) == masked


_member = st.dictionaries(_text, _json, min_size=1, max_size=3)
_edit = st.tuples(
    st.sampled_from(["append", "insert", "replace", "remove", "rename"]), st.integers(0, 20), _member, _text
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(_member, max_size=6),
    st.lists(_edit, max_size=6),
    st.dictionaries(_text, _json, max_size=2),
    _text,
)
@example([{"": None}], [("rename", 0, {"": None}, "token")], {}, "")
@pytest.mark.thorough
def test_incremental_masking_equals_full_masking(messages, edits, tail, name: str) -> None:
    redactor = Redactor()
    messages = list(messages)
    holder = name
    for kind, at, member, text in [("none", 0, {}, ""), *edits]:
        at = at % (len(messages) + 1)
        if kind == "append":
            messages.append(member)
        elif kind == "insert":
            messages.insert(at, member)
        elif kind == "replace":
            messages[at : at + 1] = [member]
        elif kind == "remove":
            del messages[at : at + 1]
        elif kind == "rename":
            holder = text
        body = msgspec.json.encode(
            {"m": {holder: messages, "z": [tail, tail, tail]}, **{"~" + k: v for k, v in tail.items()}}
        )
        masked = redactor.mask_input("key", body)
        json.loads(masked)
        assert masked == Redactor().mask(body)


_INNER = {"a": [{"b": 1}, {"c": 2}], "logprob": 0}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"users": [{"pin": "hunter2"}]}, {"credentials": [{"pin": "hunter2"}]}),
        ({"logprob": [{"c": 2}], "token": "hunter2"}, {"other": [{"c": 2}], "token": "hunter2"}),
        ({"x": [_INNER], "token": "AAA"}, {"x": [_INNER], "token": "SECRET"}),
    ],
)
def test_a_part_is_masked_anew_when_its_surroundings_change(before, after) -> None:
    redactor = Redactor()
    for value in (before, after, before):
        body = msgspec.json.encode(value)
        assert redactor.mask_input("key", body) == Redactor().mask(body)


def test_a_growing_conversation_scans_only_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    redactor = Redactor()
    sizes: list[int] = []
    scan = redactor._scan
    monkeypatch.setattr(redactor, "_scan", lambda body: (sizes.append(len(body)), scan(body))[1])
    messages = []
    for turn in range(100):
        messages.append({"role": "user", "content": f"turn {turn} " * 10, "api_key": f"secret {turn}"})
        body = msgspec.json.encode(
            {"messages": messages, "tools": [{"name": "a" * 500}, {"name": "b" * 5000}]}
        )
        masked = redactor.mask_input(("agent", "0"), body)
        assert b"secret" not in masked
        json.loads(masked)
    assert max(sizes[1:]) < 1500


# --- detect-secrets as an oracle
# -----------------------------------------------------------------------------------

_ORACLES = {
    "aws": ("AWSKeyDetector", slice(0, 1)),
    "github_token": ("GitHubTokenDetector", slice(None)),
    "gitlab_token": ("GitLabTokenDetector", slice(None)),
    "npm": ("NpmDetector", slice(0, 0)),
    "openai": ("OpenAIDetector", slice(None)),
    "pypi_token": ("PypiTokenDetector", slice(None)),
    "sendgrid": ("SendGridDetector", slice(None)),
    "stripe": ("StripeDetector", slice(None)),
    "azure_storage_key": ("AzureStorageKeyDetector", slice(None)),
    "mailchimp": ("MailchimpDetector", slice(None)),
}


@pytest.mark.parametrize("module", _ORACLES)
def test_text_that_detect_secrets_finds_is_masked(module: str) -> None:
    """Generate texts from its own expressions, except for formats that we only recognise by a name near them."""
    plugins = pytest.importorskip(f"detect_secrets.plugins.{module}")
    name, part = _ORACLES[module]
    for regex in list(getattr(plugins, name)().denylist)[part]:

        @settings(max_examples=25, deadline=None)
        @given(st.from_regex(f"\\A(?:{regex.pattern})\\Z", alphabet=st.characters(codec="ascii")))
        def check(text: str) -> None:
            text = text.removesuffix("\n")
            assert "[masked]" in json.loads(Redactor().mask(msgspec.json.encode(f"a {text} b")))

        check()


def test_the_shortest_possible_secret_is_masked() -> None:
    assert Redactor().mask_text("://:p@") == "://:[masked]@"
