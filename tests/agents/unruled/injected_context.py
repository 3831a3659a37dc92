"""The agent adds what the model must not choose: the session is the first argument of each tool."""

import json
from dataclasses import dataclass

from openai import OpenAI

from tests.agents.footprint import left


@dataclass
class Session:
    user_id: int
    scopes: frozenset


def list_devices(session, room=None):
    left("list_devices")
    return [{"id": "tv-1", "owner": session.user_id, "room": room or "den"}]


def power(session, device, state):
    left("power")
    if "devices:write" not in session.scopes:
        raise PermissionError("may not switch devices")
    return {"device": device, "state": state, "by": session.user_id}


TOOLS = [
    ("list_devices", list_devices, {"room": {"type": "string"}}, []),
    ("power", power, {"device": {"type": "string"}, "state": {"type": "string"}}, ["device", "state"]),
]


class Home:
    def __init__(self, session):
        self.session = session
        self.client = OpenAI()

    def call(self, name, arguments):
        for known, function, _, _ in TOOLS:
            if known == name:
                return function(self.session, **arguments)
        raise KeyError(name)

    def chat(self, text):
        specs = [{"type": "function", "function": {"name": n, "parameters": {
            "type": "object", "properties": p, "required": r}}} for n, _, p, r in TOOLS]
        messages = [{"role": "user", "content": text}]
        while True:
            m = self.client.chat.completions.create(model="gpt-4o", messages=messages, tools=specs).choices[0].message
            messages.append(m)
            if not m.tool_calls:
                return m.content
            for c in m.tool_calls:
                result = self.call(c.function.name, json.loads(c.function.arguments))
                messages.append({"role": "tool", "tool_call_id": c.id, "content": json.dumps(result)})


print(Home(Session(42, frozenset({"devices:write"}))).chat("Switch off what is on in the den."))
