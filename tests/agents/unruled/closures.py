"""Tools are closures, made anew for each request of a user."""

import json

from openai import OpenAI
from tests.agents.footprint import left

CARTS = {"ada": ["lamp"], "joan": []}


def toolset(user):
    cart = CARTS[user]

    def add_to_cart(item):
        left("add_to_cart")
        cart.append(item)
        return {"owner": user, "cart": list(cart)}

    def total():
        left("total")
        return {"owner": user, "total_eur": 19.5 * len(cart)}

    return {"add_to_cart": add_to_cart, "total": total}


SPECS = [
    {
        "type": "function",
        "function": {
            "name": "add_to_cart",
            "parameters": {
                "type": "object",
                "properties": {"item": {"type": "string"}},
                "required": ["item"],
            },
        },
    },
    {"type": "function", "function": {"name": "total", "parameters": {"type": "object", "properties": {}}}},
]


def serve(client, user, wish):
    tools = toolset(user)
    messages = [{"role": "user", "content": wish}]
    for _ in range(8):
        message = (
            client.chat.completions.create(model="gpt-4o-mini", messages=messages, tools=SPECS)
            .choices[0]
            .message
        )
        if not message.tool_calls:
            return message.content
        messages.append(message)
        for call in message.tool_calls:
            function = tools[call.function.name]
            result = function(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
    raise RuntimeError("too many turns")


client = OpenAI()
print(serve(client, "ada", "Ada wants a desk."))
print(serve(client, "joan", "Joan wants a chair."))
