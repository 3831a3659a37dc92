"""Tools in namespaces: dicts in a dict."""
import json
from openai import OpenAI
from tests.agents.footprint import left


def add(a, b):
    left("math__add")
    return a + b


def multiply(a, b):
    left("math__multiply")
    return a * b


def shout(s):
    left("text__shout")
    return s.upper() + "!"


NS = {"math": {"add": add, "multiply": multiply}, "text": {"shout": shout}}
NUM = {"type": "number"}
TWO = {"type": "object", "properties": {"a": NUM, "b": NUM}, "required": ["a", "b"]}
ONE = {"type": "object", "properties": {"s": {"type": "string"}}, "required": ["s"]}
TOOLS = [{"type": "function", "function": {"name": f"{ns}__{fn}", "parameters": TWO if ns == "math" else ONE}}
         for ns, fns in NS.items() for fn in fns]


def resolve(full):
    ns, fn = full.split("__")
    return NS[ns][fn]


def complete(client, messages):
    return client.chat.completions.create(model="gpt-4o-mini", messages=messages, tools=TOOLS).choices[0].message


client = OpenAI()
messages = [{"role": "user", "content": "12.5 plus 30, times 17, and shout hello"}]
m = complete(client, messages)
while m.tool_calls:
    messages.append(m)
    for c in m.tool_calls:
        f = resolve(c.function.name)
        messages.append({"role": "tool", "tool_call_id": c.id, "content": repr(f(**json.loads(c.function.arguments)))})
    m = complete(client, messages)
print(m.content)
