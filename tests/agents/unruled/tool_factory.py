"""A factory makes the tools: two functions of one code, which only their keys tell apart."""

import json

from openai import OpenAI

from tests.agents.footprint import left

TABLES = {"planets": {"mars": 227.9, "venus": 108.2}, "moons": {"mars": 2, "venus": 0}}


def make_lookup(tool, table):
    def lookup(planet):
        left(tool)
        return {"planet": planet, table: TABLES[table][planet]}

    return lookup


TOOLS = {"sun_distance": make_lookup("sun_distance", "planets"), "count_moons": make_lookup("count_moons", "moons")}
SPECS = [{"type": "function", "function": {"name": name, "parameters": {
    "type": "object", "properties": {"planet": {"type": "string"}}, "required": ["planet"]}}} for name in TOOLS]

if __name__ == "__main__":
    client = OpenAI()
    messages = [{"role": "user", "content": "How far is Mars, and has it moons?"}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=SPECS).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            print(message.content)
            break
        for call in message.tool_calls:
            value = TOOLS[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(value)})
