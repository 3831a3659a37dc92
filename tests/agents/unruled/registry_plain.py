"""A decorator that registers functions and returns them as they are; schemas come from signatures."""

import inspect
import json

from openai import OpenAI
from tests.agents.footprint import left

REGISTRY = {}
JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def tool(fn):
    REGISTRY[fn.__name__] = fn
    return fn


@tool
def find_book(title: str) -> dict:
    """Find a book by its title."""
    left("find_book")
    return {"title": title, "author": "Ursula K. Le Guin", "shelf": 12}


@tool
def renew_loan(card: int, days: int) -> str:
    """Renew a loan."""
    left("renew_loan")
    return f"loan on card {card} renewed by {days} days"


def describe(fn):
    params = inspect.signature(fn).parameters.values()
    properties = {p.name: {"type": JSON_TYPES[p.annotation]} for p in params}
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {
        "type": "function",
        "function": {"name": fn.__name__, "description": fn.__doc__, "parameters": parameters},
    }


class Librarian:
    def __init__(self, model="gpt-4.1-nano"):
        self.model = model
        self.client = OpenAI()
        self.messages = []

    def ask(self, question):
        self.messages.append({"role": "user", "content": question})
        return self._loop()

    def _loop(self):
        reply = self.client.chat.completions.create(
            model=self.model, messages=self.messages, tools=[describe(fn) for fn in REGISTRY.values()]
        )
        message = reply.choices[0].message
        self.messages.append(message)
        if message.tool_calls is None:
            return message.content
        for call in message.tool_calls:
            self.messages.append(self._run(call))
        return self._loop()

    def _run(self, call):
        output = REGISTRY[call.function.name](**json.loads(call.function.arguments))
        return {"role": "tool", "tool_call_id": call.id, "content": json.dumps(output)}


print(Librarian().ask("Where is The Dispossessed? And renew card 77 by two weeks."))
