"""A decorator without functools.wraps, and a second one around it: all wrappers are called `inner`."""

import json

from openai import OpenAI

from tests.agents.footprint import left

calls = []


def logged(function):
    def inner(*args, **kwargs):
        calls.append(kwargs)
        return function(*args, **kwargs)

    return inner


def checked(function):
    def inner(**kwargs):
        if not all(kwargs.values()):
            raise ValueError("empty argument")
        return function(**kwargs)

    return inner


@checked
@logged
def translate(text, language):
    left("translate")
    return {"translation": f"<{language}>{text[::-1]}</{language}>"}


@logged
def detect_language(text):
    left("detect_language")
    return {"language": "nl" if "ij" in text else "de", "certainty": 0.93}


functions = {"translate": translate, "detect_language": detect_language}

TEXT = {"type": "string"}
tools = [
    {"type": "function", "function": {"name": "translate", "parameters": {
        "type": "object", "properties": {"text": TEXT, "language": TEXT}, "required": ["text", "language"]}}},
    {"type": "function", "function": {"name": "detect_language", "parameters": {
        "type": "object", "properties": {"text": TEXT}, "required": ["text"]}}},
]

client = OpenAI()
messages = [{"role": "user", "content": "Put 'lang geleden aan de dijk' into French."}]
while True:
    message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=tools).choices[0].message
    messages.append(message)
    if not message.tool_calls:
        break
    for call in message.tool_calls:
        output = functions[call.function.name](**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(output)})
print(message.content)
