"""A tool calls itself, and another tool calls its function."""

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


def outline(topic, depth):
    left("outline")
    inner = outline(topic, depth - 1) if depth else ""
    return f"[{topic} level {depth} {inner}]"

def polish(topic):
    left("polish")
    return "polished " + outline(topic, 0)

TOOLS = {"outline": outline, "polish": polish}
print(talk("Outline.", [spec("outline", topic="string", depth="integer"), spec("polish", topic="string")], lambda n, a: TOOLS[n](**a)))
