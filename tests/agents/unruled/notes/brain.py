"""The loop. It knows no tool: skills register themselves."""

import json

from openai import OpenAI

from notes import skills


class Brain:
    def __init__(self):
        self._client = OpenAI()
        self._history = []

    def think(self, wish):
        self._history.append({"role": "user", "content": wish})
        while True:
            message = self._complete()
            self._history.append(message.to_dict())
            if not message.tool_calls:
                return message.content
            for call in message.tool_calls:
                self._act(call)

    def _complete(self):
        types = {str: "string", int: "integer"}
        tools = []
        for name, function in skills.ALL.items():
            properties = {k: {"type": types[t]} for k, t in function.__annotations__.items() if k != "return"}
            parameters = {"type": "object", "properties": properties, "required": list(properties)}
            tools.append({"type": "function", "function": {"name": name, "parameters": parameters}})
        return (
            self._client.chat.completions.create(model="gpt-4o", messages=self._history, tools=tools)
            .choices[0]
            .message
        )

    def _act(self, call):
        result = skills.ALL[call.function.name](**json.loads(call.function.arguments))
        self._history.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
