"""A stub of a remote service: `__getattr__` makes a function for any name."""

import json

from openai import OpenAI

from tests.agents.footprint import left


class Remote:
    _answers = {"ping_node": {"alive": True, "hops": 14}, "drain_node": "draining, 6 pods left"}

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)

        def method(**arguments):
            return self._request(name, arguments)

        return method

    def _request(self, name, arguments):
        left(name)
        return {"node": arguments["node"], "answer": self._answers[name]}


SPECS = [{"type": "function", "function": {"name": name, "parameters": {
    "type": "object", "properties": {"node": {"type": "string"}}, "required": ["node"]}}}
    for name in ("ping_node", "drain_node")]


def main():
    remote, client = Remote(), OpenAI()
    messages = [{"role": "user", "content": "Is n4 alive? Then drain it."}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=SPECS).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            result = getattr(remote, call.function.name)(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


if __name__ == "__main__":
    print(main())
