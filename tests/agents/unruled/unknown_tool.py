"""The model asks for a tool that nobody declared, and for one whose name is no identifier."""

import json

from openai import OpenAI

from tests.agents.footprint import left


def roll_dice(sides):
    left("roll_dice")
    return {"rolled": sides - 2, "sides": sides}


KNOWN = {"roll_dice": roll_dice}
SPEC = [{"type": "function", "function": {"name": "roll_dice", "parameters": {
    "type": "object", "properties": {"sides": {"type": "integer"}}, "required": ["sides"]}}}]


def answer(call):
    function = KNOWN.get(call.function.name)
    if function is None:
        return f"There is no tool {call.function.name!r}. You have: {', '.join(KNOWN)}."
    return json.dumps(function(**json.loads(call.function.arguments)))


client = OpenAI()
messages = [{"role": "user", "content": "Roll a die of twenty sides."}]
while True:
    message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=SPEC).choices[0].message
    messages.append(message)
    if not message.tool_calls:
        break
    messages.extend({"role": "tool", "tool_call_id": c.id, "content": answer(c)} for c in message.tool_calls)
print(message.content)
