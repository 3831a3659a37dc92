"""The agent runs only what its policy allows; what it refuses is never called."""

import json

from openai import OpenAI

from tests.agents.footprint import left

POLICY = {"read_table": "allow", "drop_table": "deny"}


class DeniedByPolicy(Exception):
    pass


def read_table(name):
    left("read_table")
    return {"table": name, "rows": [[1, "north"], [2, "south"]]}


def drop_table(name):
    left("drop_table")
    return f"dropped {name}"


TOOLS = {"read_table": read_table, "drop_table": drop_table}


def gate(call):
    if POLICY[call.function.name] != "allow":
        raise DeniedByPolicy(f"{call.function.name} is not allowed to this user")
    return TOOLS[call.function.name](**json.loads(call.function.arguments))


SPEC = [{"type": "function", "function": {"name": name, "parameters": {
    "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}} for name in TOOLS]


def main():
    client, messages = OpenAI(), [{"role": "user", "content": "Show me the regions, and drop them."}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=SPEC).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            try:
                content = json.dumps(gate(call))
            except DeniedByPolicy as denied:
                content = f"refused: {denied}"
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
    print(message.content)


main()
