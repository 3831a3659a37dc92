"""A support agent: it looks up orders, refunds them and answers the customer."""

import json
import sys
from dataclasses import asdict, dataclass

from openai import OpenAI

MODEL = "gpt-4.1-mini"
MAX_TURNS = 8
MESSAGE = "Hi, the mug in order 48213 arrived in pieces. Could you refund it, please?"
PROMPT = """You are the support agent of a small shop. Look up the order before you decide anything.
Refund damaged goods with issue_refund, then tell the customer with send_reply."""

ORDERS = {
    "48213": {"item": "stoneware mug, set of two", "paid_cents": 3990, "email": "mara@example.com"},
    "50117": {"item": "linen apron", "paid_cents": 2450, "email": "jonas@example.com"},
}
refunds = []
outbox = []


class UnknownOrder(Exception):
    """There is no order with that number."""


@dataclass
class Refund:
    order_id: str
    amount_cents: int
    paid_cents: int
    number: int


def _order(order_id):
    if order_id not in ORDERS:
        raise UnknownOrder(f"no order {order_id}")
    return ORDERS[order_id]


def look_up_order(order_id):
    """Find an order by its number."""
    return {"order_id": order_id, **_order(order_id)}


def issue_refund(order_id, amount_cents):
    """Pay money back to the customer."""
    order = _order(order_id)
    refund = Refund(order_id, amount_cents, order["paid_cents"], number=len(refunds) + 1)
    refunds.append(refund)
    return refund


def send_reply(order_id, text):
    """Send a mail to the customer of an order."""
    mail = (_order(order_id)["email"], text)
    outbox.append(mail)
    return {"sent": True, "to": mail[0]}


TOOLS = {f.__name__: f for f in (look_up_order, issue_refund, send_reply)}


def schema(function, **properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    about = {"name": function.__name__, "description": function.__doc__, "parameters": parameters}
    return {"type": "function", "function": about}


TEXT = {"type": "string"}
SCHEMAS = [
    schema(look_up_order, order_id=TEXT),
    schema(issue_refund, order_id=TEXT, amount_cents={"type": "integer", "minimum": 1}),
    schema(send_reply, order_id=TEXT, text=TEXT),
]


def call_tool(call):
    name, arguments = call.function.name, call.function.arguments
    print(f"  {name} {arguments}")
    try:
        result = TOOLS[name](**json.loads(arguments))
    except (KeyError, TypeError, ValueError, UnknownOrder) as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    if isinstance(result, Refund):
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
            break
        messages.append(reply)
        messages.extend(call_tool(call) for call in reply.tool_calls)
    else:
        print(f"gave up after {MAX_TURNS} turns")


def main():
    message = " ".join(sys.argv[1:]) or MESSAGE
    print(f"customer: {message}")
    answer(OpenAI(), message)


if __name__ == "__main__":
    main()
