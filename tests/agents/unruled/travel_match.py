"""A travel desk with `match`, whose cases call functions of the tools' names."""

import json
from typing import Any

import openai
from tests.agents.footprint import left


def search_flights(origin: str, destination: str, *, max_price: int = 500) -> list[dict[str, Any]]:
    left("search_flights")
    fares = [("KL1234", 180), ("LH0456", 320), ("BA0789", 610)]
    return [{"flight": f, "price": p, "route": f"{origin}-{destination}"} for f, p in fares if p <= max_price]


def book_flight(flight: str, passenger: str) -> str:
    left("book_flight")
    return f"{flight} is booked for {passenger}, locator {flight[:2]}7QX9"


def dispatch(name: str, arguments: dict[str, Any]) -> Any:
    match name:
        case "search_flights":
            return search_flights(**arguments)
        case "book_flight":
            return book_flight(arguments["flight"], arguments["passenger"])
        case _:
            raise ValueError(f"unknown tool {name}")


def schema(name: str, required: list[str], **properties: str) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in properties.items()},
        "required": required,
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS = [
    schema(
        "search_flights",
        ["origin", "destination"],
        origin="string",
        destination="string",
        max_price="integer",
    ),
    schema("book_flight", ["flight", "passenger"], flight="string", passenger="string"),
]


def main() -> None:
    client = openai.OpenAI()
    messages: list[Any] = [{"role": "user", "content": "Book Ada the cheapest flight from AMS to OSL."}]
    for _ in range(6):
        completion = client.chat.completions.create(model="gpt-4.1", messages=messages, tools=TOOLS)
        message = completion.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            print(message.content)
            return
        for call in message.tool_calls:
            result = dispatch(call.function.name, json.loads(call.function.arguments))
            print(f"[{call.function.name}] {result}")
            messages.append({"role": "tool", "tool_call_id": call.id, "content": str(result)})


main()
