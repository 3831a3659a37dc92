"""Claude, streamed: text as it comes, tool calls at the end of the message."""

import sys

from anthropic import Anthropic

from tests.agents.footprint import left


class Greenhouse:
    temperature = 19.5

    def get_temperature(self, bed: str) -> dict:
        left("get_temperature")
        return {"bed": bed, "celsius": self.temperature}

    def set_heating(self, bed: str, celsius: float) -> dict:
        left("set_heating")
        self.temperature = celsius
        return {"bed": bed, "target": celsius, "watts": 450}


class Gardener:
    system = "You look after a greenhouse."
    tools = [
        {
            "name": "get_temperature",
            "description": "Read the thermometer of a bed.",
            "input_schema": {"type": "object", "properties": {"bed": {"type": "string"}}, "required": ["bed"]},
        },
        {
            "name": "set_heating",
            "description": "Set the heating of a bed.",
            "input_schema": {
                "type": "object",
                "properties": {"bed": {"type": "string"}, "celsius": {"type": "number"}},
                "required": ["bed", "celsius"],
            },
        },
    ]

    def __init__(self, greenhouse):
        self.greenhouse, self.client, self.messages = greenhouse, Anthropic(), []

    def tell(self, text):
        self.messages.append({"role": "user", "content": text})
        while self.turn():
            pass
        print()

    def turn(self):
        with self.client.messages.stream(
            model="claude-sonnet-4-5",
            max_tokens=512,
            system=self.system,
            tools=self.tools,
            messages=self.messages,
        ) as stream:
            for text in stream.text_stream:
                sys.stdout.write(text)
                sys.stdout.flush()
            message = stream.get_final_message()
        self.messages.append({"role": "assistant", "content": message.content})
        uses = [block for block in message.content if block.type == "tool_use"]
        if uses:
            self.messages.append({"role": "user", "content": [self.use(block) for block in uses]})
        return uses

    def use(self, block):
        method = getattr(self.greenhouse, block.name)
        return {"type": "tool_result", "tool_use_id": block.id, "content": repr(method(**block.input))}


if __name__ == "__main__":
    Gardener(Greenhouse()).tell("Tomatoes like 22 degrees. See to it.")
