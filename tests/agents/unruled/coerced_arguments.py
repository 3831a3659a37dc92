"""The agent turns arguments into types of its own before it calls the function."""

import json
from datetime import date
from decimal import Decimal

from openai import OpenAI

from tests.agents.footprint import left


class Payments:
    def schedule(self, when: date, amount: Decimal, iban: str) -> dict:
        left("schedule_payment")
        return {"on": when.isoformat(), "amount": str(amount), "to": iban[-4:], "status": "scheduled by the bank"}


def perform(payments, name, arguments):
    if name == "schedule_payment":
        iban = arguments["iban"].replace(" ", "")
        return payments.schedule(date.fromisoformat(arguments["date"]), Decimal(arguments["amount"]), iban)
    raise LookupError(name)


SPEC = {"type": "function", "function": {"name": "schedule_payment", "parameters": {
    "type": "object",
    "properties": {"date": {"type": "string"}, "amount": {"type": "string"}, "iban": {"type": "string"}},
    "required": ["date", "amount", "iban"]}}}

if __name__ == "__main__":
    client, payments = OpenAI(), Payments()
    messages = [{"role": "user", "content": "Pay the rent on the first."}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[SPEC]).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            outcome = perform(payments, call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(outcome)})
    print(message.content)
