"""Anthropic's asynchronous client; the tools of a turn run at once."""

import asyncio
import random

from anthropic import AsyncAnthropic


async def fetch(url):
    await asyncio.sleep(random.random() / 100)
    return f"{random.randrange(10**6)} bytes of {url}".encode()


TOOL = {
    "name": "fetch",
    "input_schema": {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]},
}


async def talk(client, about):
    messages = [{"role": "user", "content": f"Read about {about}."}]
    response = await client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=500,
        messages=messages,
        tools=[TOOL],
        tool_choice={"type": "any"},
    )
    uses = [block for block in response.content if block.type == "tool_use"]
    pages = await asyncio.gather(*(fetch(**block.input) for block in uses))
    print(about, pages)
    messages.append(
        {"role": "assistant", "content": [block.model_dump(mode="json") for block in response.content]}
    )
    messages.append(
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": block.id, "content": page.decode()}
                for block, page in zip(uses, pages)
            ],
        }
    )
    answer = await client.messages.create(model="claude-sonnet-4-5", max_tokens=500, messages=messages)
    print(about, answer.content)
    return [response, *pages, answer]


async def run():
    async with AsyncAnthropic() as client:
        found = await asyncio.gather(*(talk(client, about) for about in ("mugs", "aprons", "mugs")))
    return [value for each in found for value in each]


def main():
    return asyncio.run(run())


if __name__ == "__main__":
    main()
