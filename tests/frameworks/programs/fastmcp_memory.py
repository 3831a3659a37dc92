"""A FastMCP server and its client in one process. A model of OpenAI streams its answers and calls the tools at once."""

import asyncio
import json

from fastmcp import Client, Context, FastMCP
from footprint import footprint
from openai import AsyncOpenAI

mcp = FastMCP("Calculator")


@mcp.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    footprint("add")
    return a + b


@mcp.tool
async def describe(number: int, ctx: Context) -> str:
    """Say in words what a number is like."""
    footprint("describe")
    await ctx.info(f"describing {number}")
    return f"{number} is {'even' if number % 2 == 0 else 'odd'} and has {len(str(number))} digits"


@mcp.resource("config://unit")
def unit() -> str:
    return "pieces"


def as_function(tool):
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
    }


async def answer(model, messages, tools):
    """Stream one answer of the model, and return its text and the calls in it."""
    text, calls = "", {}
    stream = await model.chat.completions.create(model="gpt-4o", messages=messages, tools=tools, stream=True)
    async for chunk in stream:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for part in choice.delta.tool_calls or ():
                call = calls.setdefault(
                    part.index, {"id": part.id, "name": part.function.name, "arguments": ""}
                )
                call["arguments"] += part.function.arguments or ""
    return text, list(calls.values())


async def main():
    model = AsyncOpenAI()
    async with Client(mcp) as client:
        unit_text = (await client.read_resource("config://unit"))[0].text
        tools = [as_function(tool) for tool in await client.list_tools()]
        messages = [{"role": "user", "content": f"Add 19 and 23 {unit_text}, and describe 7."}]
        text, calls = await answer(model, messages, tools)
        while calls:
            asked = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": call["arguments"]},
                }
                for call in calls
            ]
            messages.append({"role": "assistant", "content": text or None, "tool_calls": asked})
            results = await asyncio.gather(
                *(client.call_tool(call["name"], json.loads(call["arguments"])) for call in calls)
            )
            for call, result in zip(calls, results, strict=True):
                print(f"{call['name']}: {result.data}")
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(result.data)})
            text, calls = await answer(model, messages, tools)
        print(text)


asyncio.run(main())
