"""A helper has the tool's name, gets its arguments and returns its result. The tool is the function around it."""

import json
import sys

from openai import OpenAI

from tests.agents.footprint import left

STOCK = {"mug": 12}


def buy(item, count):
    STOCK[item] -= count
    return {"item": item, "left": STOCK[item], "order": f"B-{count}{len(item)}47"}


def handle_buy(item, count):
    left("buy")
    receipt = buy(item=item, count=count)
    return json.dumps(receipt)


SPEC = {"type": "function", "function": {"name": "buy", "parameters": {
    "type": "object", "properties": {"item": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["item", "count"]}}}


def agent(item):
    client, messages = OpenAI(), [{"role": "user", "content": f"Two of {item}, please."}]
    while True:
        reply = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[SPEC]).choices[0].message
        messages.append(reply)
        if not reply.tool_calls:
            return reply.content
        for call in reply.tool_calls:
            handler = getattr(sys.modules[__name__], f"handle_{call.function.name}")
            content = handler(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


print(agent("mug"))
