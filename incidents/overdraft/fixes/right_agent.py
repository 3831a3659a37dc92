"""A treasury agent: it looks at the balances and makes the transfers that somebody asks for."""

import asyncio
import json
import sys

import tools
from anthropic import AsyncAnthropic

MODEL = "claude-sonnet-5-5"
MAX_TURNS = 6
MESSAGE = "Please pay Kessler's invoice over 31,500.00, and sweep the operating account into savings."
PROMPT = """You are the treasury agent of a company. Look at the balance before you move anything.
Make the transfers with transfer, then say in one sentence what was booked. Calls that you make together run at once."""

TOOLS = {"balance_of": tools.balance_of, "transfer": tools.transfer}
SCHEMAS = [
    {
        "name": "balance_of",
        "description": "Tell what an account holds, in cents.",
        "input_schema": {
            "type": "object",
            "properties": {"account": {"type": "string", "enum": ["operating", "savings"]}},
            "required": ["account"],
        },
    },
    {
        "name": "transfer",
        "description": "Move money from an account of ours to a payee. The amount is in cents.",
        "input_schema": {
            "type": "object",
            "properties": {
                "source": {"type": "string", "enum": ["operating", "savings"]},
                "payee": {"type": "string"},
                "amount_cents": {"type": "integer", "minimum": 1},
            },
            "required": ["source", "payee", "amount_cents"],
        },
    },
]


def objection(source, payee, amount_cents):
    """Return why a transfer can't be made; None if it can."""
    if source not in tools.ACCOUNTS or payee not in tools.PAYEES:
        return "no such account or payee"
    if type(amount_cents) is not int or amount_cents < 1:
        return "no amount"
    if amount_cents > tools.ACCOUNTS[source]["balance_cents"]:
        return f"{source} doesn't hold that much any more"
    return None


async def use(block):
    """Call the tool that the model asks for; a transfer only if the account covers it."""
    print(f"  {block.name} {json.dumps(block.input)}")
    result = {"type": "tool_result", "tool_use_id": block.id}
    try:
        reason = objection(**block.input) if block.name == "transfer" else None
        if reason:
            return {**result, "content": f"blocked: {reason}", "is_error": True}
        found = await TOOLS[block.name](**block.input)
    except (KeyError, TypeError, tools.TransferRefused) as error:
        return {**result, "content": f"{type(error).__name__}: {error}", "is_error": True}
    print(f"    -> {json.dumps(found)}")
    return {**result, "content": json.dumps(found)}


async def answer(client, message):
    """Work until the model asks for no tool any more; give the last thing it said."""
    messages = [{"role": "user", "content": message}]
    for _ in range(MAX_TURNS):
        reply = await client.messages.create(
            model=MODEL, max_tokens=1000, system=PROMPT, messages=messages, tools=SCHEMAS
        )
        messages.append({"role": "assistant", "content": reply.content})
        said = "".join(block.text for block in reply.content if block.type == "text")
        if said:
            print(f"agent: {said}")
        asked = [block for block in reply.content if block.type == "tool_use"]
        if not asked:
            return said
        results = [await use(block) for block in asked]
        messages.append({"role": "user", "content": results})
    return f"gave up after {MAX_TURNS} turns"


async def work(message):
    async with AsyncAnthropic() as client:
        return await answer(client, message)


def main(message=MESSAGE):
    print(f"asked: {message}")
    asyncio.run(work(message))


if __name__ == "__main__":
    main(*sys.argv[1:])
