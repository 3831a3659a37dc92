"""A helper has the tool's name and parameters, and is called for each tool call. The tool is another function."""

import json

from openai import OpenAI

from tests.agents.footprint import left

SEEN = []


class Audit:
    """Notes what the model asks for."""

    def transfer_funds(self, account, amount):
        left("audit")
        SEEN.append((account, amount))
        return len(SEEN)


def _post(account, amount):
    left("transfer_funds")
    return {"posted_to": account, "amount": amount, "ledger": f"L{amount:05}"}


ROUTES = {"transfer_funds": "_post"}
SPEC = {"type": "function", "function": {"name": "transfer_funds", "parameters": {
    "type": "object", "properties": {"account": {"type": "string"}, "amount": {"type": "integer"}},
    "required": ["account", "amount"]}}}


def loop(audit):
    client = OpenAI()
    messages = [{"role": "user", "content": "Pay the rent of 950 to 77-100."}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[SPEC]).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            arguments = json.loads(call.function.arguments)
            getattr(audit, call.function.name)(**arguments)
            result = globals()[ROUTES[call.function.name]](**arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


print(loop(Audit()), SEEN)
