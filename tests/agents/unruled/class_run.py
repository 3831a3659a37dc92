"""A class for each tool, with a name and a `run`."""

import json
from abc import ABC, abstractmethod

from openai import OpenAI
from tests.agents.footprint import left


class BaseTool(ABC):
    name: str
    parameters: dict

    @abstractmethod
    def run(self, **kwargs): ...

    def schema(self):
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "parameters": {
                    "type": "object",
                    "properties": {key: {"type": value} for key, value in self.parameters.items()},
                    "required": list(self.parameters),
                },
            },
        }


class Calculator(BaseTool):
    name = "calculate"
    parameters = {"expression": "string"}

    def run(self, expression):
        left("calculate")
        left_, operator, right = expression.split()
        return {"*": int(left_) * int(right), "+": int(left_) + int(right)}[operator]


class Dictionary(BaseTool):
    name = "define_word"
    parameters = {"word": "string"}

    def run(self, word):
        left("define_word")
        return f"{word}: a number that is divisible by no other"


class Agent:
    def __init__(self, tools):
        self.tools = tools

    def find(self, name):
        for tool in self.tools:
            if tool.name == name:
                return tool
        raise LookupError(name)

    def __call__(self, question):
        client = OpenAI()
        messages = [{"role": "user", "content": question}]
        schemas = [tool.schema() for tool in self.tools]
        while True:
            message = (
                client.chat.completions.create(model="gpt-4o", messages=messages, tools=schemas)
                .choices[0]
                .message
            )
            if not message.tool_calls:
                return message.content
            messages.append(message)
            for call in message.tool_calls:
                observation = self.find(call.function.name).run(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": str(observation)})


if __name__ == "__main__":
    agent = Agent([Calculator(), Dictionary()])
    print(agent("What is 1234 * 5678, and what is a prime?"))
