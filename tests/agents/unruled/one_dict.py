"""Every handler takes one dict, whatever its tool declares."""

import json

from openai import OpenAI
from tests.agents.footprint import left


def get_quote(args):
    left("get_quote")
    return {"symbol": args["symbol"].upper(), "bid": 99.5, "ask": 99.75}


def place_order(args):
    left("place_order")
    qty = args.get("quantity", 1)
    return {"order": f"{args['side']}-{qty}-{args['symbol']}", "filled": qty}


handlers = dict(get_quote=get_quote, place_order=place_order)

string, integer = {"type": "string"}, {"type": "integer"}
functions = [
    dict(
        name="get_quote", parameters=dict(type="object", properties=dict(symbol=string), required=["symbol"])
    ),
    dict(
        name="place_order",
        parameters=dict(
            type="object",
            properties=dict(symbol=string, side=string, quantity=integer),
            required=["symbol", "side"],
        ),
    ),
]


def trade(goal):
    client = OpenAI()
    messages = [dict(role="user", content=goal)]
    while True:
        completion = client.chat.completions.create(
            model="o4-mini", messages=messages, tools=[dict(type="function", function=f) for f in functions]
        )
        message = completion.choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message)
        for call in message.tool_calls:
            args = json.loads(call.function.arguments)
            messages.append(
                dict(
                    role="tool", tool_call_id=call.id, content=json.dumps(handlers[call.function.name](args))
                )
            )


if __name__ == "__main__":
    print(trade("Buy 25 of initech if the spread is below 30 cents."))
