"""A tool returns an object that is no data: it can be printed, and not be kept."""

import json

from openai import OpenAI

from tests.agents.footprint import left


class Connection:
    def __init__(self, host):
        self.host = host
        self.send = lambda data: len(data)

    def __str__(self):
        return f"<connected to {self.host}, 3 ms>"


def connect(host):
    left("connect")
    return Connection(host)


TOOLS = {"connect": connect}
SPEC = {"type": "function", "function": {"name": "connect", "parameters": {
    "type": "object", "properties": {"host": {"type": "string"}}, "required": ["host"]}}}

client = OpenAI()
messages = [{"role": "user", "content": "Can you reach mars?"}]
while True:
    message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[SPEC]).choices[0].message
    messages.append(message)
    if not message.tool_calls:
        break
    for call in message.tool_calls:
        link = TOOLS[call.function.name](**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": str(link)})
print(message.content)
