"""Calls that the SDK has to make twice or three times before they succeed."""

import asyncio

from openai import AsyncOpenAI, OpenAI

MESSAGES = [{"role": "user", "content": "Are you busy?"}]


def main():
    seen = []
    for fault in ("429*1", "500*2", "disconnect*1"):
        client = OpenAI(default_headers={"x-loopback": fault}, max_retries=3)
        seen.append(client.chat.completions.create(model="gpt-4.1-mini", messages=MESSAGES))
    stream = OpenAI(default_headers={"x-loopback": "429*1"}).chat.completions.create(
        model="gpt-4.1-mini", messages=MESSAGES, stream=True
    )
    seen += list(stream)

    async def ask():
        async with AsyncOpenAI(default_headers={"x-loopback": "429*2"}) as other:
            return await other.chat.completions.create(model="gpt-4.1-mini", messages=MESSAGES)

    seen.append(asyncio.run(ask()))
    for each in seen:
        print(repr(each))
    return seen


if __name__ == "__main__":
    main()
