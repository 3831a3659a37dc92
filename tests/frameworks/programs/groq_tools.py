"""Groq's tool use: a loop with two tools, one of them twice at once; a streamed answer; and the asynchronous client."""

import asyncio
import json

from footprint import footprint
from groq import AsyncGroq, Groq

MODEL = "llama-3.3-70b-versatile"


def calculate(expression):
    """Evaluate a mathematical expression."""
    footprint("calculate")
    left, operator, right = expression.split()
    result = {"+": int(left) + int(right), "*": int(left) * int(right)}[operator]
    return json.dumps({"result": result})


def get_exchange_rate(base, quote="EUR"):
    """Return what one unit of a currency costs in another one."""
    footprint("get_exchange_rate")
    return json.dumps({"base": base, "quote": quote, "rate": {"USD": 0.86, "GBP": 1.15}[base]})


FUNCTIONS = {"calculate": calculate, "get_exchange_rate": get_exchange_rate}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "calculate",
            "description": "Evaluate a mathematical expression",
            "parameters": {
                "type": "object",
                "properties": {"expression": {"type": "string", "description": "The expression to evaluate"}},
                "required": ["expression"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "get_exchange_rate",
            "description": "Get an exchange rate",
            "parameters": {
                "type": "object",
                "properties": {"base": {"type": "string"}, "quote": {"type": "string"}},
                "required": ["base"],
            },
        },
    },
]


def run_conversation(client, prompt):
    messages = [
        {"role": "system", "content": "You are a calculator. Use the tools, and give the results."},
        {"role": "user", "content": prompt},
    ]
    while True:
        response = client.chat.completions.create(
            model=MODEL, messages=messages, tools=TOOLS, tool_choice="auto", max_completion_tokens=4096
        )
        message = response.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            function = FUNCTIONS[call.function.name]
            result = function(**json.loads(call.function.arguments))
            messages.append(
                {"tool_call_id": call.id, "role": "tool", "name": call.function.name, "content": result}
            )


def stream(client, prompt):
    pieces = client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": prompt}], stream=True
    )
    for chunk in pieces:
        print(chunk.choices[0].delta.content or "", end="")
        if chunk.x_groq and chunk.x_groq.usage:
            print(f" ({chunk.x_groq.usage.total_tokens} tokens)")


async def ask(client, prompt):
    completion = await client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": prompt}]
    )
    return completion.choices[0].message.content


async def ask_all(*prompts):
    async with AsyncGroq() as client:
        return await asyncio.gather(*(ask(client, prompt) for prompt in prompts))


if __name__ == "__main__":
    groq = Groq()
    print(run_conversation(groq, "What is 25 * 4, and what are 100 dollars and 1 pound in euros?"))
    stream(groq, "Explain the importance of fast language models.")
    print(asyncio.run(ask_all("Tell a joke.", "Tell a story.")))
