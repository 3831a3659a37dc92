"""An async agent runs its blocking tools in threads."""

import asyncio
import json
import time

from openai import AsyncOpenAI

from tests.agents.footprint import left


def render_chart(kind: str, points: int) -> dict:
    left("render_chart")
    time.sleep(0.001)
    return {"file": f"{kind}-{points}.png", "bytes": points * 321}


def load_series(name: str) -> list[float]:
    left("load_series")
    time.sleep(0.002)
    return [len(name) * 1.5, len(name) * 2.25, 17.125]


TOOLS = {"render_chart": render_chart, "load_series": load_series}
SPECS = [
    {"type": "function", "function": {"name": "render_chart", "parameters": {
        "type": "object", "properties": {"kind": {"type": "string"}, "points": {"type": "integer"}},
        "required": ["kind", "points"]}}},
    {"type": "function", "function": {"name": "load_series", "parameters": {
        "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}},
]


async def run_tools(calls):
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(asyncio.to_thread(TOOLS[c.function.name], **json.loads(c.function.arguments)))
            for c in calls
        ]
    return [
        {"role": "tool", "tool_call_id": c.id, "content": json.dumps(t.result())} for c, t in zip(calls, tasks)
    ]


async def main():
    client = AsyncOpenAI()
    messages = [{"role": "user", "content": "Chart the series 'rain' as bars."}]
    for _ in range(6):
        completion = await client.chat.completions.create(model="gpt-4o", messages=messages, tools=SPECS)
        message = completion.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            break
        messages += await run_tools(message.tool_calls)
    print(message.content)
    await client.close()


asyncio.run(main())
