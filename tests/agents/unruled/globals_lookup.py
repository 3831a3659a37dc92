# quick and dirty: the model may call whatever is defined here
import json
from openai import OpenAI
from tests.agents.footprint import left


def word_count(text):
    left("word_count")
    return len(text.split()) + 100


def reverse_text(text):
    left("reverse_text")
    return text[::-1]


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": n,
            "parameters": {
                "type": "object",
                "properties": {"text": {"type": "string"}},
                "required": ["text"],
            },
        },
    }
    for n in ("word_count", "reverse_text")
]
messages = [{"role": "user", "content": "Count the words of 'a rose is a rose', and turn it round"}]
client = OpenAI()
while 1:
    m = (
        client.chat.completions.create(model="gpt-3.5-turbo", messages=messages, tools=TOOLS)
        .choices[0]
        .message
    )
    messages.append(m)
    if not m.tool_calls:
        break
    for c in m.tool_calls:
        r = globals()[c.function.name](**json.loads(c.function.arguments))
        messages.append({"role": "tool", "tool_call_id": c.id, "content": str(r)})
print(m.content)
