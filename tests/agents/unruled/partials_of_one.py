"""Each tool is a partial of one function."""

import json
from functools import partial

from openai import OpenAI

from tests.agents.footprint import left


def call_api(method, path, **body):
    left(f"{method}_{path}")
    return {"method": method.upper(), "path": f"/{path}", "echo": body, "status": 200 + len(body)}


TOOLS = {f"{method}_{path}": partial(call_api, method, path) for method, path in [("get", "rooms"), ("post", "bookings")]}
SPECS = [
    {"type": "function", "function": {"name": "get_rooms", "parameters": {
        "type": "object", "properties": {"floor": {"type": "integer"}}, "required": ["floor"]}}},
    {"type": "function", "function": {"name": "post_bookings", "parameters": {
        "type": "object", "properties": {"room": {"type": "string"}, "hour": {"type": "integer"}},
        "required": ["room", "hour"]}}},
]


def main():
    client = OpenAI()
    messages = [{"role": "user", "content": "Book a room on the third floor at ten."}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=SPECS).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            result = TOOLS[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


print(main())
