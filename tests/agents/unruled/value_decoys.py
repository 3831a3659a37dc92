"""Helpers around the tool get its arguments or return its result: a validator, a logger, a cache, a formatter."""

import json

from openai import OpenAI

from tests.agents.footprint import left

CACHE = {}


def validate(ticker, shares):
    if shares <= 0:
        raise ValueError("shares must be positive")
    return {"ticker": ticker, "shares": shares}


def log(result):
    print("tool result:", result)
    return result


def remember(key, result):
    CACHE[key] = result
    return result


def _value_position(ticker, shares):
    left("position_value")
    return {"ticker": ticker, "value": shares * 187.5, "currency": "USD"}


def handle(name, raw):
    arguments = validate(**json.loads(raw))
    if name != "position_value":
        raise LookupError(name)
    return remember(raw, log(_value_position(**arguments)))


SPEC = {"type": "function", "function": {"name": "position_value", "parameters": {
    "type": "object", "properties": {"ticker": {"type": "string"}, "shares": {"type": "integer"}},
    "required": ["ticker", "shares"]}}}

if __name__ == "__main__":
    client = OpenAI()
    messages = [{"role": "user", "content": "What are my 40 shares of AVO worth?"}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[SPEC]).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            messages.append({"role": "tool", "tool_call_id": call.id,
                             "content": json.dumps(handle(call.function.name, call.function.arguments))})
    print(message.content, len(CACHE))
