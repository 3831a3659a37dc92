"""The same with the asynchronous client; the tools of one turn run at once."""

import asyncio
import json
import random

from openai import AsyncOpenAI


async def weather(city):
    """Return the weather of a city."""
    await asyncio.sleep(random.random() / 200)
    return {"city": city, "celsius": round(random.uniform(-20, 40), 1)}


async def news(city):
    """Return the news of a city."""
    await asyncio.sleep(random.random() / 200)
    return (city, random.choice(["a parade", "a strike", "nothing"]))


TOOLS = {"weather": weather, "news": news}
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SCHEMAS = [{"type": "function", "function": {"name": name, "parameters": PARAMETERS}} for name in TOOLS]


async def call_tool(call):
    result = await TOOLS[call.function.name](**json.loads(call.function.arguments))
    print(call.function.name, result)
    return result


async def talk(client, text):
    messages = [{"role": "user", "content": text}]
    seen = []
    for turn in range(3):
        response = await client.chat.completions.create(
            model="gpt-4.1-mini",
            messages=messages,
            tools=SCHEMAS,
            tool_choice="required" if turn == 0 else "none",
        )
        seen.append(response)
        reply = response.choices[0].message
        print("agent:", reply.content)
        if not reply.tool_calls:
            break
        results = await asyncio.gather(*(call_tool(call) for call in reply.tool_calls))
        seen += results
        messages.append(reply.model_dump(exclude_none=True))
        for call, result in zip(reply.tool_calls, results):
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
    return seen


async def run():
    async with AsyncOpenAI() as client:
        return await talk(client, "How is Oslo?")


def main():
    return asyncio.run(run())


if __name__ == "__main__":
    main()
