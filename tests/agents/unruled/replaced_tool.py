"""A tool is replaced while the agent runs, as where a plugin is loaded anew."""

import json

from openai import OpenAI

from tests.agents.footprint import left


def get_quota(project):
    left("get_quota")
    return {"project": project, "quota": 10, "api": "v1"}


def get_quota_v2(project):
    left("get_quota")
    return {"project": project, "quota": 25, "api": "v2", "unit": "seats"}


TOOLS = {"get_quota": get_quota}
SPEC = {"type": "function", "function": {"name": "get_quota", "parameters": {
    "type": "object", "properties": {"project": {"type": "string"}}, "required": ["project"]}}}


def main():
    client = OpenAI()
    messages = [{"role": "user", "content": "How many seats have apollo and gemini?"}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[SPEC]).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            print(message.content)
            return
        for call in message.tool_calls:
            result = TOOLS[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
        TOOLS["get_quota"] = get_quota_v2


main()
