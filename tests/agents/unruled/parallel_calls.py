"""One tool, asked for four times in a turn, twice with the same arguments."""

import itertools
import json

from openai import OpenAI

from tests.agents.footprint import left

_numbers = itertools.count(7001)


def create_label(address: str) -> dict:
    left("create_label")
    return {"label": next(_numbers), "address": address}


def main() -> None:
    client = OpenAI()
    tool = {
        "type": "function",
        "function": {
            "name": "create_label",
            "parameters": {"type": "object", "properties": {"address": {"type": "string"}}, "required": ["address"]},
        },
    }
    messages: list = [{"role": "user", "content": "Labels: two for Kiel, one for Bonn, one for Ulm."}]
    first = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[tool], parallel_tool_calls=True)
    message = first.choices[0].message
    messages.append(message)
    for call in message.tool_calls or []:
        label = create_label(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(label)})
    final = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[tool])
    print([m["content"] for m in messages if isinstance(m, dict) and m["role"] == "tool"])
    print(final.choices[0].message.content)


if __name__ == "__main__":
    main()
