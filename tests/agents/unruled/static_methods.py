"""A class as a namespace: static and class methods, listed by a loop over its attributes."""

import inspect
import json

import openai

from tests.agents.footprint import left


class Tools:
    prefix = "INC"

    @staticmethod
    def page_oncall(team: str, message: str) -> dict:
        left("page_oncall")
        return {"paged": team, "chars": len(message), "phone": "+47 555 0100"}

    @classmethod
    def open_incident(cls, title: str) -> str:
        left("open_incident")
        return f"{cls.prefix}-{len(title) * 31}"


def specs():
    for name, function in inspect.getmembers(Tools, callable):
        if name.startswith("_"):
            continue
        names = list(inspect.signature(function).parameters)
        yield {"type": "function", "function": {"name": name, "parameters": {
            "type": "object", "properties": dict.fromkeys(names, {"type": "string"}), "required": names}}}


def handle(prompt):
    messages = [{"role": "user", "content": prompt}]
    with openai.OpenAI() as client:
        while True:
            message = client.chat.completions.create(
                model="gpt-4o", messages=messages, tools=list(specs())
            ).choices[0].message
            messages.append(message)
            if not message.tool_calls:
                return message.content
            for call in message.tool_calls:
                result = getattr(Tools, call.function.name)(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


print(handle("The database is down! Wake somebody up."))
