"""Streams of the asynchronous client, one of them read to the end and one closed early."""

import asyncio

from openai import AsyncOpenAI


async def run():
    seen = []
    client = AsyncOpenAI()
    messages = [{"role": "user", "content": "Tell me a story."}]
    stream = await client.chat.completions.create(model="gpt-4.1-mini", messages=messages, stream=True)
    print(type(stream).__name__)
    async for chunk in stream:
        seen.append(chunk)
        print(chunk.choices[0].delta.content, end="|", flush=True)
    print()
    async with await client.chat.completions.create(
        model="gpt-4.1-mini", messages=messages, stream=True
    ) as stream:
        async for chunk in stream:
            seen.append(chunk)
            print("first:", chunk.id)
            break
    await client.close()
    return seen


def main():
    return asyncio.run(run())


if __name__ == "__main__":
    main()
