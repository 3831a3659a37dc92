"""Lambdas in a dict."""

import json

from openai import OpenAI
from tests.agents.footprint import left

LIGHTS = {"hall": False, "kitchen": True}

tools = {
    "list_lights": lambda: left("list_lights") or [{"room": r, "on": on} for r, on in LIGHTS.items()],
    "switch_light": lambda room, on: (
        left("switch_light") or LIGHTS.update({room: on}) or f"{room} light is {on=}"
    ),
}

spec = [
    {
        "type": "function",
        "function": {"name": "list_lights", "parameters": {"type": "object", "properties": {}}},
    },
    {
        "type": "function",
        "function": {
            "name": "switch_light",
            "parameters": {
                "type": "object",
                "properties": {"room": {"type": "string"}, "on": {"type": "boolean"}},
                "required": ["room", "on"],
            },
        },
    },
]

ai = OpenAI()
msgs = [{"role": "user", "content": "Light in the hall, please. Which ones are on now?"}]
while True:
    m = ai.chat.completions.create(model="gpt-4o", messages=msgs, tools=spec).choices[0].message
    msgs.append(m)
    if not m.tool_calls:
        break
    for t in m.tool_calls:
        out = tools[t.function.name](**json.loads(t.function.arguments))
        msgs.append({"role": "tool", "tool_call_id": t.id, "content": json.dumps(out)})
print(m.content)
