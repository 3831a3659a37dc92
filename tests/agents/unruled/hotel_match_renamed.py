"""A hotel agent: `match` over (name, arguments) patterns, and functions of other names."""

import json

from openai import OpenAI
from tests.agents.footprint import left

ROOMS = {"single": 4, "double": 0, "suite": 1}


def rooms_left(kind):
    left("check_availability")
    return {"room_type": kind, "available": ROOMS[kind], "as_of": "2026-03-14"}


def reserve(guest, kind, nights):
    left("make_reservation")
    ROOMS[kind] -= 1
    return {"confirmation": f"H-{guest.upper()}-{kind}-{nights}", "total": 129 * nights}


def call_tool(tool_name, tool_args):
    match tool_name, tool_args:
        case "check_availability", {"room_type": kind}:
            return rooms_left(kind)
        case "make_reservation", {"guest": guest, "room_type": kind, "nights": nights}:
            return reserve(guest, kind, nights)
    return {"error": f"cannot call {tool_name}"}


TOOLS = json.loads("""
[{"type": "function", "function": {"name": "check_availability", "parameters": {"type": "object",
  "properties": {"room_type": {"type": "string", "enum": ["single", "double", "suite"]}}, "required": ["room_type"]}}},
 {"type": "function", "function": {"name": "make_reservation", "parameters": {"type": "object",
  "properties": {"guest": {"type": "string"}, "room_type": {"type": "string"}, "nights": {"type": "integer"}},
  "required": ["guest", "room_type", "nights"]}}}]
""")

chat = [{"role": "user", "content": "Is there a suite left? If so, three nights for Grace."}]
client = OpenAI(max_retries=0)
while (
    reply := client.chat.completions.create(model="gpt-4o", messages=chat, tools=TOOLS).choices[0].message
).tool_calls:
    chat += [reply.model_dump(exclude_none=True)]
    chat += [
        {
            "role": "tool",
            "tool_call_id": c.id,
            "content": json.dumps(call_tool(c.function.name, json.loads(c.function.arguments))),
        }
        for c in reply.tool_calls
    ]
print(reply.content)
