"""Chat completions as streams, with tool calls put together from their pieces."""

import json
import random

from openai import OpenAI


def roll(sides):
    """Roll a die."""
    return random.randint(1, max(1, sides))


SCHEMA = {
    "type": "function",
    "function": {
        "name": "roll",
        "description": roll.__doc__,
        "parameters": {
            "type": "object",
            "properties": {"sides": {"type": "integer", "minimum": 2, "maximum": 100}},
            "required": ["sides"],
        },
    },
}


def main():
    client = OpenAI()
    messages = [{"role": "user", "content": "Roll some dice."}]
    seen = []
    for turn in range(2):
        stream = client.chat.completions.create(
            model="gpt-4.1-mini",
            messages=messages,
            tools=[SCHEMA],
            tool_choice="required" if turn == 0 else "none",
            stream=True,
            stream_options={"include_usage": True},
        )
        print(type(stream).__name__, stream.response.status_code, stream.response.headers["content-type"])
        text, calls = "", {}
        for chunk in stream:
            seen.append(chunk)
            if chunk.usage:
                print("tokens:", chunk.usage.total_tokens)
            for choice in chunk.choices:
                print(choice.delta.content, end="|")
                text += choice.delta.content or ""
                for piece in choice.delta.tool_calls or ():
                    call = calls.setdefault(
                        piece.index, {"id": piece.id, "name": piece.function.name, "arguments": ""}
                    )
                    call["arguments"] += piece.function.arguments or ""
        print()
        if not calls:
            break
        asked = [
            {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
            for c in calls.values()
        ]
        messages.append({"role": "assistant", "content": text or None, "tool_calls": asked})
        for call in calls.values():
            result = roll(**json.loads(call["arguments"]))
            seen.append(result)
            print(call["name"], call["arguments"], "->", result)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(result)})
    return seen


if __name__ == "__main__":
    main()
