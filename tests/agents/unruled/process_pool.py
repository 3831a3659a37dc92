"""The tool runs in a worker process of a pool."""

import json
import multiprocessing

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


def crunch(number):
    left("crunch")
    return f"crunched {number * number + 1000}"

if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print(talk("Crunch.", [spec("crunch", number="integer")], lambda n, a: pool.apply(globals()[n], (), a)))
