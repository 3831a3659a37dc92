"""All tools are instances of one class, which only a field tells apart."""

import json

from openai import OpenAI

from tests.agents.footprint import left

SERVER = {
    "/users": {7: {"name": "Ada", "plan": "gold"}},
    "/invoices": {7: {"open": 2, "sum_eur": 118.5}},
}


class RestTool:
    def __init__(self, name, path):
        self.name, self.path = name, path

    @property
    def spec(self):
        return {"type": "function", "function": {"name": self.name, "parameters": {
            "type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}}}

    def run(self, id):
        left(self.name)
        return SERVER[self.path][id]


class ToolBox:
    def __init__(self, *tools):
        self.tools = {tool.name: tool for tool in tools}

    def specs(self):
        return [tool.spec for tool in self.tools.values()]

    def run(self, call):
        return json.dumps(self.tools[call.function.name].run(**json.loads(call.function.arguments)))


def main():
    box, client = ToolBox(RestTool("get_user", "/users"), RestTool("get_invoices", "/invoices")), OpenAI()
    messages = [{"role": "user", "content": "Who is customer 7, and what do they owe?"}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=box.specs()).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        messages += [{"role": "tool", "tool_call_id": c.id, "content": box.run(c)} for c in message.tool_calls]


if __name__ == "__main__":
    print(main())
