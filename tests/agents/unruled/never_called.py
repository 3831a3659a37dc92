"""Two tools are declared. The model wants neither, and then only one."""

import json

from openai import OpenAI

from tests.agents.footprint import left


def format_disk(device):
    left("format_disk")
    return f"{device} is empty now"


def disk_usage(device):
    left("disk_usage")
    return {"device": device, "used_percent": 83}


TOOLS = {f.__name__: f for f in [format_disk, disk_usage]}
DECLARED = [
    {"type": "function", "function": {"name": n, "parameters": {
        "type": "object", "properties": {"device": {"type": "string"}}, "required": ["device"]}}}
    for n in TOOLS
]


def ask(client, text):
    messages = [{"role": "user", "content": text}]
    while True:
        m = client.chat.completions.create(model="gpt-4o", messages=messages, tools=DECLARED).choices[0].message
        if not m.tool_calls:
            return m.content
        messages.append(m)
        for c in m.tool_calls:
            messages.append({"role": "tool", "tool_call_id": c.id,
                             "content": json.dumps(TOOLS[c.function.name](**json.loads(c.function.arguments)))})


client = OpenAI()
print(ask(client, "Hello there."))
print(ask(client, "How full is sda1?"))
