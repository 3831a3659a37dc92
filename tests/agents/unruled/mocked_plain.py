"""Another function is patched in for the tool's function."""

import json
from unittest import mock

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


def charge(card, cents):
    left("real charge")
    return "charged for real"

def fake(card, cents):
    left("charge")
    return f"receipt F-{cents} for {card}"

with mock.patch(f"{__name__}.charge", fake):
    print(talk("Charge.", [spec("charge", card="string", cents="integer")], lambda n, a: globals()[n](**a)))
