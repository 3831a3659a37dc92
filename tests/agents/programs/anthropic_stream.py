"""Anthropic's streams: `stream=True`, and the manager with its events, text and final message."""

import asyncio

from anthropic import Anthropic, AsyncAnthropic

TOOL = {
    "name": "roll",
    "input_schema": {"type": "object", "properties": {"sides": {"type": "integer"}}, "required": ["sides"]},
}
ASKED = {"model": "claude-sonnet-4-5", "max_tokens": 500, "messages": [{"role": "user", "content": "Play."}]}


def roll(sides):
    return hash(("a die", sides)) % 6


def sync():
    client = Anthropic()
    seen = []
    for event in client.messages.create(**ASKED, stream=True):
        print(event.type, end=" ")
        seen.append(event)
    with client.messages.stream(**ASKED) as stream:
        for text in stream.text_stream:
            print(text, end="|")
        seen.append(stream.get_final_message())
    with client.messages.stream(**ASKED, tools=[TOOL], tool_choice={"type": "any"}) as stream:
        for event in stream:
            print(event.type, end=" ")
        message = stream.get_final_message()
    for block in message.content:
        if block.type == "tool_use":
            print(roll(**block.input))
    with client.messages.stream(**ASKED) as stream:
        print(next(iter(stream)).type)
    return [*seen, message]


async def not_sync():
    seen = []
    async with AsyncAnthropic() as client:
        async for event in await client.messages.create(**ASKED, stream=True):
            print(event.type, end=" ")
            seen.append(event)
        async with client.messages.stream(**ASKED) as stream:
            async for text in stream.text_stream:
                print(text, end="|")
            seen.append(await stream.get_final_message())
    return seen


def main():
    seen = sync() + asyncio.run(not_sync())
    for each in seen:
        print(repr(each))
    return seen


if __name__ == "__main__":
    main()
