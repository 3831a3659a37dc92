"""Requested faults look like those of a real provider, and are counted."""

from __future__ import annotations

import time
from typing import Any

import pytest

from autochron import provider
from autochron.provider import Provider, ProviderError, Script, ScriptError, Step
from tests.late import anthropic, httpx, openai

pytestmark = pytest.mark.sdks

ASK: list[Any] = [{"role": "user", "content": "hello"}]


@pytest.fixture
def client(chance: Provider) -> openai.OpenAI:
    chance.reset()
    return openai.OpenAI(base_url=chance.url, api_key="none", max_retries=1)


def ask(client: openai.OpenAI, fault: str, **extra: Any) -> Any:
    return client.chat.completions.create(
        model="m", messages=ASK, extra_headers={"x-loopback": fault}, **extra
    )


def test_a_rate_limit_is_followed_by_success(client: openai.OpenAI, chance: Provider) -> None:
    assert ask(client, "429*1").choices
    assert dict(chance.stats.by_status) == {"200": 1, "429": 1}
    assert chance.calls == 2


def test_attempts_are_counted_by_the_idempotency_key(chance: Provider) -> None:
    body = {"model": "m", "messages": ASK}
    headers = {"x-loopback": "429*1", "idempotency-key": "one"}
    first, second = (
        httpx.post(f"{chance.url}/chat/completions", json=body, headers=headers) for _ in range(2)
    )
    assert (first.status_code, second.status_code) == (429, 200)
    assert first.headers["retry-after-ms"] == "1"
    assert first.headers["retry-after"] == "1"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("400", "BadRequestError"),
        ("401", "AuthenticationError"),
        ("429", "RateLimitError"),
        ("500", "InternalServerError"),
    ],
)
def test_a_requested_error_is_raised_by_the_sdk(fault: str, error: str, client: openai.OpenAI) -> None:
    with pytest.raises(getattr(openai, error), match=f"{fault} on request"):
        ask(client, fault)


def test_a_script_can_refuse_options() -> None:
    script = Script((Step(text="fine"),), refuses=("temperature",))
    assert Script.from_data(script.to_data()) == script
    with provider.serve(script=script) as model:
        client = openai.OpenAI(base_url=model.url, api_key="none", max_retries=0)
        with pytest.raises(openai.BadRequestError, match="'temperature' is not supported with this model"):
            client.chat.completions.create(model="m", messages=ASK, temperature=0)
        assert client.chat.completions.create(model="m", messages=ASK).choices[0].message.content == "fine"
    with pytest.raises(ScriptError, match="refuses must be a list"):
        Script.from_data({"refuses": "temperature"})


def test_an_error_of_the_messages_api_has_its_form(chance: Provider) -> None:
    client = anthropic.Anthropic(base_url=chance.origin, api_key="none", max_retries=0)
    with pytest.raises(anthropic.RateLimitError) as caught:
        client.messages.create(model="m", max_tokens=9, messages=ASK, extra_headers={"x-loopback": "429"})
    assert caught.value.body["error"]["type"] == "rate_limit_error"


def test_a_response_that_breaks_off_is_a_connection_error(client: openai.OpenAI, chance: Provider) -> None:
    with pytest.raises(openai.APIConnectionError):
        ask(client, "disconnect")
    assert dict(chance.stats.by_status) == {"disconnect": 2}
    assert ask(client, "disconnect*1").choices


def test_a_stream_that_breaks_off_is_a_connection_error(client: openai.OpenAI) -> None:
    chunks = iter(ask(client, "disconnect", stream=True))
    assert next(chunks).choices
    with pytest.raises(openai.APIConnectionError):
        list(chunks)


@pytest.mark.parametrize("stream", [False, True])
def test_a_stall_ends_in_the_clients_timeout(stream: bool, client: openai.OpenAI) -> None:
    impatient = client.with_options(timeout=0.3, max_retries=0)
    chunk_count = 0
    with pytest.raises(openai.APITimeoutError):
        for _ in ask(impatient, "stall", stream=stream):
            chunk_count += 1
    assert bool(chunk_count) == stream


@pytest.mark.parametrize("stream", [False, True])
def test_a_compressed_response_is_read_by_the_sdk(stream: bool, client: openai.OpenAI) -> None:
    raw = client.chat.completions.with_raw_response.create(
        model="m", messages=ASK, stream=stream, extra_headers={"x-loopback": "gzip"}
    )
    assert raw.headers["content-encoding"] == "gzip"
    answer = raw.parse()
    chunks = list(answer) if stream else [answer]
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_an_unknown_fault_is_refused(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="unknown fault 'broken'"):
        ask(client, "broken")


def test_malformed_requests_get_status_400(chance: Provider) -> None:
    post = httpx.post
    assert post(f"{chance.url}/chat/completions", content=b"{").status_code == 400
    assert post(f"{chance.url}/chat/completions", json={"messages": []}).status_code == 400
    assert post(f"{chance.url}/responses", json={}).status_code == 400
    assert post(f"{chance.url}/messages", json={"messages": ASK}).status_code == 400
    assert post(f"{chance.url}/files", content=b"").status_code == 400
    assert post(f"{chance.url}/nothing").json()["error"]["type"] == "not_found_error"
    assert post(f"{chance.url}/embeddings", json={"input": 5}).status_code == 400


def test_a_step_of_a_script_can_fail_and_wait(scripted: Provider) -> None:
    client = openai.OpenAI(base_url=scripted.url, api_key="none", max_retries=2)
    busy = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "busy"}])
    assert busy.choices[0].message.content == "at last"
    begun = time.monotonic()
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "slow"}])
    assert time.monotonic() - begun >= 0.3


def test_random_rate_limits_do_not_change_the_answers() -> None:
    choices = []
    for rate_limit in (0.0, 0.4):
        with provider.serve(seed=5, rate_limit=rate_limit) as p:
            answers = [
                httpx.post(f"{p.url}/chat/completions", json={"model": "m", "messages": ASK})
                for _ in range(20)
            ]
            choices.append([a.json()["choices"] if a.status_code == 200 else None for a in answers])
            statuses = dict(p.stats.by_status)
    assert statuses["429"] + statuses["200"] == 20
    assert None not in choices[0]
    assert all(limited in (None, free) for free, limited in zip(*choices, strict=True))


@pytest.mark.parametrize("invalid", [{"rate_limit": 2.0}, {"latency": (1.0, 0.5)}])
def test_invalid_settings_are_refused(invalid: dict[str, Any]) -> None:
    with pytest.raises(ProviderError), provider.serve(**invalid):
        pass


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"step": []}, "did you mean 'steps'"),
        ({"steps": [{"txt": "a"}]}, "did you mean 'text'"),
        ({"steps": [{"calls": [{"arguments": {}}]}]}, "a call has no name"),
        ({"steps": ["a"]}, "a step must be a table"),
        ({"steps": [{"fault": "slow"}]}, "unknown fault 'slow'"),
    ],
)
def test_a_misspelt_script_is_refused(data: dict[str, Any], text: str) -> None:
    with pytest.raises(ScriptError, match=text):
        Script.from_data(data)


def test_a_script_is_restored_from_its_data() -> None:
    script = Script((Step(("a",), 1, "t", (provider.Call.of("f", a=1),), "429*1", 0.5), Step()))
    assert Script.from_data(script.to_data()) == script
