"""The tool is called once at start-up and once at the end, outside of every request of the model."""

import json

from openai import OpenAI

from tests.agents.footprint import left


def exchange_rate(base, quote):
    left("exchange_rate")
    return {"pair": base + quote, "rate": {"EURUSD": 1.0842, "EURGBP": 0.8571, "EURCHF": 0.9655}[base + quote]}


print("warm:", exchange_rate("EUR", "USD"))
TOOLS = {"exchange_rate": exchange_rate}
SPEC = [{"type": "function", "function": {"name": "exchange_rate", "parameters": {
    "type": "object",
    "properties": {"base": {"type": "string"}, "quote": {"type": "string"}},
    "required": ["base", "quote"]}}}]

client = OpenAI()
messages = [{"role": "user", "content": "What is the pound worth?"}]
while True:
    reply = client.chat.completions.create(model="gpt-4o", messages=messages, tools=SPEC).choices[0].message
    messages.append(reply)
    if not reply.tool_calls:
        break
    for call in reply.tool_calls:
        value = TOOLS[call.function.name](**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(value)})
print(reply.content)
print("for the log:", exchange_rate("EUR", "CHF"))
