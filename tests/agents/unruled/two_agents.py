"""Two agents in one process. Each has a tool `search`, and they are not the same."""

import json

from openai import OpenAI

from tests.agents.footprint import left


class Agent:
    instructions = ""

    def __init__(self):
        self.client = OpenAI()

    def schema(self):
        return [{"type": "function", "function": {"name": "search", "parameters": {
            "type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}}}]

    def run(self, text):
        messages = [{"role": "system", "content": self.instructions}, {"role": "user", "content": text}]
        while True:
            message = self.client.chat.completions.create(
                model="gpt-4o", messages=messages, tools=self.schema()).choices[0].message
            messages.append(message)
            if not message.tool_calls:
                return message.content
            for call in message.tool_calls:
                result = getattr(self, call.function.name)(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


class Lawyer(Agent):
    instructions = "You know the law."

    def search(self, query):
        left("search")
        return [f"§ 433: {query} obliges the seller to hand over the thing"]


class Physician(Agent):
    instructions = "You know medicine."

    def search(self, query):
        left("search")
        return {"term": query, "icd": "S83.6", "rest_days": 21}


if __name__ == "__main__":
    print(Lawyer().run("Lawyer, what does a purchase oblige to?"))
    print(Physician().run("Doctor, how long does a sprained knee rest?"))
