"""An agent with servers, as in the Model Context Protocol: tools are listed, prefixed with their server, and called by it."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any, Callable

from openai import AsyncOpenAI

from tests.agents.footprint import left


@dataclass
class ToolServer:
    title: str
    _handlers: dict[str, Callable[..., Any]] = field(default_factory=dict)
    _schemas: dict[str, dict] = field(default_factory=dict)

    def tool(self, **properties: str):
        def decorator(fn):
            self._handlers[fn.__name__] = fn
            self._schemas[fn.__name__] = {
                "type": "object",
                "properties": {name: {"type": kind} for name, kind in properties.items()},
                "required": list(properties),
            }
            return fn

        return decorator

    async def list_tools(self):
        return [{"name": name, "inputSchema": schema} for name, schema in self._schemas.items()]

    async def call_tool(self, name: str, arguments: dict):
        try:
            value = self._handlers[name](**arguments)
            if asyncio.iscoroutine(value):
                value = await value
            return {"isError": False, "content": [{"type": "text", "text": str(value)}]}
        except Exception as error:
            return {"isError": True, "content": [{"type": "text", "text": f"{error}"}]}


files = ToolServer("files")
git = ToolServer("git")
DISK = {"README": "Call me Ishmael.", "TODO": "harpoon, rope"}


@files.tool(path="string")
async def read(path):
    left("files__read")
    await asyncio.sleep(0)
    return DISK[path]


@files.tool(path="string", text="string")
def write(path, text):
    left("files__write")
    DISK[path] = text
    return f"wrote {len(text)} characters to {path}"


@git.tool(message="string")
def commit(message):
    left("git__commit")
    return f"[main 1a2b3c4] {message}"


class Host:
    def __init__(self, *servers):
        self.servers = {server.title: server for server in servers}
        self.client = AsyncOpenAI()

    async def declared(self):
        return [
            {
                "type": "function",
                "function": {"name": f"{title}__{tool['name']}", "parameters": tool["inputSchema"]},
            }
            for title, server in self.servers.items()
            for tool in await server.list_tools()
        ]

    async def chat(self, text):
        messages = [{"role": "user", "content": text}]
        tools = await self.declared()
        while True:
            answer = await self.client.chat.completions.create(model="gpt-4.1", messages=messages, tools=tools)
            message = answer.choices[0].message
            messages.append(message)
            if not message.tool_calls:
                return message.content
            for call in message.tool_calls:
                title, _, name = call.function.name.partition("__")
                result = await self.servers[title].call_tool(name, json.loads(call.function.arguments))
                text = "".join(part["text"] for part in result["content"])
                messages.append({"role": "tool", "tool_call_id": call.id, "content": text})


print(asyncio.run(Host(files, git).chat("Add a whale to my TODO and commit it.")))
