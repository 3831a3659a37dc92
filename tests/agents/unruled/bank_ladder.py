"""A teller: an `if name ==` ladder over functions that are named otherwise than the tools."""

import json
from openai import OpenAI
from tests.agents.footprint import left

ACCOUNTS = {"4711": 1250.75, "4712": 80.0}


def _fetch(acct):
    left("balance")
    return {"account": acct, "balance": ACCOUNTS[acct], "currency": "EUR"}


def _move_money(source, target, amount):
    left("transfer")
    ACCOUNTS[source] -= amount
    ACCOUNTS[target] += amount
    return {"status": "booked", "reference": f"TX-{source}-{target}-{amount:g}"}


def spec(name, **props):
    return {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": props, "required": list(props)},
        },
    }


S, N = {"type": "string"}, {"type": "number"}
TOOLS = [spec("balance", account=S), spec("transfer", from_account=S, to_account=S, amount=N)]


def handle(call):
    a = json.loads(call.function.arguments)
    if call.function.name == "balance":
        return _fetch(a["account"])
    elif call.function.name == "transfer":
        return _move_money(a["from_account"], a["to_account"], a["amount"])
    else:
        return {"error": "no such tool"}


if __name__ == "__main__":
    llm = OpenAI()
    history = [
        {"role": "system", "content": "You are a bank teller."},
        {"role": "user", "content": "Move 50 from 4711 to 4712 if there is enough."},
    ]
    while True:
        msg = (
            llm.chat.completions.create(model="gpt-4o-mini", messages=history, tools=TOOLS).choices[0].message
        )
        history.append(msg)
        if not msg.tool_calls:
            break
        for c in msg.tool_calls:
            history.append({"role": "tool", "tool_call_id": c.id, "content": json.dumps(handle(c))})
    print(msg.content)
