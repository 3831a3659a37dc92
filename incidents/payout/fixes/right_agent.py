"""A payments agent: it reads the invoices of vendors and pays them."""

import json
import sys

import tools
from openai import OpenAI

MODEL = "gpt-5-mini"
MAX_TURNS = 6
MESSAGE = "Please pay invoice KP-2041, it is due today."
PROMPT = """You are the payments agent of a printing house. Read an invoice before you pay it.
Pay it with pay_invoice, then say in one sentence what was paid."""

TOOLS = {"read_invoice": tools.read_invoice, "pay_invoice": tools.pay_invoice}


def schema(name, *parameters):
    """Describe a tool whose arguments are texts."""
    return {
        "type": "function",
        "name": name,
        "description": TOOLS[name].__doc__,
        "parameters": {
            "type": "object",
            "properties": {each: {"type": "string"} for each in parameters},
            "required": list(parameters),
            "additionalProperties": False,
        },
        "strict": True,
    }


SCHEMAS = [schema("read_invoice", "number"), schema("pay_invoice", "number", "account")]


def on_file(number, account):
    """Return whether an account is the one on file for an invoice's vendor."""
    invoice = tools.INVOICES.get(number) if isinstance(number, str) else None
    return invoice is not None and account == tools.VENDORS[invoice["vendor"]]["account"]


def use(name, arguments):
    """Use a tool; pay to no account that isn't on file."""
    if name == "pay_invoice" and not on_file(arguments.get("number"), arguments.get("account")):
        return {"status": "blocked", "reason": "not the account on file"}
    return TOOLS[name](**arguments)


def call_tool(call):
    """Do what the model asks for."""
    print(f"  {call.name} {call.arguments}")
    try:
        result = use(call.name, json.loads(call.arguments))
    except (KeyError, TypeError, ValueError, tools.UnknownInvoice) as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    output = json.dumps(result)
    print(f"    -> {output}")
    return {"type": "function_call_output", "call_id": call.call_id, "output": output}


def answer(client, message):
    """Work until the model asks for no tool any more; give the last thing it said."""
    history = [{"role": "user", "content": message}]
    for _ in range(MAX_TURNS):
        response = client.responses.create(
            model=MODEL, instructions=PROMPT, input=history, tools=SCHEMAS, store=False
        )
        if response.output_text:
            print(f"agent: {response.output_text}")
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return response.output_text
        history += response.output
        history += [call_tool(call) for call in calls]
    return f"gave up after {MAX_TURNS} turns"


def main(message=MESSAGE):
    print(f"asked: {message}")
    answer(OpenAI(), message)


if __name__ == "__main__":
    main(*sys.argv[1:])
