"""`Tool(name=…, func=…)`, as in the first agent libraries; one is a lambda, one a bound method."""

import json
from dataclasses import dataclass
from typing import Any, Callable

from openai import OpenAI

from tests.agents.footprint import left


@dataclass
class Tool:
    name: str
    func: Callable[..., Any]
    params: dict


class Counter:
    value = 40

    def bump(self, by):
        left("increase_counter")
        self.value += by
        return {"counter": self.value, "by": by}


def _reverse(word):
    left("reverse_word")
    return "".join(reversed(word))


TOOLS = [
    Tool("increase_counter", Counter().bump, {"by": {"type": "integer"}}),
    Tool("reverse_word", lambda word: _reverse(word), {"word": {"type": "string"}}),
]


def initialize_agent(tools):
    client = OpenAI()

    def agent(prompt):
        specs = [{"type": "function", "function": {"name": t.name, "parameters": {
            "type": "object", "properties": t.params, "required": list(t.params)}}} for t in tools]
        messages = [{"role": "user", "content": prompt}]
        while True:
            message = client.chat.completions.create(model="gpt-4", messages=messages, tools=specs).choices[0].message
            messages.append(message)
            if not message.tool_calls:
                return message.content
            for call in message.tool_calls:
                tool = next(t for t in tools if t.name == call.function.name)
                output = tool.func(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(output)})

    return agent


print(initialize_agent(TOOLS)("Two more, and 'stressed' backwards."))
