"""A function that no name tells raises, and the dispatcher writes the error as the result."""

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


def _do(city):
    left("weather")
    raise LookupError(f"no station in {city}, code 4711")

def run(name, arguments):
    if name == "weather":
        try:
            return _do(arguments["city"])
        except LookupError as error:
            return f"error: {error}"

print(talk("Weather?", [spec("weather", city="string")], run))
