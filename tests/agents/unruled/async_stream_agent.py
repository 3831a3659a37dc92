"""AsyncOpenAI, streamed; the tools are async methods."""

import asyncio
import json

from openai import AsyncOpenAI

from tests.agents.footprint import left


class Robot:
    async def move_to(self, x, y):
        left("move_to")
        await asyncio.sleep(0)
        return {"x": x, "y": y, "took_s": 3.5}

    async def take_photo(self, zoom=1):
        left("take_photo")
        return f"photo_{zoom}x.jpg, 2 MB"


def spec(name, required, **properties):
    return {"type": "function", "function": {"name": name, "parameters": {
        "type": "object", "properties": properties, "required": required}}}


NUMBER = {"type": "integer"}
TOOLS = [spec("move_to", ["x", "y"], x=NUMBER, y=NUMBER), spec("take_photo", [], zoom=NUMBER)]


async def turn(client, messages):
    pending, text = {}, ""
    async with await client.chat.completions.create(
        model="gpt-4o", messages=messages, tools=TOOLS, stream=True
    ) as stream:
        async for chunk in stream:
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for part in choice.delta.tool_calls or []:
                    call = pending.setdefault(part.index, {"id": part.id, "name": part.function.name, "arguments": ""})
                    call["arguments"] += part.function.arguments or ""
    return text, list(pending.values())


async def main():
    robot = Robot()
    async with AsyncOpenAI() as client:
        messages = [{"role": "user", "content": "Go to 2, 5 and take a close picture."}]
        while True:
            text, calls = await turn(client, messages)
            if not calls:
                return text
            messages.append({"role": "assistant", "content": None, "tool_calls": [
                {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
                for c in calls]})
            for c in calls:
                result = await getattr(robot, c["name"])(**json.loads(c["arguments"]))
                messages.append({"role": "tool", "tool_call_id": c["id"], "content": json.dumps(result)})


print(asyncio.run(main()))
