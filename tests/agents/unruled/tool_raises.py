"""Errors of tools go to the model, which then asks otherwise."""

import json

from openai import OpenAI
from tests.agents.footprint import left


class NotEnoughStockError(Exception):
    pass


STOCK = {"mug": 3}


def ship(item: str, quantity: int):
    left("ship")
    if quantity > STOCK[item]:
        raise NotEnoughStockError(f"only {STOCK[item]} of {item} are left")
    STOCK[item] -= quantity
    return {"shipped": quantity, "parcel": f"P-{item}-{quantity}"}


TOOL = {
    "type": "function",
    "function": {
        "name": "ship",
        "parameters": {
            "type": "object",
            "properties": {"item": {"type": "string"}, "quantity": {"type": "integer"}},
            "required": ["item", "quantity"],
        },
    },
}
FUNCTIONS = {"ship": ship}


def safely(call):
    try:
        return json.dumps(FUNCTIONS[call.function.name](**json.loads(call.function.arguments)))
    except Exception as error:
        return f"Error: {type(error).__name__}: {error}"


client = OpenAI()
messages = [{"role": "user", "content": "Send five mugs, or as many as there are."}]
for _ in range(10):
    message = (
        client.chat.completions.create(model="gpt-4o", messages=messages, tools=[TOOL]).choices[0].message
    )
    messages.append(message)
    if not message.tool_calls:
        break
    for call in message.tool_calls:
        content = safely(call)
        print("->", content)
        messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
print(message.content)
