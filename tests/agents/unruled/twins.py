"""Two functions get the same arguments and return the same: the store and its mirror."""

import json

from openai import OpenAI

from tests.agents.footprint import left

PRICES = {"cello": 1999.0}


def from_store(item):
    left("price_of")
    return PRICES[item]


def from_mirror(item):
    return PRICES[item]


def checked_price(call):
    item = json.loads(call.function.arguments)["item"]
    price, mirrored = from_store(item), from_mirror(item)
    if price != mirrored:
        raise RuntimeError("the mirror is stale")
    return price


TOOLS = [{"type": "function", "function": {"name": "price_of", "parameters": {
    "type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}}}]
client = OpenAI()
messages = [{"role": "user", "content": "What is the cello?"}]
while True:
    message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=TOOLS).choices[0].message
    messages.append(message)
    if not message.tool_calls:
        break
    for call in message.tool_calls:
        messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps({"eur": checked_price(call)})})
print(message.content)
