"""Two hotels. Each has a module of its own with a tool `find_room`, which is imported for the first question about the hotel."""

import importlib
import json

from openai import OpenAI

FIND_ROOM = {
    "type": "function",
    "function": {
        "name": "find_room",
        "parameters": {"type": "object", "properties": {"beds": {"type": "integer"}}, "required": ["beds"]},
    },
}


def answer(hotel, question):
    tool = importlib.import_module(f"hotels.{hotel}").find_room
    client = OpenAI()
    messages = [{"role": "user", "content": question}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[FIND_ROOM]).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            room = tool(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": room})


if __name__ == "__main__":
    print(answer("seaside", "Is there a room at the sea?"))
    print(answer("alpine", "Is there a room in the mountains?"))
