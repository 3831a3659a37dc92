"""The last tool is how the model answers: the agent prints its arguments and calls nothing."""

import json

from openai import OpenAI

from tests.agents.footprint import left


def read_meter(kind):
    left("read_meter")
    return {"kind": kind, "kwh": 4312.5}


SPECS = [
    {"type": "function", "function": {"name": "read_meter", "parameters": {
        "type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]}}},
    {"type": "function", "function": {"name": "submit_answer", "parameters": {
        "type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}}},
]


def solve(task):
    client = OpenAI()
    messages = [{"role": "user", "content": task}]
    while True:
        message = client.chat.completions.create(
            model="gpt-4o", messages=messages, tools=SPECS, tool_choice="required"
        ).choices[0].message
        messages.append(message)
        for call in message.tool_calls:
            arguments = json.loads(call.function.arguments)
            if call.function.name == "submit_answer":
                return arguments["answer"]
            result = {"read_meter": read_meter}[call.function.name](**arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


print(solve("How much electricity did we use?"))
