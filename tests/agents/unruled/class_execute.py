"""Tool classes whose `execute` takes one dict, looked up by name."""

import json

import openai
from tests.agents.footprint import left


class CreateTicket:
    schema = {
        "name": "create_ticket",
        "parameters": {
            "type": "object",
            "properties": {"title": {"type": "string"}, "severity": {"type": "string"}},
            "required": ["title", "severity"],
        },
    }

    def execute(self, args: dict) -> dict:
        left("create_ticket")
        return {"id": 9001, "title": args["title"], "severity": args["severity"], "state": "open"}


class AssignTicket:
    schema = {
        "name": "assign_ticket",
        "parameters": {
            "type": "object",
            "properties": {"ticket": {"type": "integer"}, "assignee": {"type": "string"}},
            "required": ["ticket", "assignee"],
        },
    }

    def execute(self, args: dict) -> dict:
        left("assign_ticket")
        return {"ticket": args["ticket"], "assignee": args["assignee"], "notified": True}


HANDLERS = {cls.schema["name"]: cls() for cls in (CreateTicket, AssignTicket)}

client = openai.OpenAI()
conversation = [
    {"role": "system", "content": "You keep the tickets."},
    {"role": "user", "content": "The shop is down. Open a ticket and give it to Margaret."},
]
done = False
while not done:
    r = client.chat.completions.create(
        model="gpt-4.1-mini",
        messages=conversation,
        tools=[{"type": "function", "function": handler.schema} for handler in HANDLERS.values()],
    )
    choice = r.choices[0]
    done = choice.finish_reason == "stop"
    conversation.append(choice.message)
    for call in choice.message.tool_calls or []:
        handler = HANDLERS[call.function.name]
        result = handler.execute(json.loads(call.function.arguments))
        conversation.append(
            {"role": "tool", "tool_call_id": call.id, "content": json.dumps(result, indent=2)}
        )
print(conversation[-1].content)
