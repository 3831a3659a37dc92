"""A shop's agent: chat completions in a loop, its tools in a dict that is built as the module loads."""

import json
import random
from dataclasses import asdict, dataclass, field
from decimal import Decimal

from openai import OpenAI


@dataclass
class Quote:
    item: str
    price: Decimal
    tags: list[str] = field(default_factory=list)


def quote(item):
    """Price an item."""
    return Quote(item, Decimal(random.randrange(100, 9900)) / 100, [random.choice("abc")])


def stock(item):
    """Count what is left of an item."""
    return {"item": item, "left": random.randrange(1000)}


TOOLS = {f.__name__: f for f in (quote, stock)}
TEXT = {"type": "string"}
SCHEMAS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f.__doc__,
            "parameters": {"type": "object", "properties": {"item": TEXT}, "required": ["item"]},
        },
    }
    for name, f in TOOLS.items()
]


def as_text(value):
    return json.dumps(asdict(value) if isinstance(value, Quote) else value, default=str)


def main():
    client = OpenAI()
    messages = [{"role": "user", "content": "What does the blue mug cost, and are there any?"}]
    seen = []
    for turn in range(4):
        choice = "required" if turn == 0 else "auto"
        response = client.chat.completions.create(
            model="gpt-4.1-mini", messages=messages, tools=SCHEMAS, tool_choice=choice, temperature=0.2
        )
        seen.append(response)
        reply = response.choices[0].message
        print(response.id, response._request_id, response.usage.total_tokens)
        print("agent:", reply.content)
        if not reply.tool_calls:
            break
        messages.append(reply)
        for call in reply.tool_calls:
            result = TOOLS[call.function.name](**json.loads(call.function.arguments))
            seen.append(result)
            print(call.id, call.function.name, repr(result))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": as_text(result)})
    return seen


if __name__ == "__main__":
    main()
