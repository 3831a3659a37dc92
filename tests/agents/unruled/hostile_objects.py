"""Objects of the program print or raise whenever something looks at them."""

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


class Meta(type):
    def __getattribute__(cls, name):
        print("meta", name)
        return super().__getattribute__(name)
    def __iter__(cls):
        raise RuntimeError("iterated")
    def __instancecheck__(cls, other):
        print("checked")
        return False

class Loud(metaclass=Meta):
    __slots__ = ("value", "name")
    def __init__(self):
        object.__setattr__(self, "value", 7)
    @property
    def lookup(self):
        print("property")
        raise RuntimeError("no")
    def __getattr__(self, name):
        print("getattr", name)
        raise AttributeError(name)
    def __eq__(self, other):
        print("compared")
        return True
    def __hash__(self):
        print("hashed")
        return 1
    def __bool__(self):
        raise RuntimeError("bool")
    def __len__(self):
        raise RuntimeError("len")
    def __iter__(self):
        raise RuntimeError("iter")
    def __repr__(self):
        print("repr")
        return "Loud"

class LoudDict(dict):
    def __getitem__(self, key):
        print("item", key)
        return super().__getitem__(key)
    def items(self):
        print("items")
        return super().items()
    def __contains__(self, key):
        print("contains", key)
        return super().__contains__(key)
    def __iter__(self):
        print("iter")
        return super().__iter__()

class LoudList(list):
    def __iter__(self):
        print("list iter")
        return super().__iter__()

class LoudText(str):  # noqa: SLOT000
    def __eq__(self, other):
        print("text compared")
        return str.__eq__(self, other)
    def __hash__(self):
        return str.__hash__(self)

class Plain:
    def __init__(self):
        self.name = LoudText("lookup")
    @property
    def run(self):
        print("run read")

def lookup(key):
    left("lookup")
    return f"{key} is at shelf 99"

THINGS = [Loud(), LoudDict(a=1, lookup=lookup), LoudList([Loud()]), Plain(), LoudText("lookup"), {LoudText("lookup"): 3}]
TABLE = LoudDict(lookup=lookup)
print(talk("Look it up.", [spec("lookup", key="string")], lambda n, a: TABLE[n](**a)))
