"""A ladder over functions that return nothing, so neither a name nor a value tells."""

import json

from openai import OpenAI

from tests.agents.footprint import left

BLINDS = {"office": 0}


def _lower(room, percent):
    left("set_blinds")
    BLINDS[room] = percent


def do(name, args):
    if name == "set_blinds":
        _lower(args["room"], args["percent"])
    else:
        raise ValueError(name)


SPEC = {"type": "function", "function": {"name": "set_blinds", "parameters": {
    "type": "object",
    "properties": {"room": {"type": "string"}, "percent": {"type": "integer"}},
    "required": ["room", "percent"]}}}


def main():
    client = OpenAI()
    messages = [{"role": "user", "content": "The sun blinds me in the office."}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[SPEC]).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            do(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": "done"})


print(main())
