"""The responses API, asynchronous: plain and streamed at once."""

import asyncio

from openai import AsyncOpenAI


async def plain(client):
    response = await client.responses.create(model="gpt-4.1-mini", input="Hello.")
    return [response]


async def streamed(client):
    stream = await client.responses.create(model="gpt-4.1-mini", input="Hello there.", stream=True)
    return [event async for event in stream]


async def run():
    async with AsyncOpenAI() as client:
        found = await asyncio.gather(plain(client), streamed(client), plain(client))
    return [value for each in found for value in each]


def main():
    seen = asyncio.run(run())
    for value in seen:
        print(repr(value))
    return seen


if __name__ == "__main__":
    main()
