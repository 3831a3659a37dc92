"""Tools have the names of the main function and of a builtin."""

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


def main(path):
    left("main")
    return f"ran {path} with code 17"

def print_(text):
    left("print")
    return f"printed {text} on paper A4"

TOOLS = {"main": main, "print": print_}

def run(name, arguments):
    return TOOLS[name](**arguments)

if __name__ == "__main__":
    print(talk("Run.", [spec("main", path="string"), spec("print", text="string")], run))
