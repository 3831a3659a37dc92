"""Tools are the methods of an instance, found with getattr."""

import json

from openai import OpenAI
from tests.agents.footprint import left


class Kitchen:
    def __init__(self):
        self.pantry = {"flour": 800, "eggs": 6, "milk": 1000}

    def list_pantry(self):
        left("list_pantry")
        return self.pantry

    def use_ingredient(self, ingredient, quantity):
        left("use_ingredient")
        self.pantry[ingredient] -= quantity
        return {"ingredient": ingredient, "remaining": self.pantry[ingredient]}


class Cook:
    TOOLS = [
        {
            "type": "function",
            "function": {"name": "list_pantry", "parameters": {"type": "object", "properties": {}}},
        },
        {
            "type": "function",
            "function": {
                "name": "use_ingredient",
                "parameters": {
                    "type": "object",
                    "properties": {"ingredient": {"type": "string"}, "quantity": {"type": "integer"}},
                    "required": ["ingredient", "quantity"],
                },
            },
        },
    ]

    def __init__(self, kitchen):
        self.kitchen = kitchen
        self.llm = OpenAI()

    def cook(self, wish):
        messages = [{"role": "user", "content": wish}]
        while True:
            message = (
                self.llm.chat.completions.create(model="gpt-4o", messages=messages, tools=self.TOOLS)
                .choices[0]
                .message
            )
            messages.append(message)
            if not message.tool_calls:
                return message.content
            for call in message.tool_calls:
                method = getattr(self.kitchen, call.function.name)
                arguments = json.loads(call.function.arguments or "{}")
                messages.append(
                    {"role": "tool", "tool_call_id": call.id, "content": json.dumps(method(**arguments))}
                )


print(Cook(Kitchen()).cook("Pancakes for two, please."))
