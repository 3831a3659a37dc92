"""Tools behind functools caches. The second call of the same is answered by the cache."""

import functools
import json

from openai import OpenAI

from tests.agents.footprint import left


@functools.lru_cache(maxsize=32)
def whois(domain: str) -> str:
    left("whois")
    return f"{domain} is registered to the Society of {domain.split('.')[0].title()}"


TOOLS = {"whois": whois}
SPEC = {"type": "function", "function": {"name": "whois", "parameters": {
    "type": "object", "properties": {"domain": {"type": "string"}}, "required": ["domain"]}}}

client = OpenAI()
messages = [{"role": "user", "content": "Who owns otters.example, badgers.example, and once more otters.example?"}]
while True:
    message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[SPEC]).choices[0].message
    messages.append(message)
    if not message.tool_calls:
        break
    for call in message.tool_calls:
        value = TOOLS[call.function.name](**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": value})
print(message.content)
