"""AsyncOpenAI, and all tool calls of a turn at once."""

import asyncio
import json

from openai import AsyncOpenAI
from tests.agents.footprint import left


async def fetch_price(symbol: str) -> dict:
    left("fetch_price")
    await asyncio.sleep(0.002 * len(symbol))
    return {"symbol": symbol, "price": {"ACME": 41.5, "GLOBEX": 7.25}[symbol]}


async def fetch_news(symbol: str, limit: int = 1) -> list[str]:
    left("fetch_news")
    await asyncio.sleep(0)
    return [f"{symbol} opens a plant in Ghent"][:limit]


FUNCTIONS = {f.__name__: f for f in (fetch_price, fetch_news)}


def parameters(**kinds):
    return {
        "type": "object",
        "properties": {k: {"type": v} for k, v in kinds.items()},
        "required": ["symbol"],
    }


TOOLS = [
    {"type": "function", "function": {"name": "fetch_price", "parameters": parameters(symbol="string")}},
    {
        "type": "function",
        "function": {"name": "fetch_news", "parameters": parameters(symbol="string", limit="integer")},
    },
]


async def execute(call):
    result = await FUNCTIONS[call.function.name](**json.loads(call.function.arguments))
    return {"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)}


async def main():
    async with AsyncOpenAI() as client:
        messages = [{"role": "user", "content": "Compare ACME and GLOBEX, and is there news of ACME?"}]
        while True:
            completion = await client.chat.completions.create(model="gpt-4o", messages=messages, tools=TOOLS)
            message = completion.choices[0].message
            messages.append(message)
            if not message.tool_calls:
                return message.content
            messages.extend(await asyncio.gather(*(execute(call) for call in message.tool_calls)))


if __name__ == "__main__":
    print(asyncio.run(main()))
