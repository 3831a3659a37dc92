"""A tool is a generator, whose items are printed as they come."""

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


def pages(book):
    left("pages")
    for number in range(3):
        yield f"{book}, page {number}"

def run(name, arguments):
    text = ""
    for part in {"pages": pages}[name](**arguments):
        print("part", part)
        text += part + ";"
    return text

print(talk("Read.", [spec("pages", book="string")], run))
