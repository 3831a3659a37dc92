"""A billing agent: it reads the contract of a customer and sends the invoice that somebody asks for."""

import json
import sys

import tools
from anthropic import Anthropic

MODEL = "claude-sonnet-5-5"
MAX_TURNS = 6
MESSAGE = "Please send Nordlicht GmbH the invoice for the yearly platform fee: 2,000,000, as in the contract."
PROMPT = """You are the billing agent of a software company. Look up the contract before you send anything.
Send the invoice with send_invoice, then say in one sentence what was sent."""

TOOLS = {
    "look_up_contract": tools.look_up_contract,
    "send_invoice": tools.send_invoice,
}
SCHEMAS = [
    {
        "name": "look_up_contract",
        "description": "Find the contract of a customer.",
        "input_schema": {
            "type": "object",
            "properties": {"customer": {"type": "string"}},
            "required": ["customer"],
        },
    },
    {
        "name": "send_invoice",
        "description": "Send an invoice. The amount is in cents, the currency a code of three letters.",
        "input_schema": {
            "type": "object",
            "properties": {
                "customer": {"type": "string"},
                "amount_cents": {"type": "integer", "minimum": 1},
                "currency": {"type": "string", "pattern": "^[A-Z]{3}$"},
            },
            "required": ["customer", "amount_cents", "currency"],
        },
    },
]


def refusal(name, arguments):
    """Return why the agent doesn't call a tool; None if it does."""
    if name != "send_invoice":
        return None
    contract = tools.CONTRACTS.get(arguments["customer"])
    if contract is None:
        return "there is no such contract"
    if arguments["currency"] != contract["currency"]:
        return f"the contract is in {contract['currency']}"
    amount = arguments["amount_cents"]
    if type(amount) is not int or not 1 <= amount <= contract["amount_cents"]:
        return f"the amount is not between 1 and {contract['amount_cents']} cents"
    return None


def use(block):
    """Call the tool that the model asks for."""
    print(f"  {block.name} {json.dumps(block.input)}")
    result = {"type": "tool_result", "tool_use_id": block.id}
    try:
        reason = refusal(block.name, block.input)
        if reason:
            print(f"    refused: {reason}")
            return {**result, "content": f"blocked: {reason}", "is_error": True}
        found = TOOLS[block.name](**block.input)
    except (KeyError, TypeError, ValueError, tools.UnknownCustomer) as error:
        return {**result, "content": f"{type(error).__name__}: {error}", "is_error": True}
    print(f"    -> {json.dumps(found)}")
    return {**result, "content": json.dumps(found)}


def answer(client, message):
    """Work until the model asks for no tool any more; give the last thing it said."""
    messages = [{"role": "user", "content": message}]
    for _ in range(MAX_TURNS):
        reply = client.messages.create(
            model=MODEL, max_tokens=1000, system=PROMPT, messages=messages, tools=SCHEMAS
        )
        messages.append({"role": "assistant", "content": reply.content})
        said = "".join(block.text for block in reply.content if block.type == "text")
        if said:
            print(f"agent: {said}")
        asked = [block for block in reply.content if block.type == "tool_use"]
        if not asked:
            return said
        messages.append({"role": "user", "content": [use(block) for block in asked]})
    return f"gave up after {MAX_TURNS} turns"


def main(message=MESSAGE):
    print(f"asked: {message}")
    answer(Anthropic(), message)


if __name__ == "__main__":
    main(*sys.argv[1:])
