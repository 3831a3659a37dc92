"""Commands are dataclasses; a singledispatch function handles each. No function has a tool's name."""

import json
from dataclasses import asdict, dataclass
from functools import singledispatchmethod

from openai import OpenAI
from tests.agents.footprint import left


@dataclass(frozen=True)
class Deposit:
    account: str
    amount: int


@dataclass(frozen=True)
class Statement:
    account: str


@dataclass
class Receipt:
    account: str
    balance: int
    note: str


COMMANDS = {"deposit": Deposit, "statement": Statement}


class Bank:
    def __init__(self):
        self.balances = {"savings": 1000}

    @singledispatchmethod
    def handle(self, command):
        raise TypeError(command)

    @handle.register
    def _deposit(self, command: Deposit):
        left("deposit")
        self.balances[command.account] += command.amount
        return Receipt(command.account, self.balances[command.account], "thank you for banking with us")

    @handle.register
    def _statement(self, command: Statement):
        left("statement")
        return Receipt(command.account, self.balances[command.account], "no fees this month")


def schema(name, cls):
    kinds = {str: "string", int: "integer"}
    properties = {field: {"type": kinds[kind]} for field, kind in cls.__annotations__.items()}
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def main():
    bank, client = Bank(), OpenAI()
    messages = [{"role": "user", "content": "Put 250 into savings and send me a statement."}]
    tools = [schema(name, cls) for name, cls in COMMANDS.items()]
    while True:
        message = (
            client.chat.completions.create(model="gpt-4o", messages=messages, tools=tools).choices[0].message
        )
        messages.append(message)
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            command = COMMANDS[call.function.name](**json.loads(call.function.arguments))
            receipt = bank.handle(command)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(asdict(receipt))})
    print(message.content)


if __name__ == "__main__":
    main()
