"""The tool is a few lines in the loop, and no function at all."""

import json

from openai import OpenAI

from tests.agents.footprint import left

balance = {"points": 120}
spec = {"type": "function", "function": {"name": "redeem_points", "parameters": {
    "type": "object", "properties": {"points": {"type": "integer"}}, "required": ["points"]}}}
client = OpenAI()
messages = [{"role": "user", "content": "Redeem 100 of my points."}]
while True:
    message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[spec]).choices[0].message
    messages.append(message)
    if not message.tool_calls:
        break
    for call in message.tool_calls:
        arguments = json.loads(call.function.arguments)
        if call.function.name == "redeem_points":
            left("redeem_points")
            balance["points"] -= arguments["points"]
            outcome = f"voucher V-{arguments['points']}, {balance['points']} points are left"
        messages.append({"role": "tool", "tool_call_id": call.id, "content": outcome})
print(message.content)
