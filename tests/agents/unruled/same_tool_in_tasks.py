"""Two conversations run as tasks of one loop, with the same tool."""

import json
import asyncio

from openai import AsyncOpenAI

from tests.agents.footprint import left


def spec(name, **properties):
    kinds = {key: {"type": kind} for key, kind in properties.items()}
    return {"type": "function", "function": {"name": name, "parameters": {
        "type": "object", "properties": kinds, "required": list(kinds)}}}


async def weigh(item):
    left("weigh")
    await asyncio.sleep(0.01)
    return f"{item} weighs {len(item) * 7} kg"

async def agent(prompt):
    client, messages = AsyncOpenAI(), [{"role": "user", "content": prompt}]
    while True:
        message = (await client.chat.completions.create(model="gpt-4o", messages=messages, tools=[spec("weigh", item="string")])).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            result = await globals()[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

async def main():
    print(await asyncio.gather(agent("Alpha asks"), agent("Beta asks")))

asyncio.run(main())
