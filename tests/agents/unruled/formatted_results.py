"""Each result is told in prose, so it is not in the next request as it was."""

import json

from openai import OpenAI

from tests.agents.footprint import left


def _station(code):
    left("observe")
    return {"code": code, "celsius": -3.5, "knots": 22, "sky": 8}


def _describe(observation):
    wind = "a gale" if observation["knots"] > 33 else "a fresh breeze"
    return f"{abs(observation['celsius']):.0f} degrees of frost and {wind}, overcast"


def on_tool_call(name, **arguments):
    if name == "observe":
        return _describe(_station(arguments["station"]))
    return f"no tool {name}"


TOOL = {
    "type": "function",
    "function": {
        "name": "observe",
        "parameters": {"type": "object", "properties": {"station": {"type": "string"}}, "required": ["station"]},
    },
}
client = OpenAI()
messages = [{"role": "user", "content": "How is it on Hopen?"}]
while True:
    message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[TOOL]).choices[0].message
    messages.append(message)
    if not message.tool_calls:
        break
    for call in message.tool_calls:
        text = on_tool_call(call.function.name, **json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
print(message.content)
