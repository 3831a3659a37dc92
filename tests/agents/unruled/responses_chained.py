"""Responses with `previous_response_id`: each request holds only what is new. The tools are streamed."""

import json

from openai import OpenAI

from tests.agents.footprint import left


class Fridge:
    content = {"butter": 2, "milk": 1}

    def inventory(self):
        left("inventory")
        return dict(self.content)

    def order_food(self, item, count):
        left("order_food")
        return {"ordered": item, "count": count, "arrives": "Friday"}


fridge = Fridge()
dispatch = {"inventory": fridge.inventory, "order_food": fridge.order_food}
TOOLS = [
    {"type": "function", "name": "inventory", "parameters": {"type": "object", "properties": {}}},
    {
        "type": "function",
        "name": "order_food",
        "parameters": {
            "type": "object",
            "properties": {"item": {"type": "string"}, "count": {"type": "integer"}},
            "required": ["item", "count"],
        },
    },
]


def respond(client, previous, items):
    calls, text, final = [], "", None
    for event in client.responses.create(
        model="gpt-5-mini", input=items, tools=TOOLS, previous_response_id=previous, stream=True
    ):
        if event.type == "response.output_item.done" and event.item.type == "function_call":
            calls.append(event.item)
        elif event.type == "response.output_text.delta":
            text += event.delta
        elif event.type == "response.completed":
            final = event.response
    return final.id, calls, text


client = OpenAI()
previous, items = None, [{"role": "user", "content": "Fill up the milk to three."}]
while True:
    previous, calls, text = respond(client, previous, items)
    if not calls:
        break
    items = [
        {
            "type": "function_call_output",
            "call_id": call.call_id,
            "output": json.dumps(dispatch[call.name](**json.loads(call.arguments))),
        }
        for call in calls
    ]
print(text)
