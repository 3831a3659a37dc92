"""Arguments are validated by pydantic, and tools get the model."""

from openai import OpenAI
from pydantic import BaseModel, Field
from tests.agents.footprint import left


class TableRequest(BaseModel):
    restaurant: str
    people: int = Field(ge=1, le=12)
    time: str = "19:00"


class Table(BaseModel):
    restaurant: str
    number: int
    time: str


class MenuRequest(BaseModel):
    restaurant: str


class Dish(BaseModel):
    name: str
    price: float


def reserve_table(request: TableRequest) -> Table:
    left("reserve_table")
    return Table(restaurant=request.restaurant, number=30 + request.people, time=request.time)


def get_menu(request: MenuRequest) -> list[Dish]:
    left("get_menu")
    return [Dish(name="ravioli", price=14.5), Dish(name=f"{request.restaurant} salad", price=9)]


TOOLS = {"reserve_table": (reserve_table, TableRequest), "get_menu": (get_menu, MenuRequest)}


def definition(name, model):
    return {"type": "function", "function": {"name": name, "parameters": model.model_json_schema()}}


def as_text(result):
    if isinstance(result, BaseModel):
        return result.model_dump_json()
    return "[" + ",".join(map(as_text, result)) + "]"


def main():
    client = OpenAI()
    messages = [{"role": "user", "content": "A table for four at Mario's tonight. What do they have?"}]
    tools = [definition(name, model) for name, (_, model) in TOOLS.items()]
    while True:
        message = (
            client.chat.completions.create(model="gpt-4o", messages=messages, tools=tools).choices[0].message
        )
        messages.append(message)
        if not message.tool_calls:
            return print(message.content)
        for call in message.tool_calls:
            function, model = TOOLS[call.function.name]
            result = function(model.model_validate_json(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": as_text(result)})


main()
