"""A support agent: it looks up orders, refunds them and answers the customer."""

import json
import sys
from dataclasses import asdict

import tools
from openai import OpenAI

MODEL = "gpt-4.1-mini"
MAX_TURNS = 8
MESSAGE = "Hi, the mug in order 48213 arrived in pieces. Could you refund it, please?"
PROMPT = """You are the support agent of a small shop. Look up the order before you decide anything.
Refund damaged goods with issue_refund, then tell the customer with send_reply."""

TOOLS = {f.__name__: f for f in (tools.look_up_order, tools.issue_refund, tools.send_reply)}


def schema(name, **properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    about = {"name": name, "description": TOOLS[name].__doc__, "parameters": parameters}
    return {"type": "function", "function": about}


TEXT = {"type": "string"}
SCHEMAS = [
    schema("look_up_order", order_id=TEXT),
    schema("issue_refund", order_id=TEXT, amount_cents={"type": "integer", "minimum": 1}),
    schema("send_reply", order_id=TEXT, text=TEXT),
]


def refusal(name, arguments):
    """Return why the agent doesn't call a tool; None if it does."""
    if name != "issue_refund":
        return None
    order_id, amount = arguments["order_id"], arguments["amount_cents"]
    if order_id not in tools.ORDERS:
        return f"no order {order_id}"
    before = sum(refund.amount_cents for refund in tools.refunds if refund.order_id == order_id)
    left = tools.ORDERS[order_id]["paid_cents"] - before
    if type(amount) is not int or not 1 <= amount <= left:
        return f"not between 1 and {left} cents"
    return None


def call_tool(call):
    name, arguments = call.function.name, call.function.arguments
    print(f"  {name} {arguments}")
    try:
        given = json.loads(arguments)
        reason = refusal(name, given)
        result = {"blocked": True, "reason": reason} if reason else TOOLS[name](**given)
    except (KeyError, TypeError, ValueError, tools.UnknownOrder) as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    if isinstance(result, tools.Refund):
        print(f"    refunded {result.amount_cents / 100:,.2f} on an order of {result.paid_cents / 100:,.2f}")
        result = asdict(result)
    content = json.dumps(result)
    print(f"    -> {content}")
    return {"role": "tool", "tool_call_id": call.id, "content": content}


def answer(client, message):
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
    print(f"customer: {message}")
    answer(OpenAI(), message)


if __name__ == "__main__":
    main(*sys.argv[1:])
