"""Two tools of one turn return the same text; their arguments tell them apart."""

import json

from openai import OpenAI

from tests.agents.footprint import left


def lock(door):
    left("lock_door")
    return "ok, the house acknowledges"


def arm(zone, seconds):
    left("arm_alarm")
    return "ok, the house acknowledges"


def act(name, a):
    return lock(a["door"]) if name == "lock_door" else arm(a["zone"], a["delay"])


SPECS = [
    {"type": "function", "function": {"name": "lock_door", "parameters": {
        "type": "object", "properties": {"door": {"type": "string"}}, "required": ["door"]}}},
    {"type": "function", "function": {"name": "arm_alarm", "parameters": {
        "type": "object", "properties": {"zone": {"type": "string"}, "delay": {"type": "integer"}},
        "required": ["zone", "delay"]}}},
]
client = OpenAI()
messages = [{"role": "user", "content": "Good night."}]
while True:
    message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=SPECS).choices[0].message
    messages.append(message)
    if not message.tool_calls:
        break
    for call in message.tool_calls:
        text = act(call.function.name, json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
print(message.content)
