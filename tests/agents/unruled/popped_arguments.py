"""Handlers take their arguments out of the dict, so that afterwards it is empty."""

import json

from openai import OpenAI

from tests.agents.footprint import left


def render(args):
    left("render")
    template, size = args.pop("template"), args.pop("size", 10)
    if args:
        raise TypeError(f"unexpected: {', '.join(args)}")
    return {"document": f"{template}.pdf", "pages": size * 2}


def mail(args):
    left("mail")
    to, attachment = args.pop("to"), args.pop("attachment")
    return f"sent {attachment} to {to}, {len(args)} options left"


HANDLERS = {"render": render, "mail": mail}
SPECS = [
    {"type": "function", "function": {"name": "render", "parameters": {
        "type": "object", "properties": {"template": {"type": "string"}, "size": {"type": "integer"}},
        "required": ["template"]}}},
    {"type": "function", "function": {"name": "mail", "parameters": {
        "type": "object", "properties": {"to": {"type": "string"}, "attachment": {"type": "string"}},
        "required": ["to", "attachment"]}}},
]


def main():
    client = OpenAI()
    messages = [{"role": "user", "content": "Send Joan the report."}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=SPECS).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            args = json.loads(call.function.arguments)
            result = HANDLERS[call.function.name](args)
            print(call.function.name, "left", args)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


print(main())
