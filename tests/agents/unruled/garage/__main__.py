"""`python -m garage`: the tools are what `getattr` finds in a module."""

import json

from openai import OpenAI

from garage import tools

SPECS = [
    {
        "type": "function",
        "function": {
            "name": "free_slots",
            "parameters": {
                "type": "object",
                "properties": {"weekday": {"type": "string"}},
                "required": ["weekday"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "book_slot",
            "parameters": {
                "type": "object",
                "properties": {"slot": {"type": "string"}, "plate": {"type": "string"}},
                "required": ["slot", "plate"],
            },
        },
    },
]


def answer(client: OpenAI, messages: list) -> str:
    while True:
        message = (
            client.chat.completions.create(model="gpt-4.1", messages=messages, tools=SPECS).choices[0].message
        )
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            function = getattr(tools, call.function.name)
            result = function(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


if __name__ == "__main__":
    print(answer(OpenAI(), [{"role": "user", "content": "Brakes of XY-12 on Thursday, please."}]))
