"""A tool fails twice with the same exception before it works."""

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


TRIED = []

def flaky(host):
    left("flaky")
    TRIED.append(host)
    if len(TRIED) < 3:
        raise ConnectionError("no route")
    return f"{host} is up since 1999"

def run(name, arguments):
    for _ in range(5):
        try:
            return {"flaky": flaky}[name](**arguments)
        except ConnectionError as error:
            print("again", error)
    return "gave up"

print(talk("Is it up?", [spec("flaky", host="string")], run))
