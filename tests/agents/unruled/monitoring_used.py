"""The program uses all tools of sys.monitoring itself."""

import json
import sys

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


if sys.version_info >= (3, 12):
    for number in range(6):
        try:
            sys.monitoring.use_tool_id(number, f"tool {number}")
        except ValueError as error:
            print("taken", number)

def _fetch(city):
    left("weather")
    return f"{city}: 31 degrees, wind 4"

def run(name, arguments):
    if name == "weather":
        return _fetch(arguments["city"])

print(talk("Weather?", [spec("weather", city="string")], run))
