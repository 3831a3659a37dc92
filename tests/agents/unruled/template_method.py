"""A base class runs each tool: it checks, calls `_run` of the subclass, and returns what that returned."""

import json
from typing import ClassVar

from openai import OpenAI
from pydantic import BaseModel, ConfigDict

from tests.agents.footprint import left


class StructuredTool(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: ClassVar[str]
    args: ClassVar[dict]

    def _run(self, **kwargs):
        raise NotImplementedError

    def invoke(self, payload: dict):
        unknown = payload.keys() - self.args.keys()
        if unknown:
            raise TypeError(f"{self.name} takes no {', '.join(unknown)}")
        return self._run(**payload)

    @classmethod
    def declaration(cls):
        return {"type": "function", "function": {"name": cls.name, "parameters": {
            "type": "object", "properties": cls.args, "required": list(cls.args)}}}


class SunriseTool(StructuredTool):
    name = "sunrise"
    args = {"city": {"type": "string"}, "date": {"type": "string"}}
    offset: int = 1

    def _run(self, city, date):
        left("sunrise")
        return {"city": city, "sunrise": f"{date}T0{5 + self.offset}:42:00"}


class MoonTool(StructuredTool):
    name = "moon_phase"
    args = {"date": {"type": "string"}}

    def _run(self, date):
        left("moon_phase")
        return {"date": date, "phase": "waxing gibbous", "lit": 0.78}


class Executor:
    def __init__(self, tools):
        self._by_name = {tool.name: tool for tool in tools}

    def execute(self, call):
        tool = self._by_name[call.function.name]
        return json.dumps(tool.invoke(json.loads(call.function.arguments)))

    def run(self, prompt):
        client = OpenAI()
        messages = [{"role": "user", "content": prompt}]
        while True:
            message = client.chat.completions.create(
                model="gpt-4o", messages=messages, tools=[t.declaration() for t in self._by_name.values()]
            ).choices[0].message
            messages.append(message)
            if not message.tool_calls:
                return message.content
            for call in message.tool_calls:
                messages.append({"role": "tool", "tool_call_id": call.id, "content": self.execute(call)})


if __name__ == "__main__":
    print(Executor([SunriseTool(), MoonTool()]).run("Sun and moon in Turku on 2026-09-01?"))
