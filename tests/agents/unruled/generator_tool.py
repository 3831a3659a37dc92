"""A tool that yields its lines, and an agent that joins them."""

import json

from openai import OpenAI

from tests.agents.footprint import left


def tail_log(service, lines):
    left("tail_log")
    for number in range(lines):
        yield f"{service}[{400 + number}]: retrying in {2 ** number} s"


TOOLS = {"tail_log": tail_log}
DECLARED = {"type": "function", "function": {"name": "tail_log", "parameters": {
    "type": "object", "properties": {"service": {"type": "string"}, "lines": {"type": "integer"}},
    "required": ["service", "lines"]}}}


def main():
    client = OpenAI()
    messages = [{"role": "user", "content": "What does the mailer say?"}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[DECLARED]).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return print(message.content)
        for call in message.tool_calls:
            text = "\n".join(TOOLS[call.function.name](**json.loads(call.function.arguments)))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text})


main()
