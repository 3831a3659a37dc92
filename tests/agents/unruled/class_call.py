"""Callable objects: each tool is an instance with `__call__`."""

import json
from dataclasses import dataclass, field

from openai import OpenAI
from tests.agents.footprint import left


@dataclass
class SensorReader:
    unit: str
    readings: dict = field(default_factory=lambda: {"boiler": 61.5, "attic": 17.25})

    def __call__(self, sensor):
        left("read_sensor")
        return f"{self.readings[sensor]} {self.unit}"


@dataclass
class Valve:
    position: int = 0

    def __call__(self, percent):
        left("set_valve")
        before, self.position = self.position, percent
        return {"valve_before": before, "valve_now": percent}


TOOLS = {"read_sensor": SensorReader("°C"), "set_valve": Valve()}
SCHEMAS = [
    {
        "type": "function",
        "function": {
            "name": "read_sensor",
            "parameters": {
                "type": "object",
                "properties": {"sensor": {"type": "string"}},
                "required": ["sensor"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "set_valve",
            "parameters": {
                "type": "object",
                "properties": {"percent": {"type": "integer"}},
                "required": ["percent"],
            },
        },
    },
]


def step(client, messages):
    message = (
        client.chat.completions.create(model="gpt-4o", messages=messages, tools=SCHEMAS).choices[0].message
    )
    messages.append(message)
    for call in message.tool_calls or ():
        value = TOOLS[call.function.name](**json.loads(call.function.arguments))
        content = value if isinstance(value, str) else json.dumps(value)
        messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
    return not message.tool_calls


def main():
    client = OpenAI()
    messages = [{"role": "user", "content": "It is cold. How warm is the boiler? Open the valve somewhat."}]
    while not step(client, messages):
        pass
    print(messages[-1].content)


if __name__ == "__main__":
    main()
