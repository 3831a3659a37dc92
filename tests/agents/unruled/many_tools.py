"""Two hundred tools are declared, all of one code."""

import json

from openai import OpenAI

from tests.agents.footprint import left


def spec(name, **properties):
    kinds = {key: {"type": kind} for key, kind in properties.items()}
    return {"type": "function", "function": {"name": name, "parameters": {
        "type": "object", "properties": kinds, "required": list(kinds)}}}


def talk(prompt, specs, run, client=None):
    client = client or OpenAI()
    messages = [{"role": "user", "content": prompt}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=specs).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            result = run(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def make(number):
    def tool(value):
        left(f"tool_{number}")
        return f"tool {number} made {value * 1000 + number}"
    tool.__name__ = f"tool_{number}"
    return tool

TOOLS = {f"tool_{number}": make(number) for number in range(200)}
print(talk("Use some.", [spec(name, value="integer") for name in TOOLS], lambda n, a: TOOLS[n](**a)))
