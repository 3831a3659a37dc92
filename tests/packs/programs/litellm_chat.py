"""A shop's agent on LiteLLM: OpenAI and Anthropic by turns, tools in a table."""

import json
import random

import litellm


def quote(item):
    """Price an item."""
    return {"item": item, "price": random.randrange(100, 9900)}


def stock(item):
    """Count what is left of an item."""
    return {"item": item, "left": random.randrange(1000)}


TOOLS = {tool.__name__: tool for tool in (quote, stock)}
SCHEMAS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": tool.__doc__,
            "parameters": {
                "type": "object",
                "properties": {"item": {"type": "string"}},
                "required": ["item"],
            },
        },
    }
    for name, tool in TOOLS.items()
]


def converse(model):
    messages = [{"role": "user", "content": "What does the blue mug cost?"}]
    seen = []
    while True:
        choice = "required" if len(messages) == 1 else "none"
        response = litellm.completion(
            model=model, messages=messages, tools=SCHEMAS, tool_choice=choice, temperature=0.2, max_tokens=200
        )
        seen.append(response)
        reply = response.choices[0].message
        print(model, type(response).__name__, response.id, response.usage.total_tokens)
        print("agent:", reply.content, response.choices[0].finish_reason)
        messages.append(reply.model_dump(exclude_none=True))
        if not reply.tool_calls:
            return seen
        for call in reply.tool_calls:
            arguments = json.loads(call.function.arguments)
            result = TOOLS[call.function.name](**arguments)
            print("tool:", call.function.name, arguments, result)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


def main():
    return converse("openai/gpt-4.1-mini") + converse("anthropic/claude-sonnet-4-5")


if __name__ == "__main__":
    main()
