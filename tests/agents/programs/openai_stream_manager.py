"""The SDK's own helper for streams, sync and async."""

import asyncio

from openai import AsyncOpenAI, OpenAI

MESSAGES = [{"role": "user", "content": "Say something."}]


def sync():
    with OpenAI().chat.completions.stream(model="gpt-4.1-mini", messages=MESSAGES) as stream:
        for event in stream:
            print(event.type, end=" ")
        print()
        return stream.get_final_completion()


async def not_sync():
    async with AsyncOpenAI() as client:
        async with client.chat.completions.stream(model="gpt-4.1-mini", messages=MESSAGES) as stream:
            async for event in stream:
                print(event.type, end=" ")
            print()
            return await stream.get_final_completion()


def main():
    seen = [sync(), asyncio.run(not_sync())]
    for each in seen:
        print(repr(each))
    return seen


if __name__ == "__main__":
    main()
