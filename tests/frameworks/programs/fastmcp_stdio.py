"""A client that gives the tools of a FastMCP server, started over stdio, to a model of OpenAI."""

import asyncio
import json
import os

from fastmcp import Client
from fastmcp.client.transports import PythonStdioTransport
from openai import AsyncOpenAI

QUESTION = "How many kettles are left, what do two cost, and is there a toaster?"


def as_function(tool):
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
    }


async def call(client, asked):
    result = await client.call_tool(asked.function.name, json.loads(asked.function.arguments))
    content = "".join(block.text for block in result.content if block.type == "text")
    print(f"{asked.function.name}: {result.data}")
    return {"role": "tool", "tool_call_id": asked.id, "content": content}


async def main():
    model = AsyncOpenAI()
    transport = PythonStdioTransport("fastmcp_server.py", env=dict(os.environ))
    async with Client(transport) as client:
        tools = [as_function(tool) for tool in await client.list_tools()]
        messages = [{"role": "user", "content": QUESTION}]
        while True:
            answer = await model.chat.completions.create(model="gpt-4o", messages=messages, tools=tools)
            message = answer.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                print(message.content)
                return
            messages += [await call(client, asked) for asked in message.tool_calls]


asyncio.run(main())
