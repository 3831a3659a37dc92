"""A helper of the tool's name gets its arguments, and what it returns is a part of the result. The tool is another function."""

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


class Audit:
    entries = 0

    def transfer(self, account, amount):
        self.entries += 1
        return f"A-{self.entries:04}"

def _post(account, amount):
    left("transfer")
    return f"posted L{amount:05} at the central bank"

AUDIT = Audit()

def run(name, arguments):
    audit = getattr(AUDIT, name)(**arguments)
    return json.dumps({"posted": globals()["_po" + "st"](**arguments), "audit": audit})

print(talk("Pay.", [spec("transfer", account="string", amount="integer")], run))
