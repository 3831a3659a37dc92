"""Twenty classes have a method of the tool's name; the agent picks one of them by its configuration."""

import json

from openai import OpenAI

from tests.agents.footprint import left


class Adapter:
    region = ""
    factor = 1

    def convert(self, celsius):
        left("convert")
        return {"region": self.region, "fahrenheit": celsius * 9 / 5 + 32, "factor": self.factor}


def adapter(number):
    class RegionAdapter(Adapter):
        region = f"region-{number}"
        factor = number

        def convert(self, celsius):
            return super().convert(celsius)

    RegionAdapter.__name__ = RegionAdapter.__qualname__ = f"Region{number}Adapter"
    return RegionAdapter


ADAPTERS = {f"region-{n}": adapter(n)() for n in range(1, 21)}
CONFIG = {"region": "region-17"}
SPEC = {"type": "function", "function": {"name": "convert", "parameters": {
    "type": "object", "properties": {"celsius": {"type": "number"}}, "required": ["celsius"]}}}


def main():
    client = OpenAI()
    messages = [{"role": "user", "content": "What is 21.5 degrees in Fahrenheit?"}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[SPEC]).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            method = getattr(ADAPTERS[CONFIG["region"]], call.function.name)
            result = method(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


print(main())
