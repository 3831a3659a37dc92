"""A tool that fails at first is tried again by the agent itself."""

import json
import time

from openai import OpenAI

from tests.agents.footprint import left

attempts = {"n": 0}


class Flaky(ConnectionError):
    """The warehouse does not answer."""


def warehouse_stock(sku):
    left("warehouse_stock")
    attempts["n"] += 1
    if attempts["n"] == 1:
        raise Flaky("connection reset by warehouse")
    return {"sku": sku, "on_hand": 37, "attempt": attempts["n"]}


def with_retries(function, arguments, most=3):
    for attempt in range(1, most + 1):
        try:
            return function(**arguments)
        except Flaky:
            if attempt == most:
                raise
            time.sleep(0.001)


TOOLS = [{"type": "function", "function": {"name": "warehouse_stock", "parameters": {
    "type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]}}}]
FUNCTIONS = {"warehouse_stock": warehouse_stock}


def main():
    client = OpenAI()
    messages = [{"role": "user", "content": "How many of A-17 are there?"}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=TOOLS).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            result = with_retries(FUNCTIONS[call.function.name], json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


print(main())
