"""A streaming agent, which puts the fragments of tool calls together itself."""

import json
import sys
from collections import defaultdict

from openai import OpenAI
from tests.agents.footprint import left


def get_lyrics(song: str, verse: int) -> str:
    left("get_lyrics")
    return f"verse {verse} of {song}: la la, li la"


def play(song: str, volume: int = 5) -> str:
    left("play")
    return f"now playing {song} at volume {volume}"


LOCAL = {"get_lyrics": get_lyrics, "play": play}


def function(name, first, **other):
    properties = {first: {"type": "string"}} | {key: {"type": "integer"} for key in other}
    return {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": properties, "required": [first]},
        },
    }


def stream_turn(client, messages):
    text, calls = [], defaultdict(lambda: {"id": "", "name": "", "arguments": ""})
    stream = client.chat.completions.create(
        model="gpt-4o",
        messages=messages,
        tools=[function("get_lyrics", "song", verse=1), function("play", "song", volume=1)],
        stream=True,
    )
    for chunk in stream:
        delta = chunk.choices[0].delta
        if delta.content:
            sys.stdout.write(delta.content)
            text.append(delta.content)
        for part in delta.tool_calls or []:
            entry = calls[part.index]
            entry["id"] += part.id or ""
            entry["name"] += part.function.name or ""
            entry["arguments"] += part.function.arguments or ""
    return "".join(text), [calls[index] for index in sorted(calls)]


def main():
    client = OpenAI()
    messages = [{"role": "user", "content": "Play Clementine quietly, and show me its second verse."}]
    while True:
        text, calls = stream_turn(client, messages)
        if not calls:
            print()
            return
        messages.append(
            {
                "role": "assistant",
                "content": text or None,
                "tool_calls": [
                    {
                        "id": c["id"],
                        "type": "function",
                        "function": {"name": c["name"], "arguments": c["arguments"]},
                    }
                    for c in calls
                ],
            }
        )
        for c in calls:
            result = LOCAL[c["name"]](**json.loads(c["arguments"]))
            messages.append({"role": "tool", "tool_call_id": c["id"], "content": result})


if __name__ == "__main__":
    main()
