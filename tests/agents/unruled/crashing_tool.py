"""A tool raises what nobody catches, and the program ends with a traceback."""

import json

from openai import OpenAI

from tests.agents.footprint import left

STOCK = {"lamp": 2}


def sell(item, count):
    left("sell")
    if STOCK[item] < count:
        raise ValueError(f"cannot sell {count} of {item}")
    STOCK[item] -= count
    return {"sold": count, "left": STOCK[item]}


TOOLS = {"sell": sell}
SPEC = {"type": "function", "function": {"name": "sell", "parameters": {
    "type": "object", "properties": {"item": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["item", "count"]}}}


def main():
    client = OpenAI()
    messages = [{"role": "user", "content": "Sell a lamp, and then two more."}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[SPEC]).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return
        for call in message.tool_calls:
            result = TOOLS[call.function.name](**json.loads(call.function.arguments))
            print(result)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


if __name__ == "__main__":
    main()
