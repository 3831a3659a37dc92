"""The tool calls a model itself, with no tools declared."""

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


def summarize(text):
    left("summarize")
    reply = OpenAI().chat.completions.create(model="gpt-4o-mini", messages=[{"role": "user", "content": f"Shorten: {text}"}])
    return f"summary v1: {reply.choices[0].message.content}"

TOOLS = {"summarize": summarize}
print(talk("Write it down.", [spec("summarize", text="string")], lambda n, a: TOOLS[n](**a)))
