"""`search` is a function of two modules. The tool is the backend's."""

import json

from openai import OpenAI

from bookshop import backend, ui

TOOLS = {"search": backend.search}
SEARCH = {
    "type": "function",
    "function": {
        "name": "search",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    },
}


def main():
    client = OpenAI()
    messages = [{"role": "user", "content": "Have you got something with 'middle' in it?"}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[SEARCH]).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return ui.show(message.content)
        for call in message.tool_calls:
            ui.show(f"searching Middle-earth for {call.function.arguments}")
            found = TOOLS[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(found)})


if __name__ == "__main__":
    main()
