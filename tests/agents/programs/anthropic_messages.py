"""An agent on Anthropic's messages, with tools and their failures."""

import random
from datetime import date, timedelta

from anthropic import Anthropic


class Sold(Exception):
    """There are no seats left."""


def seats(day):
    if random.random() < 0.3:
        raise Sold(day, random.randrange(100))
    return {"day": day, "left": random.randrange(1, 100)}


def next_day(day):
    return date(2026, 1, 1) + timedelta(days=random.randrange(365))


TOOLS = {"seats": seats, "next_day": next_day}
SCHEMAS = [
    {
        "name": name,
        "input_schema": {
            "type": "object",
            "properties": {"day": {"type": "string", "format": "date"}},
            "required": ["day"],
        },
    }
    for name in TOOLS
]


def call_tool(block):
    result = {"type": "tool_result", "tool_use_id": block.id}
    try:
        found = TOOLS[block.name](**block.input)
    except Sold as error:
        print("sold:", error.args)
        return {**result, "content": repr(error), "is_error": True}
    print(block.name, block.input, repr(found))
    return {**result, "content": str(found)}


def main():
    client = Anthropic()
    messages = [{"role": "user", "content": "Two seats, please."}]
    seen = []
    for turn in range(3):
        response = client.messages.create(
            model="claude-sonnet-4-5",
            max_tokens=500,
            system="You sell seats.",
            messages=messages,
            tools=SCHEMAS,
            tool_choice={"type": "any" if turn < 2 else "none"},
        )
        seen.append(response)
        print(response.id, response._request_id, response.stop_reason, response.usage.output_tokens)
        for block in response.content:
            if block.type == "text":
                print("agent:", block.text)
        uses = [block for block in response.content if block.type == "tool_use"]
        if not uses:
            break
        messages.append({"role": "assistant", "content": response.content})
        messages.append({"role": "user", "content": [call_tool(block) for block in uses]})
    return seen


if __name__ == "__main__":
    main()
