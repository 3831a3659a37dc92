"""A registry whose tools have other names than the functions."""

import json

from openai import OpenAI
from tests.agents.footprint import left


class Registry(dict):
    def register(self, name, description=""):
        def decorate(function):
            self[name] = (function, description)
            return function

        return decorate


registry = Registry()


@registry.register("lookup_order", "Look an order up.")
def order_from_db(order_id: str):
    left("lookup_order")
    return {"order_id": order_id, "items": ["teapot", "cups"], "paid_cents": 4899}


@registry.register("issue_refund", "Refund an order.")
def pay_back(order_id: str, cents: int):
    left("issue_refund")
    return {"refunded": cents, "to": "visa ending 4242", "order": order_id}


FIELDS = {"lookup_order": {"order_id": "string"}, "issue_refund": {"order_id": "string", "cents": "integer"}}


def tool_specs():
    for name, (_, description) in registry.items():
        props = {field: {"type": type_} for field, type_ in FIELDS[name].items()}
        yield {
            "type": "function",
            "function": {
                "name": name,
                "description": description,
                "parameters": {"type": "object", "properties": props, "required": [*props]},
            },
        }


def main():
    api = OpenAI()
    log = [{"role": "user", "content": "The teapot of order 48213 is broken, I want my money back."}]
    for _turn in range(5):
        out = api.chat.completions.create(model="gpt-4.1", messages=log, tools=list(tool_specs())).choices[0]
        log.append(out.message)
        if out.finish_reason != "tool_calls":
            break
        for tc in out.message.tool_calls:
            function, _ = registry[tc.function.name]
            log.append(
                {
                    "role": "tool",
                    "tool_call_id": tc.id,
                    "content": json.dumps(function(**json.loads(tc.function.arguments))),
                }
            )
    print(out.message.content)


main()
