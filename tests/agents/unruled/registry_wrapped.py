"""A decorator that wraps: each tool call is timed and logged."""

import functools
import json
import logging
import time

from openai import OpenAI
from tests.agents.footprint import left

log = logging.getLogger("agent")
TOOLBOX = {}


def agent_tool(func):
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        begin = time.perf_counter()
        try:
            return func(*args, **kwargs)
        finally:
            log.debug("%s took %.3f s", func.__name__, time.perf_counter() - begin)

    TOOLBOX[func.__name__] = wrapper
    return wrapper


@agent_tool
def convert_currency(amount: float, source: str, target: str) -> dict:
    left("convert_currency")
    rate = {"USDEUR": 0.91, "EURUSD": 1.1}[source + target]
    return {"amount": round(amount * rate, 2), "currency": target, "rate": rate}


SCHEMA = {
    "type": "function",
    "function": {
        "name": "convert_currency",
        "parameters": {
            "type": "object",
            "properties": {
                "amount": {"type": "number"},
                "source": {"type": "string"},
                "target": {"type": "string"},
            },
            "required": ["amount", "source", "target"],
        },
    },
}


def agent(prompt):
    client, messages = OpenAI(), [{"role": "user", "content": prompt}]
    while True:
        answer = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[SCHEMA])
        message = answer.choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message)
        for request in message.tool_calls:
            value = TOOLBOX[request.function.name](**json.loads(request.function.arguments))
            messages.append({"role": "tool", "tool_call_id": request.id, "content": json.dumps(value)})


if __name__ == "__main__":
    print(agent("How much is 120 dollars in euros, and back?"))
