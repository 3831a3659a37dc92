"""The SDKs parse the provider's responses: each API, whole and streamed, sync and async, with tool calls."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel

from autochron.provider import Provider
from tests.late import anthropic, openai

pytestmark = pytest.mark.sdks

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CHAT_TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]
RESPONSES_TOOLS = [{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": True}]
MESSAGES_TOOLS = [{"name": "weather", "input_schema": SCHEMA}]
ASK = {"role": "user", "content": "How is the weather?"}


@dataclass
class Reply:
    """The reply that a driver got from its SDK: the text, the calls by id, and the history for the next turn."""

    text: str
    calls: dict[str, tuple[str, Any]]
    history: list[Any]
    kinds: list[str] = field(default_factory=list)


def options(p: Provider) -> dict[str, Any]:
    return {"base_url": p.url, "api_key": "none", "max_retries": 0}


# Chat completions


def from_chat(message: Any, history: list[Any]) -> Reply:
    calls = {c.id: (c.function.name, json.loads(c.function.arguments)) for c in message.tool_calls or ()}
    results = [{"role": "tool", "tool_call_id": key, "content": "mild"} for key in calls]
    return Reply(message.content or "", calls, [*history, message.model_dump(exclude_none=True), *results])


def chat(p: Provider, history: list[Any]) -> Reply:
    client = openai.OpenAI(**options(p))
    answer = client.chat.completions.create(model="m", messages=history, tools=CHAT_TOOLS)
    assert answer.choices[0].finish_reason == (
        "tool_calls" if answer.choices[0].message.tool_calls else "stop"
    )
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    return from_chat(answer.choices[0].message, history)


def chat_stream(p: Provider, history: list[Any]) -> Reply:
    client = openai.OpenAI(**options(p))
    extra = {"tools": CHAT_TOOLS, "stream_options": {"include_usage": True}}
    with client.chat.completions.stream(model="m", messages=history, **extra) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_completion()
    assert final.usage.completion_tokens > 0
    reply = from_chat(final.choices[0].message, history)
    return Reply(reply.text, reply.calls, reply.history, kinds)


async def chat_async(p: Provider, history: list[Any]) -> Reply:
    async with openai.AsyncOpenAI(**options(p)) as client:
        answer = await client.chat.completions.create(model="m", messages=history, tools=CHAT_TOOLS)
    return from_chat(answer.choices[0].message, history)


async def chat_async_stream(p: Provider, history: list[Any]) -> Reply:
    async with openai.AsyncOpenAI(**options(p)) as client:
        async with client.chat.completions.stream(model="m", messages=history, tools=CHAT_TOOLS) as stream:
            kinds = [event.type async for event in stream]
            final = await stream.get_final_completion()
    reply = from_chat(final.choices[0].message, history)
    return Reply(reply.text, reply.calls, reply.history, kinds)


# Responses


def from_response(response: Any, history: list[Any], kinds: tuple[str, ...] = ()) -> Reply:
    calls = {
        item.call_id: (item.name, json.loads(item.arguments))
        for item in response.output
        if item.type == "function_call"
    }
    results = [{"type": "function_call_output", "call_id": key, "output": "mild"} for key in calls]
    output = [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in response.output]
    return Reply(response.output_text, calls, [*history, *output, *results], list(kinds))


def responses(p: Provider, history: list[Any]) -> Reply:
    client = openai.OpenAI(**options(p))
    response = client.responses.create(model="m", input=history, tools=RESPONSES_TOOLS)
    assert response.status == "completed"
    return from_response(response, history)


def responses_stream(p: Provider, history: list[Any]) -> Reply:
    client = openai.OpenAI(**options(p))
    with client.responses.stream(model="m", input=history, tools=RESPONSES_TOOLS) as stream:
        kinds = tuple(event.type for event in stream)
        return from_response(stream.get_final_response(), history, kinds)


async def responses_async(p: Provider, history: list[Any]) -> Reply:
    async with openai.AsyncOpenAI(**options(p)) as client:
        response = await client.responses.create(model="m", input=history, tools=RESPONSES_TOOLS)
    return from_response(response, history)


async def responses_async_stream(p: Provider, history: list[Any]) -> Reply:
    async with openai.AsyncOpenAI(**options(p)) as client:
        stream = await client.responses.create(model="m", input=history, tools=RESPONSES_TOOLS, stream=True)
        events = [event async for event in stream]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    return from_response(events[-1].response, history, tuple(event.type for event in events))


# Messages


def from_message(message: Any, history: list[Any], kinds: tuple[str, ...] = ()) -> Reply:
    text = "".join(block.text for block in message.content if block.type == "text")
    calls = {b.id: (b.name, b.input) for b in message.content if b.type == "tool_use"}
    assert message.stop_reason == ("tool_use" if calls else "end_turn")
    results = [{"type": "tool_result", "tool_use_id": key, "content": "mild"} for key in calls]
    turn = {"role": "assistant", "content": [b.model_dump(exclude_none=True) for b in message.content]}
    return Reply(text, calls, [*history, turn, {"role": "user", "content": results}], list(kinds))


def anthropic_options(p: Provider) -> dict[str, Any]:
    return {**options(p), "base_url": p.origin}


def messages(p: Provider, history: list[Any]) -> Reply:
    client = anthropic.Anthropic(**anthropic_options(p))
    answer = client.messages.create(model="m", max_tokens=99, messages=history, tools=MESSAGES_TOOLS)
    return from_message(answer, history)


def messages_stream(p: Provider, history: list[Any]) -> Reply:
    client = anthropic.Anthropic(**anthropic_options(p))
    with client.messages.stream(model="m", max_tokens=99, messages=history, tools=MESSAGES_TOOLS) as stream:
        kinds = tuple(event.type for event in stream)
        return from_message(stream.get_final_message(), history, kinds)


async def messages_async(p: Provider, history: list[Any]) -> Reply:
    async with anthropic.AsyncAnthropic(**anthropic_options(p)) as client:
        answer = await client.messages.create(
            model="m", max_tokens=99, messages=history, tools=MESSAGES_TOOLS
        )
    return from_message(answer, history)


async def messages_async_stream(p: Provider, history: list[Any]) -> Reply:
    async with (
        anthropic.AsyncAnthropic(**anthropic_options(p)) as client,
        client.messages.stream(model="m", max_tokens=99, messages=history, tools=MESSAGES_TOOLS) as stream,
    ):
        kinds = tuple([event.type async for event in stream])
        return from_message(await stream.get_final_message(), history, kinds)


DRIVERS: tuple[Callable[..., Any], ...] = (
    *(chat, chat_stream, chat_async, chat_async_stream),
    *(responses, responses_stream, responses_async, responses_async_stream),
    *(messages, messages_stream, messages_async, messages_async_stream),
)
PARTS = {
    "chat": {"chunk", "content.delta", "tool_calls.function.arguments.delta", "content.done"},
    "responses": {
        "response.created",
        "response.output_text.delta",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.completed",
    },
    "messages": {
        "message_start",
        "text",
        "input_json",
        "content_block_stop",
        "message_delta",
        "message_stop",
    },
}


def run_driver(driver: Callable[..., Any], p: Provider, history: list[Any]) -> Reply:
    reply = driver(p, history)
    return asyncio.run(reply) if asyncio.iscoroutine(reply) else reply


@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.__name__)
def test_a_conversation_with_parallel_tool_calls_is_parsed(
    driver: Callable[..., Any], scripted: Provider
) -> None:
    first = run_driver(driver, scripted, [ASK])

    assert first.text in ("Let me look.", "Let me see.")
    assert [name for name, _ in first.calls.values()] == ["weather", "weather"]
    oslo, rome = (arguments["city"] for _, arguments in first.calls.values())
    assert oslo == "Oslo"
    assert rome.startswith("Rome, ")
    assert "{" not in rome
    if "stream" in driver.__name__:
        assert PARTS[driver.__name__.partition("_")[0]] <= set(first.kinds)

    second = run_driver(driver, scripted, first.history)

    assert second.text.startswith("It is ")
    assert second.calls == {}


@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.__name__)
def test_the_random_model_calls_no_tool_twice_in_a_row(driver: Callable[..., Any], chance: Provider) -> None:
    for _ in range(5):
        reply = run_driver(driver, chance, [ASK])
        for name, arguments in reply.calls.values():
            assert name == "weather"
            assert isinstance(arguments["city"], str)
        if reply.calls:
            assert run_driver(driver, chance, reply.history).calls == {}


def test_a_response_that_continues_another_is_the_next_turn(scripted: Provider) -> None:
    client = openai.OpenAI(**options(scripted))
    first = client.responses.create(model="m", input="weather?", tools=RESPONSES_TOOLS)
    results = from_response(first, []).history[-2:]
    second = client.responses.create(model="m", input=results, previous_response_id=first.id)
    assert second.output_text.startswith("It is ")


def test_chunks_have_usage_only_on_request(chance: Provider) -> None:
    client = openai.OpenAI(**options(chance))
    plain = list(client.chat.completions.create(model="m", messages=[ASK], stream=True))
    assert all(chunk.usage is None and chunk.choices for chunk in plain)
    assert plain[-1].choices[0].finish_reason == "stop"


class City(BaseModel):
    """A structured output."""

    name: str
    people: int
    twin: "City | None"


class Town(BaseModel):
    """A structured output without recursion, which the SDK of Anthropic doesn't support."""

    name: str
    people: int


def test_structured_outputs_are_parsed(chance: Provider) -> None:
    client = openai.OpenAI(**options(chance))
    chatted = client.chat.completions.parse(model="m", messages=[ASK], response_format=City)
    responded = client.responses.parse(model="m", input="a city", text_format=City)
    anthropic_client = anthropic.Anthropic(**anthropic_options(chance))
    messaged = anthropic_client.messages.parse(model="m", max_tokens=99, messages=[ASK], output_format=Town)
    assert isinstance(chatted.choices[0].message.parsed, City)
    assert isinstance(responded.output_parsed, City)
    assert isinstance(messaged.parsed_output, Town)


def test_tool_choice_is_respected(chance: Provider) -> None:
    client = openai.OpenAI(**options(chance))
    for _ in range(5):
        create = client.chat.completions.create
        without_call = create(model="m", messages=[ASK], tools=CHAT_TOOLS, tool_choice="none")
        single = create(
            model="m", messages=[ASK], tools=CHAT_TOOLS, tool_choice="required", parallel_tool_calls=False
        )
        assert not without_call.choices[0].message.tool_calls
        assert len(single.choices[0].message.tool_calls) == 1


def test_placeholders_can_be_integers(scripted: Provider) -> None:
    client = openai.OpenAI(**options(scripted))
    ask = [{"role": "user", "content": "Where is order 48213?"}]
    [call] = client.chat.completions.create(model="m", messages=ask).choices[0].message.tool_calls
    assert json.loads(call.function.arguments) == {"order": "48213", "cents": 4821300}


def test_malformed_arguments_are_sent_unchanged(scripted: Provider) -> None:
    client = openai.OpenAI(**options(scripted))
    ask = [{"role": "user", "content": "malformed"}]
    [call] = client.chat.completions.create(model="m", messages=ask).choices[0].message.tool_calls
    assert call.function.arguments == '{"order": '


@pytest.mark.parametrize("encoding", ["float", "base64", None])
def test_embeddings_have_the_requested_encoding_and_dimensions(
    encoding: str | None, chance: Provider
) -> None:
    client = openai.OpenAI(**options(chance))
    extra: dict[str, Any] = {"encoding_format": encoding} if encoding else {}
    answer = client.embeddings.create(model="m", input=["a", "b"], dimensions=4, **extra)
    assert [item.index for item in answer.data] == [0, 1]
    assert len(answer.data[0].embedding) == (4 if encoding != "base64" else 24)
    assert answer.data[0].embedding != answer.data[1].embedding


def test_an_uploaded_file_has_its_size(chance: Provider) -> None:
    client = openai.OpenAI(**options(chance))
    file = client.files.create(file=("a.bin", b"a\r\nb\x00\xff\n"), purpose="assistants")
    assert (file.filename, file.bytes, file.purpose, file.status) == ("a.bin", 7, "assistants", "processed")
