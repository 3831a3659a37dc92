"""AsyncAnthropic with coroutines behind a ladder, two at once."""

import asyncio
import json

from anthropic import AsyncAnthropic

from tests.agents.footprint import left


async def _timetable(station):
    left("departures")
    await asyncio.sleep(0.001)
    return [{"to": "Basel", "at": "10:04"}, {"to": f"{station} Nord", "at": "10:11"}]


async def _seats(train, date):
    left("free_seats")
    await asyncio.sleep(0)
    return {"train": train, "date": date, "free": 41}


async def use_tool(name, args):
    if name == "departures":
        return await _timetable(args["station"])
    elif name == "free_seats":
        return await _seats(args["train"], args["date"])
    raise RuntimeError(f"what is {name}?")


TOOLS = [
    {"name": "departures", "input_schema": {"type": "object", "properties": {"station": {"type": "string"}}, "required": ["station"]}},
    {"name": "free_seats", "input_schema": {"type": "object", "properties": {"train": {"type": "string"}, "date": {"type": "string"}}, "required": ["train", "date"]}},
]


async def conversation(prompt):
    async with AsyncAnthropic() as client:
        messages = [{"role": "user", "content": prompt}]
        while True:
            reply = await client.messages.create(model="claude-opus-4-5", max_tokens=300, tools=TOOLS, messages=messages)
            messages.append({"role": "assistant", "content": reply.content})
            uses = [b for b in reply.content if b.type == "tool_use"]
            if not uses:
                return "".join(b.text for b in reply.content)
            values = await asyncio.gather(*[use_tool(b.name, b.input) for b in uses])
            messages.append({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": b.id, "content": json.dumps(v)}
                for b, v in zip(uses, values)
            ]})


def main():
    print(asyncio.run(conversation("When does a train leave Bern, and are there seats on IC 61?")))


main()
