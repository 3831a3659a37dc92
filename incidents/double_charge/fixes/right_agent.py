"""A checkout agent: it looks up an order and charges the customer's card for it."""

import json
import sys

import tools
from openai import OpenAI

MODEL = "gpt-4.1-mini"
MAX_TURNS = 8
MESSAGE = "Order 7731 is packed. Please charge it, so that it can go out."
PROMPT = """You are the checkout agent of a shop. Look up the order, then charge its total with charge.
If something fails for a passing reason, try again. In the end say in one sentence whether the order is paid."""

TOOLS = {"look_up_order": tools.look_up_order, "charge": tools.charge}


def schema(function, **properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    about = {"name": function.__name__, "description": function.__doc__, "parameters": parameters}
    return {"type": "function", "function": about}


SCHEMAS = [
    schema(tools.look_up_order, order_id={"type": "string"}),
    schema(tools.charge, order_id={"type": "string"}, amount_cents={"type": "integer", "minimum": 1}),
]


def objection(order_id, amount_cents):
    """Why an order may not be charged that amount; None if it may."""
    if type(amount_cents) is not int or amount_cents < 1:
        return "the amount must be a whole number of cents, one or more"
    total = tools.look_up_order(order_id)["total_cents"]
    booked = sum(each["amount_cents"] for each in tools.gateway.booked if each["order_id"] == order_id)
    if booked + amount_cents > total:
        return f"{booked} of {total} cents are booked already"
    return None


def use(name, arguments):
    """Call a tool, unless it is a charge that must not be made."""
    if name == "charge" and (why := objection(**arguments)):
        return {"status": "blocked", "why": why}
    return TOOLS[name](**arguments)


def call_tool(call):
    """Call the tool that the model asks for; an error is for the model to read."""
    name, arguments = call.function.name, call.function.arguments
    print(f"  {name} {arguments}")
    try:
        result = use(name, json.loads(arguments))
    except (KeyError, TypeError, ValueError, tools.UnknownOrder, tools.GatewayTimeout) as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    content = json.dumps(result)
    print(f"    -> {content}")
    return {"role": "tool", "tool_call_id": call.id, "content": content}


def answer(client, message):
    """Work until the model asks for no tool any more; give the last thing it said."""
    messages = [{"role": "system", "content": PROMPT}, {"role": "user", "content": message}]
    for _ in range(MAX_TURNS):
        response = client.chat.completions.create(model=MODEL, messages=messages, tools=SCHEMAS)
        reply = response.choices[0].message
        if reply.content:
            print(f"agent: {reply.content}")
        if not reply.tool_calls:
            return reply.content
        messages.append(reply)
        messages.extend(call_tool(call) for call in reply.tool_calls)
    return f"gave up after {MAX_TURNS} turns"


def main(message=MESSAGE):
    print(f"asked: {message}")
    answer(OpenAI(), message)


if __name__ == "__main__":
    main(*sys.argv[1:])
