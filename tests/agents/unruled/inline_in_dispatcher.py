"""The tools are branches of a dispatcher: the only function there is takes the name and the arguments."""

import json

from openai import OpenAI

from tests.agents.footprint import left

CALENDAR = {"2026-05-04": ["dentist"], "2026-05-05": []}


def execute_tool(tool_name, tool_input):
    if tool_name == "list_events":
        left("list_events")
        return {"day": tool_input["day"], "events": list(CALENDAR[tool_input["day"]])}
    if tool_name == "add_event":
        left("add_event")
        CALENDAR[tool_input["day"]].append(tool_input["title"])
        return f"added {tool_input['title']!r} on {tool_input['day']}"
    raise KeyError(tool_name)


TOOLS = [
    {"type": "function", "function": {"name": "list_events", "parameters": {
        "type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}}},
    {"type": "function", "function": {"name": "add_event", "parameters": {
        "type": "object", "properties": {"day": {"type": "string"}, "title": {"type": "string"}},
        "required": ["day", "title"]}}},
]


def main():
    client = OpenAI()
    messages = [{"role": "user", "content": "Move nothing; add a run on the fifth of May if I have time."}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=TOOLS).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            print(message.content)
            return
        for call in message.tool_calls:
            result = execute_tool(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


if __name__ == "__main__":
    main()
